package api

import (
	"fmt"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
)

// outcome is what verifying tells about a mutation whose response was lost.
type outcome struct {
	state  outcomeState
	reason error // why it was rejected, or is undecided
}

type outcomeState int

const (
	undecided  outcomeState = iota // it cannot be told
	notApplied                     // it may be sent again
	applied
	rejected // it was not applied, and cannot be
)

// notFoundOutcome is the outcome of a mutation of an object that could not be
// read: one that is not there rejects it.
func notFoundOutcome(err error) outcome {
	if IsNotFound(err) {
		return outcome{rejected, err}
	}
	return outcome{undecided, err}
}

// MutationKind is what a mutation does.
type MutationKind int

// The kinds of mutation.
const (
	MutationIssue MutationKind = iota
	MutationMove               // money, between the wallet and a card
	MutationSetFrozen
	MutationTerminate
	MutationRegister // a webhook
)

// UndecidedError says that a call may or may not have taken effect, and that
// verifying could not decide it.
type UndecidedError struct {
	Kind       MutationKind
	Operation  string
	Key        string // the idempotency key of every attempt; not a secret
	Attempts   int
	SentAt     time.Time          // the last attempt
	Err        error              // the last failure
	Candidates []reconcile.Listed // of an issuance: cards that may be the one that was asked for
}

// Error says what was tried and what went wrong.
func (e *UndecidedError) Error() string {
	return fmt.Sprintf("%s: it is not known whether this took effect (%d attempts, idempotency key %s): %v",
		e.Operation, e.Attempts, e.Key, e.Err)
}

func (e *UndecidedError) Unwrap() error { return e.Err }
