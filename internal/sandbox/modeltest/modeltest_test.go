// Package modeltest_test lets random clients loose on the sandbox and compares
// all that it says with a model of its own, which knows nothing of its code.
package modeltest_test

import (
	"flag"
	"sync/atomic"
	"testing"
)

var (
	moves = flag.Int("model.moves", usualMoves, "moves at the least")
	seed  = flag.Uint64("model.seed", 1, "the seed")
)

const (
	movesPerRound = 20 // of each client
	roundsPerPart = 4  // between which the clock moves and everything is compared
	movesPerTrial = 2 * roundsPerPart * clients * movesPerRound
	enoughMoves   = 6_000 // to see everything
)

// TestSandboxAgainstModel has eight clients make thousands of random moves: all calls
// of the API and of the control surface, with faults, repetitions, quirks and
// moves of the clock. After each, the client compares the response with the
// model, and sees that the ledger adds up to what the model says. Between rounds
// everything is compared: balances, every list, the log of requests; at the end
// of a part the events, as they arrived at an HTTPS endpoint.
//
// A trial is a new file. In its first part each client has an account of its
// own, of which the model knows everything; then, after a reset, all share one,
// with cards of their own and one card for all: there the model says each card,
// and the sums once no client calls.
//
// A seed repeats a run's choices, though not how the clients' calls fell in between
// each other.
func TestSandboxAgainstModel(t *testing.T) {
	t.Parallel()
	moves := *moves
	if testing.Short() {
		moves = movesPerTrial
	}
	var calls atomic.Int64
	seen := &coverage{counts: map[string]int{}}
	for trial := range (moves + movesPerTrial - 1) / movesPerTrial {
		quirky := trial%2 == 1
		s := newFixture(t, *seed, trial, quirky, &calls, seen)
		for _, part := range []string{"own", "shared"} {
			s.run(part, quirky)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d calls: %v", calls.Load(), seen.counts)
	if !t.Failed() && moves >= enoughMoves {
		seen.complete(t)
	}
}

// run plays one part and ends it with an empty file.
func (s *fixture) run(part string, quirky bool) {
	all := s.begin(part)
	accounts := all
	if part == "shared" {
		accounts = all[:1]
	}
	for range roundsPerPart {
		if s.broken.Load() {
			return
		}
		if quirky {
			s.changeQuirks(all)
		}
		s.round(all, movesPerRound)
		s.letTimePass(all[0])
		for _, p := range accounts {
			p.exclusiveCalls()
			p.review()
		}
	}
	for _, p := range accounts {
		s.settleDeliveries(p)
		p.reviewEvents()
	}
	if !s.broken.Load() {
		s.reset()
	}
}
