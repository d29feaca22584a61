package behavior

import (
	"cmp"
	"slices"
	"time"
)

// resolution is how close calls may be to count as made at one moment, the last
// of theirs, so that a busy hour stays small.
const resolution = 50 * time.Millisecond

// clockStep is how far ahead a call must be, which is longer than any one takes, for
// the clock to have been set back since.
const clockStep = 5 * time.Minute

// moment is a time, in Unix milliseconds, with all calls made until then.
type moment struct{ at, calls int64 }

// history is the calls of the longest window, the oldest first, after a moment that
// is in no window.
type history struct {
	moments []moment
	begun   int64 // the first call of the last moment
}

func newHistory() *history { return &history{moments: make([]moment, 1)} }

// add counts a call, which is never before those that are there.
func (h *history) add(now time.Time) {
	if kept := h.in(longestWindow, now); len(kept) <= len(h.moments)/2 {
		h.moments = slices.Clone(kept)
	}
	at, last := now.UnixMilli(), &h.moments[len(h.moments)-1]
	if len(h.moments) > 1 {
		at = max(at, last.at)
		if at-h.begun < resolution.Milliseconds() {
			last.at = at
			last.calls++
			return
		}
	}
	h.begun = at
	h.moments = append(h.moments, moment{at, last.calls + 1})
}

// in returns the moments in the window of a length, after the one ahead of them.
func (h *history) in(length time.Duration, now time.Time) []moment {
	if time.UnixMilli(h.moments[len(h.moments)-1].at).Sub(now) > clockStep {
		*h = *newHistory()
	}
	until := now.Add(-length).UnixMilli()
	ahead, _ := slices.BinarySearchFunc(h.moments[1:], until+1, func(m moment, at int64) int { return cmp.Compare(m.at, at) })
	return h.moments[ahead:]
}

// used is how many calls are in the window of a length.
func (h *history) used(length time.Duration, now time.Time) int64 {
	in := h.in(length, now)
	return in[len(in)-1].calls - in[0].calls
}

// wait is how long it takes until a window has room.
func (h *history) wait(w window, now time.Time) time.Duration {
	in := h.in(w.length, now)
	leaving := in[len(in)-1].calls - w.limit + 1 // the last call that has to leave the window
	if leaving <= in[0].calls {
		return 0
	}
	i, _ := slices.BinarySearchFunc(in, leaving, func(m moment, call int64) int { return cmp.Compare(m.calls, call) })
	return time.UnixMilli(in[i].at).Add(w.length).Sub(now)
}
