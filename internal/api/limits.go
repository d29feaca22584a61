package api

import (
	"context"
	"sync"
	"time"
)

// Limits are the budgets of requests that a client keeps to. Zero is the
// documented value (API §8); a smaller one leaves room for others on the key.
type Limits struct {
	RequestsPerMinute int // 1,000
	RequestsPerHour   int // 10,000
	CreatesPerMinute  int // 50
	DetailsPerMinute  int // 30
}

// budget tells which windows beside the general ones a request falls under.
type budget int

const (
	generalBudget budget = iota
	createBudget
	detailsBudget
)

// clockSlack is added to every window, for a service whose clock runs
// differently or whose window ends on its own second.
const clockSlack = time.Second

// limiter holds callers back so that no window is ever exceeded.
type limiter struct {
	clock Clock

	mu      sync.Mutex
	windows map[budget][]*window
	pause   pause
}

func newLimiter(clock Clock, l Limits) *limiter {
	fill := func(v, documented int) int {
		if v <= 0 {
			return documented
		}
		return v
	}
	minute := &window{length: time.Minute, size: fill(l.RequestsPerMinute, 1000)}
	hour := &window{length: time.Hour, size: fill(l.RequestsPerHour, 10000)}
	creates := &window{length: time.Minute, size: fill(l.CreatesPerMinute, 50)}
	details := &window{length: time.Minute, size: fill(l.DetailsPerMinute, 30)}
	return &limiter{clock: clock, windows: map[budget][]*window{
		generalBudget: {minute, hour},
		createBudget:  {minute, hour, creates},
		detailsBudget: {minute, hour, details},
	}}
}

// take waits until no pause is on and every window of b has room, and then
// takes a slot of each at once, so that a caller who waits for one window keeps
// nobody from another. The slots are given back by answered. A pause that
// outlasts deadline is not waited for: take returns a *pausedError.
func (l *limiter) take(ctx context.Context, b budget, deadline time.Time) error {
	for {
		wait, err := l.tryTake(b, deadline)
		if wait == 0 || err != nil {
			return err
		}
		if err := l.clock.Wait(ctx, wait); err != nil {
			return err
		}
	}
}

func (l *limiter) tryTake(b budget, deadline time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if wait := l.pause.until.Sub(now); wait > 0 {
		if l.pause.until.After(deadline) {
			return 0, &pausedError{until: l.pause.until}
		}
		return wait, nil
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
	if l.pause.rejected > 0 {
		l.pause.until = now.Add(scoutTime)
	}
	return 0, nil
}

// answered starts the time after which the slots of b come free.
func (l *limiter) answered(b budget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	for _, w := range l.windows[b] {
		w.inFlight--
		w.answers = append(w.answers, now)
	}
}

// window counts requests by when they were answered: the service counted each
// at some moment before that, so it has forgotten it when the client does.
type window struct {
	length   time.Duration
	size     int
	inFlight int
	answers  []time.Time // oldest first
}

// wait returns how long it takes at least until there is room.
func (w *window) wait(now time.Time) time.Duration {
	span := w.length + clockSlack
	for len(w.answers) > 0 && now.Sub(w.answers[0]) >= span {
		w.answers = w.answers[1:]
	}
	if w.inFlight+len(w.answers) < w.size {
		return 0
	}
	if len(w.answers) == 0 {
		return span
	}
	return w.answers[0].Add(span).Sub(now)
}
