package behavior

import (
	"slices"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Limits are the maximum numbers of calls of one key in a sliding window. 0 means no limit.
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

// Settings returns the limits as settings.
func (l *Limits) Settings() []Setting {
	const maximum = 1_000_000_000
	return []Setting{
		{Name: "requests_per_minute", Number: &l.RequestsPerMinute, Maximum: maximum},
		{Name: "requests_per_hour", Number: &l.RequestsPerHour, Maximum: maximum},
		{Name: "creates_per_minute", Number: &l.CreatesPerMinute, Maximum: maximum},
		{Name: "details_per_minute", Number: &l.DetailsPerMinute, Maximum: maximum},
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

// Class is a class of calls that has limits of its own. Every call also counts as a Request.
type Class string

// The classes of calls.
const (
	Request Class = "request" // all calls
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
	all := []window{
		{Request, l.RequestsPerMinute, time.Minute},
		{Request, l.RequestsPerHour, longestWindow},
	}
	switch class {
	case Create:
		all = append(all, window{Create, l.CreatesPerMinute, time.Minute})
	case Details:
		all = append(all, window{Details, l.DetailsPerMinute, time.Minute})
	}
	return slices.DeleteFunc(all, func(w window) bool { return w.limit == 0 })
}

// Counters counts the calls of each key. It does so in memory, so that no call waits for the file.
type Counters struct {
	mu      sync.Mutex
	counted map[counted]*history
}

type counted struct {
	accountID int64
	class     Class
}

// NewCounters returns empty counters.
func NewCounters() *Counters { return &Counters{counted: map[counted]*history{}} }

// Admit counts a call and returns 0 if all limits allow it. Otherwise, it returns the time until they do.
func (c *Counters) Admit(l Limits, accountID int64, class Class, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wait time.Duration
	classes := map[Class]bool{} // those with a limit
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

// Used returns the number of calls that count against each limit.
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

// Forget resets all counters.
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

// clockStep is the time by which the newest call must be in the future for the clock to have been reset meanwhile.
// It is longer than any call takes, because calls that run at the same time may be counted out of order.
const clockStep = 5 * time.Minute

// history contains the times of calls in Unix milliseconds, in ascending order.
type history []int64

// add adds a call and drops those that no window contains any more. It keeps the order.
func (h *history) add(now time.Time) {
	at := now.UnixMilli()
	recent := h.in(longestWindow, now)
	if len(recent) > 0 {
		at = max(at, recent[len(recent)-1])
	}
	*h = append(h.in(longestWindow, now), at)
}

// in returns the calls in the window that ends now. It forgets all calls if the clock was reset.
func (h *history) in(length time.Duration, now time.Time) []int64 {
	if len(*h) > 0 {
		newest := time.UnixMilli((*h)[len(*h)-1])
		if newest.Sub(now) > clockStep {
			*h = nil
		}
	}
	first, _ := slices.BinarySearch(*h, now.Add(-length).UnixMilli()+1)
	return (*h)[first:]
}

// wait returns the time until the window has room for another call.
func (h *history) wait(w window, now time.Time) time.Duration {
	calls := h.in(w.length, now)
	number := int64(len(calls))
	if number < w.limit {
		return 0
	}
	last := calls[number-w.limit] // there is room when this call has left the window
	return time.UnixMilli(last).Add(w.length).Sub(now)
}
