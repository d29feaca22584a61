package behavior

import (
	"slices"
	"time"
)

// resolution is how close calls may be to count as made at one moment, the last
// of theirs, so that a busy hour stays small.
const resolution = 50 * time.Millisecond

// clockStep is how far ahead a call must be, which is longer than any one takes, for
// the clock to have been set back since.
const clockStep = 5 * time.Minute

// moment is a time, in Unix milliseconds, with the calls made then.
type moment struct{ at, calls int64 }

// history is the calls of the longest window, the oldest first.
type history struct {
	moments []moment
	begun   int64 // the first call of the last moment
	minute  span
	hour    span
}

// span is the part of a history that is in a window.
type span struct {
	start int // the first moment
	calls int64
}

// add counts a call, which is never before those that are there.
func (h *history) add(now time.Time) {
	h.minute.calls++
	h.hour.calls++
	at := now.UnixMilli()
	if n := len(h.moments); n > 0 {
		last := &h.moments[n-1]
		at = max(at, last.at)
		if at-h.begun < resolution.Milliseconds() {
			last.at = at
			last.calls++
			return
		}
	}
	h.begun = at
	h.moments = append(h.moments, moment{at, 1})
}

// in returns the part of the history that is in the window of a length.
func (h *history) in(length time.Duration, now time.Time) span {
	if n := len(h.moments); n > 0 && time.UnixMilli(h.moments[n-1].at).Sub(now) > clockStep {
		*h = history{}
	}
	h.minute.advance(h.moments, now.Add(-time.Minute))
	h.hour.advance(h.moments, now.Add(-longestWindow))
	h.forget()
	if length == longestWindow {
		return h.hour
	}
	return h.minute
}

// wait is how long it takes until a window has room.
func (h *history) wait(w window, now time.Time) time.Duration {
	s := h.in(w.length, now)
	over := s.calls - w.limit + 1 // calls that have to leave the window
	for i := s.start; over > 0 && i < len(h.moments); i++ {
		if over -= h.moments[i].calls; over <= 0 {
			return time.UnixMilli(h.moments[i].at).Add(w.length).Sub(now)
		}
	}
	return 0
}

// advance leaves behind what was made until a time.
func (s *span) advance(moments []moment, until time.Time) {
	for s.start < len(moments) && moments[s.start].at <= until.UnixMilli() {
		s.calls -= moments[s.start].calls
		s.start++
	}
}

// forget drops what has left both windows, half of the history at a time.
func (h *history) forget() {
	gone := min(h.minute.start, h.hour.start)
	if gone == 0 || gone < len(h.moments)/2 {
		return
	}
	h.moments = slices.Clone(h.moments[gone:])
	h.minute.start -= gone
	h.hour.start -= gone
}
