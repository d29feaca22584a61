//go:build unix

// Package chaos_test breaks what can break between the provider and the service,
// at random, and then compares ledger, cards and states to the cent.
package chaos_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
)

var (
	calls = flag.Int("chaos.calls", 1000, "mutating requests at the least")
	seed  = flag.Uint64("chaos.seed", 1, "the first scenario's seed")
)

const (
	callsPerWorld = 60
	enoughCalls   = 40_000 // for every fault to meet every kind of call
)

// TestChaos lets scenarios live, each of another seed: one pipeline, or up to three
// that take turns or run side by side. A scenario of pipelines that do not run side
// by side repeats exactly.
func TestChaos(t *testing.T) { //nolint:tparallel // a scenario at a time, until there were enough calls
	t.Parallel()
	first := *seed
	counts := map[string]int{}
	total, kills, named := 0, 0, 0
	for n := first; total < *calls && !t.Failed(); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newScenario(t, n)
			w.run(callsPerWorld)
			if t.Failed() {
				t.Logf("repeat with -run TestChaos -chaos.calls=1 -chaos.seed=%d", n)
			}
			total += w.proxy.mutating
			kills += w.kills
			named += w.named
			for what, times := range w.proxy.counts {
				counts[what] += times
			}
		})
	}
	t.Logf("%d mutating requests, %d kills, %d departures that were named", total, kills, named)
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[what], what)
	}
	isWhole := total >= enoughCalls && !t.Failed()
	for _, kind := range []string{"create", "fund", "withdraw", "freeze", "unfreeze", "terminate"} {
		for _, f := range append(ofMutations(), repeated, killBefore, killAfter, killLate) {
			if isWhole && counts[kind+", "+string(f)] == 0 {
				t.Errorf("no %s met the fault %q", kind, f)
			}
		}
	}
}

// TestSeedsRepeat runs one scenario twice.
func TestSeedsRepeat(t *testing.T) {
	t.Parallel()
	for n := range uint64(2) {
		var traces []uint64
		for range 2 {
			w := newScenario(t, 4*n)
			w.run(40)
			traces = append(traces, w.proxy.trace.Sum64())
		}
		if traces[0] != traces[1] {
			t.Errorf("seed %d does not repeat", n)
		}
	}
}
