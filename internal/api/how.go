package api

import "github.com/vcard/terraform-provider-vcard/internal/api/transport"

// How says how the client knows that a change was made.
type How int

// The ways in which the client knows.
const (
	// Answered means from the response. If a 2xx response was unusable or, for a movement of money, the key was
	// refused as already used, it means from a read.
	Answered How = iota
	// AnsweredLate is Answered after an earlier response was lost.
	AnsweredLate
	// Found means from a read after a response was lost or did not decide the outcome. For an issuance, it also means
	// from a list after an unusable response or a refusal.
	Found
	// AlreadyDone means from a read: the change was made before the call.
	AlreadyDone
)

// LostResponse reports whether a response was lost or, as described for Found, did not decide the outcome.
func (h How) LostResponse() bool { return h == AnsweredLate || h == Found }

// HowAnswered returns Answered or AnsweredLate for a change whose last attempt got a response.
func HowAnswered(m *transport.Mutation) How {
	if m.Lost {
		return AnsweredLate
	}
	return Answered
}
