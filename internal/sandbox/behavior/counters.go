package behavior

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Counters counts the calls that accounts make at this process, in memory, so that
// no call waits for the file.
type Counters struct {
	mu      sync.Mutex
	counted map[counted]*history
}

// counted is what is counted apart.
type counted struct {
	accountID int64
	class     Class
}

// NewCounters returns counters that have counted nothing yet.
func NewCounters() *Counters { return &Counters{counted: map[counted]*history{}} }

// Admit counts a call of a class when every window has room for it. Else it
// counts nothing and returns how long the account has to wait.
func (c *Counters) Admit(l Limits, accountID int64, class Class, now time.Time) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	classes := map[Class]bool{}
	for _, w := range l.windows(class) {
		classes[w.class] = true
		wait = max(wait, c.of(accountID, w.class).wait(w, now))
	}
	if wait > 0 {
		return wait
	}
	for class := range classes {
		c.of(accountID, class).add(now)
	}
	return 0
}

// ReadUsed returns how many calls of an account are in the window of each limit.
// What has no limit is not counted.
func (c *Counters) ReadUsed(tx *store.Tx, accountID int64) Limits {
	now := tx.Now()
	if tx.Failed() { // it is not the time, by which calls are forgotten
		return Limits{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	in := func(class Class, length time.Duration) int64 { return c.of(accountID, class).used(length, now) }
	return Limits{
		RequestsPerMinute: in(Request, time.Minute),
		CreatesPerMinute:  in(Create, time.Minute),
		RequestsPerHour:   in(Request, longestWindow),
		DetailsPerMinute:  in(Details, time.Minute),
	}
}

// Forget begins to count anew.
func (c *Counters) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.counted)
}

func (c *Counters) of(accountID int64, class Class) *history {
	key := counted{accountID, class}
	if c.counted[key] == nil {
		c.counted[key] = newHistory()
	}
	return c.counted[key]
}

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
