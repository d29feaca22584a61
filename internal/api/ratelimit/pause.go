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
)

// pause holds back every caller after the service has answered 429.
type pause struct {
	began      time.Time
	until      time.Time
	rejections int // pauses in a row
}

// PausedError says that a call's own time ends before the pause does.
type PausedError struct{ Until time.Time }

// Error names the time in UTC.
func (e *PausedError) Error() string {
	return fmt.Sprintf("the service has refused requests for their pace and asked to wait until %s, which is later than this operation may take", e.Until.UTC().Format(time.RFC3339))
}

// Rejected notes a 429 to a request that was sent at sent; retryAfter is 0 when
// the response did not say how long to wait. Requests that were in flight
// together are rejected together, which is one rejection and not many.
func (l *Limiter) Rejected(sent time.Time, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if l.pause.rejections == 0 || sent.After(l.pause.began) {
		l.pause.began = now
		l.pause.rejections++
	}
	wait := retryAfter
	if wait <= 0 {
		wait = Backoff(firstPause, longestPause, l.pause.rejections)
	}
	if until := now.Add(wait); until.After(l.pause.until) {
		l.pause.until = until
	}
}

// Accepted notes that the service took a request that was sent at sent.
func (l *Limiter) Accepted(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pause.rejections > 0 && sent.After(l.pause.began) {
		l.pause = pause{}
	}
}

// PausedPast reports whether the pause lasts longer than a call that ends at
// deadline.
func (l *Limiter) PausedPast(deadline time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pause.until.After(deadline)
}

// PausedUntil is when the pause ends; a time that has passed when there is none.
func (l *Limiter) PausedUntil() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pause.until
}

// Backoff returns the nth delay, from 1: jittered between half and all of
// first·2ⁿ⁻¹, and never over longest.
func Backoff(first, longest time.Duration, n int) time.Duration {
	d := longest
	if n < 16 {
		d = min(longest, first<<(n-1))
	}
	return d/2 + rand.N(d/2+1)
}

// RetryAfter reads a Retry-After header, in seconds or as a date; 0 is none.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the service's own clock
	}
	// Dates are cut to the second, so one second more has to pass.
	return max(0, at.Sub(now)+time.Second)
}
