package api

import (
	"context"
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
	firstDelay   = 500 * time.Millisecond
	longestDelay = 30 * time.Second
	// scoutTime is how long the first request after a pause goes alone, so that
	// not all callers run into the next refusal together.
	scoutTime = time.Second
)

// pause holds back every caller after the service has answered 429.
type pause struct {
	began    time.Time
	until    time.Time
	rejected int // pauses in a row
}

// pausedError says that a call's own time ends before the pause does.
type pausedError struct{ until time.Time }

func (e *pausedError) Error() string {
	return fmt.Sprintf("the service has refused requests for their pace and asked to wait until %s, which is later than this operation may take", e.until.UTC().Format(time.RFC3339))
}

// refused notes a 429 to a request that was sent at sent. Requests that were on
// their way together are refused together, which is one refusal and not many.
func (l *limiter) refused(sent time.Time, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if l.pause.rejected == 0 || sent.After(l.pause.began) {
		l.pause.began = now
		l.pause.rejected++
	}
	wait := retryAfter
	if wait <= 0 {
		wait = growing(firstPause, longestPause, l.pause.rejected)
	}
	if until := now.Add(wait); until.After(l.pause.until) {
		l.pause.until = until
	}
}

// accepted notes that the service took a request that was sent at sent.
func (l *limiter) accepted(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pause.rejected > 0 && sent.After(l.pause.began) {
		l.pause = pause{}
	}
}

// pausedPast tells whether the pause lasts longer than a call that ends at deadline.
func (l *limiter) pausedPast(deadline time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pause.until.After(deadline)
}

// growing returns the nth delay, between half and all of first·2ⁿ⁻¹.
func growing(first, longest time.Duration, n int) time.Duration {
	d := longest
	if n < 16 {
		d = min(longest, first<<(n-1))
	}
	return d/2 + rand.N(d/2+1)
}

// backOff waits before try n+1 of a call, at least as long as the service asked.
func (c *Client) backOff(ctx context.Context, n int, asked time.Duration) error {
	return c.clock.Wait(ctx, max(growing(firstDelay, longestDelay, n), min(asked, longestPause)))
}

// retryAfter reads a Retry-After header, in seconds or as a date; 0 is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
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
