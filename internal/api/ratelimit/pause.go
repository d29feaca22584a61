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
	// firstPause and longestPause are the arguments of Backoff after a 429 response without a usable Retry-After.
	firstPause   = time.Second
	longestPause = time.Minute
	// probeTime is the time between single requests after a pause, until the service accepts one. Without it, all
	// waiting callers would send at once, and might be rejected again.
	probeTime = time.Second
	// longestRetryAfter is the longest Retry-After that is used. A longer one is implausible, because the limits are
	// per minute and per hour.
	longestRetryAfter = 24 * time.Hour
)

// pause makes callers wait after a 429 response. The zero value is no pause.
type pause struct {
	rejectedAt time.Time // when the last rejection was counted
	until      time.Time
	rejections int // in a row, as RecordRejection counts them
}

// PausedError reports that a pause ends after a deadline.
type PausedError struct{ Until time.Time }

func (e *PausedError) Error() string {
	return fmt.Sprintf("the service's rate limit pauses requests until %s, after this operation's deadline", e.Until.UTC().Format(time.RFC3339))
}

// RecordRejection records a 429 response to a request of b that was sent at sentAt. retryAfter is the result of
// RetryAfter; if it is 0, the pause grows with the number of rejections in a row. A rejected request of Creates or
// Details pauses that budget alone, because the limit may be the budget's own. A rejected General request pauses all
// budgets. Rejections of requests that were in flight together count as one.
func (l *Limiter) RecordRejection(b Budget, sentAt time.Time, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	pauses := l.pauses[b]
	own := pauses[len(pauses)-1] // the last one is the budget's own
	if sentAt.After(own.rejectedAt) {
		own.rejectedAt = now
		own.rejections++
	}
	wait := retryAfter
	if wait <= 0 {
		wait = Backoff(firstPause, longestPause, own.rejections)
	}
	until := now.Add(wait)
	if until.After(own.until) {
		own.until = until
	}
}

// RecordAcceptance records a response other than 429 to a request of b that was sent at sentAt. It ends each pause
// that applies to b, unless the pause has counted a rejection since sentAt.
func (l *Limiter) RecordAcceptance(b Budget, sentAt time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pauses[b] {
		if sentAt.After(p.rejectedAt) {
			*p = pause{}
		}
	}
}

// PausedUntil returns the end of the last pause that applies to b. Without a pause, the time is in the past or zero.
func (l *Limiter) PausedUntil(b Budget) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pausedUntil(b)
}

// pausedUntil is PausedUntil for a caller that has locked mu.
func (l *Limiter) pausedUntil(b Budget) time.Time {
	var until time.Time
	for _, p := range l.pauses[b] {
		if p.until.After(until) {
			until = p.until
		}
	}
	return until
}

// Backoff returns the delay before retry n, counted from 1. Its maximum is first for retry 1, and doubles with each
// retry up to longest. The delay is a random duration between half of that maximum and all of it.
func Backoff(first, longest time.Duration, n int) time.Duration {
	maximum := first
	for range n - 1 {
		maximum = min(2*maximum, longest)
	}
	return maximum/2 + rand.N(maximum/2)
}

// RetryAfter returns the wait that a Retry-After header requests, in seconds or as a date. It returns 0 if the header
// is missing, invalid or implausible, or if it requests no wait. now replaces a Date header that is missing or invalid.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		if seconds < 0 || seconds > int64(longestRetryAfter/time.Second) {
			return 0
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	// The date in Retry-After is by the service's clock, whose time is in the Date header.
	serviceTime, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		serviceTime = now
	}
	wait := at.Sub(serviceTime)
	if wait > longestRetryAfter {
		return 0
	}
	// Dates have no fractions of a second, so wait one second more.
	return max(0, wait+time.Second)
}
