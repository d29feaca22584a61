package behavior

import (
	"slices"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Limits are how many calls a key may make in a sliding window of time; 0: any number.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute"`
	CreatesPerMinute  int64 `json:"creates_per_minute"`
	RequestsPerHour   int64 `json:"requests_per_hour"`
	DetailsPerMinute  int64 `json:"details_per_minute"`
}

// DocumentedLimits returns the limits of API §8.
func DocumentedLimits() Limits {
	return Limits{RequestsPerMinute: 1_000, CreatesPerMinute: 50, RequestsPerHour: 10_000, DetailsPerMinute: 30}
}

// Settings are the limits, each up to more than anybody calls.
func (l *Limits) Settings() []Setting {
	const most = 1_000_000_000
	return []Setting{
		{Name: "requests_per_minute", Number: &l.RequestsPerMinute, Most: most},
		{Name: "requests_per_hour", Number: &l.RequestsPerHour, Most: most},
		{Name: "creates_per_minute", Number: &l.CreatesPerMinute, Most: most},
		{Name: "details_per_minute", Number: &l.DetailsPerMinute, Most: most},
	}
}

const limitsSetting = "limits"

// ReadLimits returns the limits of the file.
func ReadLimits(tx *store.Tx) (Limits, error) {
	l := DocumentedLimits()
	return l, tx.ReadSetting(limitsSetting, &l)
}

// Write replaces the limits of the file.
func (l Limits) Write(tx *store.Tx) error { return tx.WriteSetting(limitsSetting, l) }

// Class says what a call counts as, beside being a request.
type Class string

// The classes of calls.
const (
	Request Class = "request" // any call; nothing else
	Create  Class = "create"  // issuing a card
	Details Class = "details" // reading a card's number and code
)

const longestWindow = time.Hour

type window struct {
	class  Class
	limit  int64
	length time.Duration
}

func (l Limits) windows(class Class) []window {
	all := []window{{Request, l.RequestsPerMinute, time.Minute}, {Request, l.RequestsPerHour, longestWindow}}
	switch class {
	case Create:
		all = append(all, window{Create, l.CreatesPerMinute, time.Minute})
	case Details:
		all = append(all, window{Details, l.DetailsPerMinute, time.Minute})
	}
	return slices.DeleteFunc(all, func(w window) bool { return w.limit == 0 })
}

// Counters counts each key's calls in memory, so that no call waits for the file.
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

// Admit counts a call that every window has room for, or returns how long it has to wait.
func (c *Counters) Admit(l Limits, accountID int64, class Class, now time.Time) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	classes := map[Class]bool{}
	for _, w := range l.windows(class) {
		classes[w.class] = true
		wait = max(wait, c.of(accountID, w.class).wait(w, now))
	}
	for class := range classes {
		if wait == 0 {
			c.of(accountID, class).add(now)
		}
	}
	return wait
}

// Used returns how many calls of an account are in the window of each limit.
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

// history is when calls were made, in Unix milliseconds, the earliest first.
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
