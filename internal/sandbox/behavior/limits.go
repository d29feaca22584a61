package behavior

import (
	"slices"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// Limits are the maximum numbers of calls of one key in sliding windows. 0 means no limit.
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

// limitsSetting is the name of the setting with the limits.
const limitsSetting = "limits"

// ReadLimits returns the limits of the file.
func ReadLimits(tx *store.Tx) (Limits, error) {
	l := DocumentedLimits()
	err := tx.ReadSetting(limitsSetting, &l)
	return l, err
}

// Write replaces the limits of the file.
func (l Limits) Write(tx *store.Tx) error { return tx.WriteSetting(limitsSetting, l) }

// Class is a class of API calls that has limits of its own.
type Class string

// The classes of calls.
const (
	Request Class = "request" // API calls of any kind
	Create  Class = "create"  // issuing a card
	Details Class = "details" // reading a card's number and code
)

// longestWindow is the length of the longest window.
const longestWindow = time.Hour

// window is a limit for the calls of a class in a sliding window of time.
type window struct {
	class  Class
	limit  int64
	length time.Duration
}

// windows returns the limits that apply to a class of calls, without those of 0.
func (l Limits) windows(class Class) []window {
	all := []window{
		{class: Request, limit: l.RequestsPerMinute, length: time.Minute},
		{class: Request, limit: l.RequestsPerHour, length: longestWindow},
	}
	switch class {
	case Create:
		all = append(all, window{class: Create, limit: l.CreatesPerMinute, length: time.Minute})
	case Details:
		all = append(all, window{class: Details, limit: l.DetailsPerMinute, length: time.Minute})
	}
	return slices.DeleteFunc(all, func(w window) bool { return w.limit == 0 })
}

// Counters counts the calls of each key in memory.
type Counters struct {
	mu        sync.Mutex
	histories map[counterKey]*history
}

type counterKey struct {
	counterID int64 // of the API key; see account.Account.CounterID
	class     Class
}

// NewCounters returns empty counters.
func NewCounters() *Counters { return &Counters{histories: map[counterKey]*history{}} }

// Admit returns 0 if the limits allow a call. It then counts the call under Request and under its class, which may be
// empty, as far as these have limits. Otherwise, Admit returns how long to wait before a retry, and does not count the
// call.
func (c *Counters) Admit(l Limits, counterID int64, class Class, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wait time.Duration
	limited := map[Class]bool{} // the classes that count the call; a class with two limits counts it once
	for _, w := range l.windows(class) {
		limited[w.class] = true
		h := c.history(counterID, w.class)
		wait = max(wait, h.timeUntilRoom(w, now))
	}
	if wait > 0 {
		return wait
	}
	for limitedClass := range limited {
		h := c.history(counterID, limitedClass)
		h.add(now)
	}
	return 0
}

// Used returns how many calls count against each limit. The result has these numbers in the fields of the limits.
func (c *Counters) Used(counterID int64, now time.Time) Limits {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := func(class Class, length time.Duration) int64 {
		h := c.history(counterID, class)
		calls := h.callsWithin(length, now)
		return int64(len(calls))
	}
	return Limits{
		RequestsPerMinute: count(Request, time.Minute),
		CreatesPerMinute:  count(Create, time.Minute),
		RequestsPerHour:   count(Request, longestWindow),
		DetailsPerMinute:  count(Details, time.Minute),
	}
}

// Reset sets all counters to 0.
func (c *Counters) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.histories)
}

// history returns the history of a class of calls with a key. The caller must hold the lock.
func (c *Counters) history(counterID int64, class Class) *history {
	key := counterKey{counterID: counterID, class: class}
	if c.histories[key] == nil {
		c.histories[key] = &history{}
	}
	return c.histories[key]
}

// clockTolerance is how far in the future the newest call may be before callsWithin assumes that the service's clock was
// reset. Without a reset, a call may be slightly in the future, because concurrent calls may be counted out of order.
const clockTolerance = 5 * time.Minute

// history contains the times of calls in Unix milliseconds, in ascending order.
type history []int64

// add adds a call and drops the calls that have left the longest window. It keeps the order.
func (h *history) add(now time.Time) {
	calls := h.callsWithin(longestWindow, now)
	at := now.UnixMilli()
	if len(calls) > 0 {
		newest := calls[len(calls)-1]
		at = max(at, newest)
	}
	calls = append(calls, at)
	*h = calls
}

// callsWithin returns the calls in the window of the given length that ends now. If the service's clock was reset,
// callsWithin deletes the calls from the history and returns none.
func (h *history) callsWithin(length time.Duration, now time.Time) []int64 {
	calls := *h
	if len(calls) == 0 {
		return nil
	}
	newest := time.UnixMilli(calls[len(calls)-1])
	if newest.Sub(now) > clockTolerance {
		*h = nil
		return nil
	}
	// The window excludes its start, so its first call is at least a millisecond later.
	start := now.Add(-length).UnixMilli()
	first, _ := slices.BinarySearch(calls, start+1)
	return calls[first:]
}

// timeUntilRoom returns the time until the window has room for another call.
func (h *history) timeUntilRoom(w window, now time.Time) time.Duration {
	calls := h.callsWithin(w.length, now)
	count := int64(len(calls))
	if count < w.limit {
		return 0
	}
	blocking := calls[count-w.limit] // when this call leaves the window, fewer calls than the limit remain
	return time.UnixMilli(blocking).Add(w.length).Sub(now)
}
