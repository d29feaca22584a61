// Package ratelimit keeps a client within the documented limits of the service,
// and holds its callers back together after the service has answered 429.
package ratelimit

import (
	"cmp"
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

// Limits are the numbers of requests that a client keeps to. Zero is the
// documented number; a smaller one leaves room for others on the key.
type Limits struct {
	RequestsPerMinute int
	RequestsPerHour   int
	CreatesPerMinute  int
	DetailsPerMinute  int
}

// Budget names the windows that a request counts in.
type Budget int

// Every request counts in the minute and in the hour; these two count in a
// window of their own besides.
const (
	General Budget = iota
	Creates
	Details
)

// clockSlack is added to every window, for a service whose clock runs
// differently or whose window ends on its own second.
const clockSlack = time.Second

// Limiter holds callers back so that no window is ever exceeded. It is safe for concurrent use.
type Limiter struct {
	clock Clock

	mu      sync.Mutex
	windows map[Budget][]*window
	pauses  map[Budget][]*pause
}

// New returns a limiter with empty windows.
func New(clock Clock, l Limits) *Limiter {
	minute := &window{length: time.Minute, size: cmp.Or(max(0, l.RequestsPerMinute), DocumentedRequestsPerMinute)}
	hour := &window{length: time.Hour, size: cmp.Or(max(0, l.RequestsPerHour), DocumentedRequestsPerHour)}
	creates := &window{length: time.Minute, size: cmp.Or(max(0, l.CreatesPerMinute), DocumentedCreatesPerMinute)}
	details := &window{length: time.Minute, size: cmp.Or(max(0, l.DetailsPerMinute), DocumentedDetailsPerMinute)}
	everybody := &pause{}
	return &Limiter{
		clock: clock,
		windows: map[Budget][]*window{
			General: {minute, hour},
			Creates: {minute, hour, creates},
			Details: {minute, hour, details},
		},
		pauses: map[Budget][]*pause{
			General: {everybody},
			Creates: {everybody, {}},
			Details: {everybody, {}},
		},
	}
}

// Acquire waits until no pause of b is on and every window of b has room, and then
// takes a slot of each at once, so that a caller who waits for one window blocks
// no caller of another. Release gives the slots back. A pause that outlasts
// deadline is not waited for: the error is a *PausedError.
func (l *Limiter) Acquire(ctx context.Context, b Budget, deadline time.Time) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		wait, err := l.tryAcquire(b, deadline)
		if wait == 0 {
			return err
		}
		if err := l.clock.Wait(ctx, wait); err != nil {
			return err
		}
	}
}

func (l *Limiter) tryAcquire(b Budget, deadline time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if until := l.pausedUntil(b); until.After(now) {
		if until.After(deadline) {
			return 0, &PausedError{Until: until}
		}
		return until.Sub(now), nil
	}
	var wait time.Duration
	for _, w := range l.windows[b] {
		wait = max(wait, w.wait(now))
	}
	if wait > 0 {
		return wait, nil
	}
	for _, w := range l.windows[b] {
		w.inFlight++
	}
	for _, p := range l.pauses[b] {
		if p.rejections > 0 {
			p.until = now.Add(probeTime)
		}
	}
	return 0, nil
}

// Release notes that the response to a request of b has come, or never will:
// its slots come free a window later.
func (l *Limiter) Release(b Budget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	for _, w := range l.windows[b] {
		w.inFlight--
		w.responses = append(w.responses, now)
	}
}

// window counts requests by when their response came: the service counted each
// at some moment before that, so it has forgotten it when the client does.
type window struct {
	length    time.Duration
	size      int
	inFlight  int
	responses []time.Time // oldest first
}

// wait returns how long it takes at least until there is room.
func (w *window) wait(now time.Time) time.Duration {
	span := w.length + clockSlack
	for len(w.responses) > 0 && now.Sub(w.responses[0]) >= span {
		w.responses = w.responses[1:]
	}
	if w.inFlight+len(w.responses) < w.size {
		return 0
	}
	if len(w.responses) == 0 {
		return span
	}
	return w.responses[0].Add(span).Sub(now)
}

// Clock tells the time and waits. Tests inject one so that they need not wait.
type Clock interface {
	// Now returns the present time.
	Now() time.Time
	// Wait returns nil after d, or the context's error as soon as it ends.
	Wait(ctx context.Context, d time.Duration) error
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the machine's time.
func (SystemClock) Now() time.Time { return time.Now() }

// Wait waits in real time.
func (SystemClock) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
