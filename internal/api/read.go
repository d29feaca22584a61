package api

import (
	"context"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

const (
	firstDelay   = 500 * time.Millisecond
	longestDelay = 30 * time.Second
	// longestRead bounds how long a 429 may hold up a call that changes nothing.
	longestRead = 10 * time.Minute
	// longestRetryAfter is how long one call follows the service's wish by itself.
	longestRetryAfter = time.Minute
)

// read makes a call that changes nothing, again and again where that may help.
// Its error is an *OutageError when every other call would fail like this one,
// unless it is to find out about a change: then the change's error tells more.
func (c *Client) read(ctx context.Context, x *call) error {
	v, err := c.enter(ctx, x)
	if err != nil {
		return err
	}
	f := c.readPatiently(ctx, x, v)
	if f != nil {
		err = f.err
	}
	left := c.health.leave(ctx, v, f, err)
	if findsOut(ctx) {
		return err
	}
	return left
}

func (c *Client) enter(ctx context.Context, x *call) (visit, error) {
	switch {
	case findsOut(ctx):
		return c.health.visit(), nil
	case c.HasWritten():
		return c.health.visit(), c.health.refuses()
	default:
		return c.health.enter(ctx, x.eager)
	}
}

// readPatiently retries; a 429 does not count as a retry, nor does what is not shown
// yet.
func (c *Client) readPatiently(ctx context.Context, x *call, v visit) *failure {
	deadline := c.clock.Now().Add(min(c.deadline(ctx).Sub(c.clock.Now()), longestRead))
	for number, retries := 1, 0; ; number++ {
		f := c.do(ctx, attempt{call: x, number: number, sending: ctx, deadline: deadline})
		switch {
		case f == nil:
			return nil
		case f.permanent, f.isFinalForReads():
			return f
		case f.status == http.StatusTooManyRequests:
			if c.limits.PausedPast(x.budget, deadline) {
				return f
			}
			continue
		case f.notShown:
			if c.clock.Wait(ctx, visibleDelay) != nil {
				return f
			}
			continue
		case f.isRedirect(), f.status == http.StatusConflict, retries >= c.maxRetriesAfter(ctx, v, f):
			return f
		}
		retries++
		if err := c.backOff(ctx, retries, f.retryAfter); err != nil {
			return f
		}
	}
}

// isFinalForReads reports whether reading again shows no more. Other than with a
// change, nothing is hidden by a gateway that answers in the service's place; but
// what it says is missing may be there.
func (f *failure) isFinalForReads() bool {
	switch f.meaning {
	case refused, keyRefused:
		return true
	case unknown:
		return f.status >= 400 && f.status < 500 && !isMissing(f.status) && f.status != http.StatusRequestTimeout && f.status != http.StatusTooManyRequests
	}
	return false
}

// backOff waits before retry n, at least as long as the service asked.
func (c *Client) backOff(ctx context.Context, n int, retryAfter time.Duration) error {
	return c.clock.Wait(ctx, max(ratelimit.Backoff(firstDelay, longestDelay, n), min(retryAfter, longestRetryAfter)))
}
