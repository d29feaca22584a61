// Package modeltest_test lets random clients loose on the sandbox and compares
// all that it says with a model of its own, which knows nothing of its code.
package modeltest_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

const (
	seedVariable  = "VCARD_MODEL_SEED"
	movesVariable = "VCARD_MODEL_MOVES"
)

const (
	movesPerAct   = 20 // of each player
	actsPerPart   = 4  // between which the clock moves and everything is compared
	movesPerRound = 2 * actsPerPart * players * movesPerAct
	enoughMoves   = 10_000 // to see everything
)

// TestSandboxAgainstModel has eight clients make 10,000 random moves: all calls
// of the API and of the control surface, with faults, repetitions, quirks and
// moves of the clock. After each, the client compares the answer with the
// model, and sees that the ledger adds up to what the model says. Between acts
// everything is compared: balances, every list, the log of requests; at the end
// of a part the events, as they arrived at an HTTPS endpoint.
//
// A round is a new file. In its first part each client has an account of its
// own, of which the model knows everything; then, after a reset, all share one,
// with cards of their own and one card for all: there the model says each card,
// and the sums once everybody rests.
//
// VCARD_MODEL_MOVES sets another number of moves, VCARD_MODEL_SEED repeats a
// run's choices (though not how the clients' calls fell in between each other):
//
//	VCARD_MODEL_MOVES=1000000 go test -timeout 3h -run Model ./internal/sandbox/modeltest
func TestSandboxAgainstModel(t *testing.T) {
	t.Parallel()
	moves, seed := usualMoves, rand.Uint64()
	if testing.Short() {
		moves = movesPerRound
	}
	if text := os.Getenv(movesVariable); text != "" {
		moves = int(parse(t, movesVariable, text))
	}
	if text := os.Getenv(seedVariable); text != "" {
		seed = parse(t, seedVariable, text)
	}
	t.Logf("%s=%d", seedVariable, seed)
	var calls atomic.Int64
	seen := &sightings{counts: map[string]int{}}
	for round := range (moves + movesPerRound - 1) / movesPerRound {
		quirky := round%2 == 1
		s := openStage(t, seed, round, quirky, &calls, seen)
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
func (s *stage) run(part string, quirky bool) {
	all := s.begin(part)
	accounts := all
	if part == "shared" {
		accounts = all[:1]
	}
	for range actsPerPart {
		if s.broken.Load() {
			return
		}
		if quirky {
			s.turn(all)
		}
		s.act(all, movesPerAct)
		s.pass(all[0])
		for _, p := range accounts {
			p.interlude()
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

func parse(t *testing.T, name, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is not a number: %v", name, err)
	}
	return n
}
