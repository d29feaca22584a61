package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	firstPause   = time.Second
	longestPause = time.Minute
	// probeTime is how long the first request after a pause goes alone, so that
	// not all callers run into the next rejection together.
	probeTime = time.Second
	// longestAsked is the longest wait that a service may mean: its limits are by the
	// minute and by the hour.
	longestAsked = 24 * time.Hour
)

// pause holds back the callers of a budget after the service has answered 429.
type pause struct {
	began      time.Time
	until      time.Time
	rejections int // pauses in a row
}

// PausedError says that a call's own time ends before the pause does.
type PausedError struct{ Until time.Time }

func (e *PausedError) Error() string {
	return fmt.Sprintf("the service has refused requests for their pace and asked to wait until %s, which is later than this operation may take", e.Until.UTC().Format(time.RFC3339))
}

// Rejected notes a 429 to a request of b that was sent at sent, which asks to wait for
// retryAfter, or does not say. One of a create or of details pauses only those: had it been
// for the limits of all, the others would be rejected too. Requests that were in flight
// together are rejected together, which is one rejection.
func (l *Limiter) Rejected(b Budget, sent time.Time, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	own := l.pauses[b][len(l.pauses[b])-1]
	if sent.After(own.began) {
		own.began = now
		own.rejections++
	}
	wait := retryAfter
	if wait <= 0 {
		wait = Backoff(firstPause, longestPause, own.rejections)
	}
	if until := now.Add(wait); until.After(own.until) {
		own.until = until
	}
}

// Accepted notes that the service took a request of b that was sent at sent.
func (l *Limiter) Accepted(b Budget, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pauses[b] {
		if sent.After(p.began) {
			*p = pause{}
		}
	}
}

// PausedUntil is when the pause of b ends; a time that has passed when there is none.
func (l *Limiter) PausedUntil(b Budget) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pausedUntil(b)
}

func (l *Limiter) pausedUntil(b Budget) (until time.Time) {
	for _, p := range l.pauses[b] {
		if p.until.After(until) {
			until = p.until
		}
	}
	return until
}

// Backoff returns the nth delay, from 1: jittered between half and all of
// first·2ⁿ⁻¹, and never over longest.
func Backoff(first, longest time.Duration, n int) time.Duration {
	d := first
	for range n - 1 {
		d = min(2*d, longest)
	}
	return d/2 + rand.N(d/2)
}

// RetryAfter reads a Retry-After header, in seconds or as a date. It returns 0, for the
// caller's own backoff, if there is none, or one that makes no sense: it cannot be read, or
// asks for more than a day.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if seconds < 0 || seconds > int64(longestAsked/time.Second) {
			return 0
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the service's own clock
	}
	wait := at.Sub(now)
	if wait > longestAsked {
		return 0
	}
	// Dates are cut to the second, so one second more has to pass.
	return max(0, wait+time.Second)
}
