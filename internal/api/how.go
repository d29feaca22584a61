package api

import "github.com/vcard/terraform-provider-vcard/internal/api/transport"

// How says how the client knows that a change was made.
type How int

// The ways in which the client knows.
const (
	// Answered means from a response, possibly with the help of a read.
	Answered How = iota
	// AnsweredLate is Answered after an earlier response was lost.
	AnsweredLate
	// Found means from a read or a list, after a response was lost or did not decide the outcome.
	Found
	// AlreadyDone means from a read, which suggests that the change was made before the call.
	AlreadyDone
)

// LostResponse reports whether h is AnsweredLate or Found.
func (h How) LostResponse() bool { return h == AnsweredLate || h == Found }

// HowAnswered returns AnsweredLate if a response was lost, and otherwise Answered.
func HowAnswered(m *transport.Mutation) How {
	if m.Lost {
		return AnsweredLate
	}
	return Answered
}
