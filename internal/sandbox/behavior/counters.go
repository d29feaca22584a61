package behavior

import (
	"slices"
	"sync"
	"time"
)

// Counters counts the calls that are made with each key at this process, in memory, so that
// no call waits for the file.
type Counters struct {
	mu      sync.Mutex
	counted map[counted]*history
}

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

// Used returns how many calls of an account are in the window of each limit.
// What has no limit is not counted.
func (c *Counters) Used(accountID int64, now time.Time) Limits {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := func(class Class, length time.Duration) int64 {
		return int64(len(c.of(accountID, class).in(length, now)))
	}
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
		c.counted[key] = new(history)
	}
	return c.counted[key]
}

// clockStep is how far ahead a call must be, which is longer than any one takes, for
// the clock to have been set back since.
const clockStep = 5 * time.Minute

// history is when calls were made, in Unix milliseconds, the earliest first; those
// that no window has any more make room.
type history []int64

// add counts a call, which is never before those that are there.
func (h *history) add(now time.Time) {
	at := now.UnixMilli()
	if kept := h.in(longestWindow, now); len(kept) > 0 {
		at = max(at, kept[len(kept)-1])
	}
	*h = append(h.in(longestWindow, now), at)
}

func (h *history) in(length time.Duration, now time.Time) []int64 {
	if n := len(*h); n > 0 && time.UnixMilli((*h)[n-1]).Sub(now) > clockStep {
		*h = nil
	}
	first, _ := slices.BinarySearch(*h, now.Add(-length).UnixMilli()+1)
	return (*h)[first:]
}

func (h *history) wait(w window, now time.Time) time.Duration {
	in := h.in(w.length, now)
	if int64(len(in)) < w.limit {
		return 0
	}
	leaves := in[int64(len(in))-w.limit] // the last call that has to
	return time.UnixMilli(leaves).Add(w.length).Sub(now)
}
