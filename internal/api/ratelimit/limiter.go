// Package ratelimit keeps a client within the documented limits of the service, or within configured ones. After a
// 429 response, it pauses all requests of the same budget. If the rejected request was a General one, it pauses the
// requests of all budgets.
package ratelimit

import (
	"context"
	"sync"
	"time"
)

// The documented limits (API §8).
const (
	DocumentedRequestsPerMinute = 1_000
	DocumentedRequestsPerHour   = 10_000
	DocumentedCreatesPerMinute  = 50
	DocumentedDetailsPerMinute  = 30
)

// Limits are the maximum numbers of requests. For a number that is not positive, the documented one applies. A number
// below the documented one leaves room for other clients with the same API key.
type Limits struct {
	RequestsPerMinute int
	RequestsPerHour   int
	CreatesPerMinute  int
	DetailsPerMinute  int
}

// Budget selects the limits that apply to a request.
type Budget int

// The limits per minute and per hour apply to every request. Creates and Details have an additional limit
// of their own.
const (
	General Budget = iota
	Creates
	Details
)

// clockSlack is added to the length of a window, because the service's clock may run differently and its windows may
// end on whole seconds.
const clockSlack = time.Second

// Limiter makes callers wait to keep their requests within the limits. It is safe for concurrent use.
type Limiter struct {
	clock Clock

	mu      sync.Mutex
	windows map[Budget][]*window
	pauses  map[Budget][]*pause // all that apply to the budget; the last one is the budget's own
}

// New returns a limiter with empty windows.
func New(clock Clock, limits Limits) *Limiter {
	minute := newWindow(time.Minute, limits.RequestsPerMinute, DocumentedRequestsPerMinute)
	hour := newWindow(time.Hour, limits.RequestsPerHour, DocumentedRequestsPerHour)
	creates := newWindow(time.Minute, limits.CreatesPerMinute, DocumentedCreatesPerMinute)
	details := newWindow(time.Minute, limits.DetailsPerMinute, DocumentedDetailsPerMinute)
	sharedPause := &pause{}
	createsPause := &pause{}
	detailsPause := &pause{}
	return &Limiter{
		clock: clock,
		windows: map[Budget][]*window{
			General: {minute, hour},
			Creates: {minute, hour, creates},
			Details: {minute, hour, details},
		},
		pauses: map[Budget][]*pause{
			General: {sharedPause},
			Creates: {sharedPause, createsPause},
			Details: {sharedPause, detailsPause},
		},
	}
}

// Acquire waits until b is not paused and every window of b has room. It then takes a slot in all of these
// windows at once, so that a caller who waits for one window does not use up another. After a success, the caller must
// call Release when the request has ended. If a pause ends after deadline, Acquire returns a *PausedError instead of
// waiting for its end. The deadline does not limit the wait for room in the windows. If ctx ends first, Acquire returns
// the error of ctx.
func (l *Limiter) Acquire(ctx context.Context, b Budget, deadline time.Time) error {
	for {
		err := ctx.Err()
		if err != nil {
			return err
		}
		wait, err := l.tryAcquire(b, deadline)
		if err != nil {
			return err
		}
		if wait == 0 {
			return nil
		}
		err = l.clock.Wait(ctx, wait)
		if err != nil {
			return err
		}
	}
}

// tryAcquire takes the slots and returns 0, or returns how long to wait before the next try. The error is a
// *PausedError. After a rejection, taking the slots also delays the next caller.
func (l *Limiter) tryAcquire(b Budget, deadline time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	until := l.pausedUntil(b)
	if until.After(now) {
		if until.After(deadline) {
			return 0, &PausedError{Until: until}
		}
		return until.Sub(now), nil
	}
	var wait time.Duration
	for _, w := range l.windows[b] {
		w.removeExpired(now)
		wait = max(wait, w.timeUntilRoom(now))
	}
	if wait > 0 {
		return wait, nil
	}
	for _, w := range l.windows[b] {
		w.inFlight++
	}
	// After a rejection, let through one request per probeTime until the service accepts one.
	for _, p := range l.pauses[b] {
		if p.rejections > 0 {
			p.until = now.Add(probeTime)
		}
	}
	return 0, nil
}

// Release records that the response to a request of b has arrived or is no longer expected. In each window, the slot of
// the request becomes free after the window's span.
func (l *Limiter) Release(b Budget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	for _, w := range l.windows[b] {
		w.inFlight--
		w.responses = append(w.responses, now)
	}
}

// window limits the requests in a period of the given length. It counts each request until length plus clockSlack has
// passed since the response. The service counts a request before it responds, so by then it should no longer count the
// request.
type window struct {
	length    time.Duration
	limit     int         // the maximum number of requests
	inFlight  int         // requests whose response is still expected
	responses []time.Time // when they arrived or were no longer expected, oldest first
}

func newWindow(length time.Duration, configured, documented int) *window {
	limit := documented
	if configured > 0 {
		limit = configured
	}
	return &window{length: length, limit: limit}
}

// span returns how long a request counts after its response.
func (w *window) span() time.Duration { return w.length + clockSlack }

// removeExpired removes the responses whose requests no longer count.
func (w *window) removeExpired(now time.Time) {
	for len(w.responses) > 0 && now.Sub(w.responses[0]) >= w.span() {
		w.responses = w.responses[1:]
	}
}

// timeUntilRoom returns the time until there may be room. It is 0 if there is room now.
func (w *window) timeUntilRoom(now time.Time) time.Duration {
	if w.inFlight+len(w.responses) < w.limit {
		return 0
	}
	if len(w.responses) == 0 { // all requests are in flight, so no slot becomes free before span has passed
		return w.span()
	}
	return w.responses[0].Add(w.span()).Sub(now)
}

// Clock provides the time and waits. Tests inject a simulated one.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// Wait returns nil after d, or the context's error as soon as the context ends.
	Wait(ctx context.Context, d time.Duration) error
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the machine's time.
func (SystemClock) Now() time.Time { return time.Now() }

// Wait waits in real time.
func (SystemClock) Wait(ctx context.Context, d time.Duration) error {
	err := ctx.Err()
	if err != nil {
		return err
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
