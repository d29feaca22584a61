package api

import "github.com/vcard/terraform-provider-vcard/internal/api/transport"

// How is the evidence that a change was made.
type How int

// The kinds of evidence.
const (
	// Answered: a response shows the change, possibly together with a read.
	Answered How = iota
	// AnsweredLate: like Answered, but an earlier response was lost.
	AnsweredLate
	// Found: a read or a list shows the change, after a response was lost or did not decide the outcome.
	Found
	// AlreadyDone: a read shows the change, apparently from before the call.
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
