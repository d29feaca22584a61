package api

import "github.com/vcard/terraform-provider-vcard/internal/api/transport"

// How says how the client knows that a change was made.
type How int

// The ways in which the client knows.
const (
	Answered     How = iota // from the response, or from a read if a 2xx response was unusable
	AnsweredLate            // from a response, after an earlier one was lost
	Found                   // from a read after a lost response; for an issuance, also after an unusable response
	AlreadyDone             // from a read: the change was made before the call
)

// LostResponse reports whether a response was lost or, for an issuance, was unusable.
func (h How) LostResponse() bool { return h == AnsweredLate || h == Found }

// HowAnswered returns Answered or AnsweredLate for a change whose last attempt got a response.
func HowAnswered(m *transport.Mutation) How {
	if m.Lost {
		return AnsweredLate
	}
	return Answered
}
