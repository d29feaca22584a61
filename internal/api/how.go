package api

import "github.com/vcard/terraform-provider-vcard/internal/api/transport"

// How says what it is known from that a change was made.
type How int

// The ways in which it is known.
const (
	Answered     How = iota // by a response
	AnsweredLate            // by a response, after one that was lost
	Found                   // by reading, after a response that was lost
	AlreadyDone             // by reading: it was so before the call
)

// LostResponse reports whether a response was lost on the way, or could not be used.
func (h How) LostResponse() bool { return h == AnsweredLate || h == Found }

// AnsweredBy is how a change is known that ended with a response.
func AnsweredBy(m *transport.Mutation) How {
	if m.Lost {
		return AnsweredLate
	}
	return Answered
}
