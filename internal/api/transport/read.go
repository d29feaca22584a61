package transport

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

const (
	// firstDelay is the longest delay before the first retry, unless a response asks for a longer one. That maximum
	// doubles with each retry, up to longestDelay.
	firstDelay = 500 * time.Millisecond
	// longestRetryAfter limits the delay that a Retry-After may ask backOff for.
	longestRetryAfter = time.Minute
	// MaxRetryTime limits long series of attempts, for example of a read that 429 responses delay.
	MaxRetryTime = 10 * time.Minute
	// notShownDelay is the delay before the next attempt if a response does not show the latest change yet.
	notShownDelay = 2 * time.Second
	// PollInterval is the time between two reads that verify a change.
	PollInterval = 5 * time.Second
)

// Read makes a call that changes nothing, and may repeat it. The error is an *OutageError if the failure seems to affect
// other calls, too. A read that verifies a change returns its own failure instead.
func (c *Client) Read(ctx context.Context, call *Call) error {
	if call.Invalid != nil {
		return call.Invalid
	}
	priorAnswers, err := c.breaker.begin(call, c.HasWritten())
	if err != nil && !isVerifying(ctx) { // a verifying read is made even during an outage
		return err
	}
	f := c.readWithRetries(ctx, call)
	if f == nil {
		return nil
	}
	err = c.breaker.recordFailure(ctx, call, priorAnswers, f)
	if isVerifying(ctx) { // an outage is recorded for other calls
		return f.err
	}
	return err
}

// readWithRetries makes attempts until one succeeds, until no retry is useful or allowed, or until ctx ends. It returns
// nil after a success, and otherwise the last failure. An attempt does not count as a retry if it follows a 429 response
// or a response that does not show the latest change yet.
func (c *Client) readWithRetries(ctx context.Context, call *Call) *failure {
	call.attempts = 0
	call.deadline = c.Deadline(ctx)
	latest := c.clock.Now().Add(MaxRetryTime)
	if latest.Before(call.deadline) {
		call.deadline = latest
	}
	retries := 0
	for {
		f := c.do(ctx, ctx, call) // a read that is being sent also stops when ctx ends
		if f == nil {
			return nil
		}
		if f.permanent || f.isFinalForReads() {
			return f
		}
		if f.status == http.StatusTooManyRequests {
			if c.limits.PausedUntil(call.Budget).After(call.deadline) {
				return f
			}
			continue // the next attempt itself waits for the end of the pause
		}
		if f.notShown {
			err := c.clock.Wait(ctx, notShownDelay)
			if err != nil {
				return f
			}
			continue
		}
		if retries >= c.maxRetriesAfter(ctx, f) {
			return f
		}
		retries++
		err := c.backOff(ctx, retries, f.retryAfter)
		if err != nil {
			return f
		}
	}
}

// backOff waits before retry n, which counts from 1. It respects the service's Retry-After up to
// longestRetryAfter.
func (c *Client) backOff(ctx context.Context, n int, retryAfter time.Duration) error {
	delay := ratelimit.Backoff(firstDelay, longestDelay, n)
	requested := min(retryAfter, longestRetryAfter)
	return c.clock.Wait(ctx, max(delay, requested))
}

// maxRefusedRetries limits the retries of a read after a refused connection. Waiting longer seldom helps.
const maxRefusedRetries = 2

// maxRetriesAfter returns the maximum number of retries of a read that failed with f. After a change, the result of a
// read may matter for that change, so maxRefusedRetries does not apply.
func (c *Client) maxRetriesAfter(ctx context.Context, f *failure) int {
	followsChange := c.HasWritten() || isVerifying(ctx)
	if errors.Is(f.err, syscall.ECONNREFUSED) && !followsChange {
		return min(c.config.MaxRetries, maxRefusedRetries)
	}
	return c.config.MaxRetries
}

type verifyingKey struct{}

// Verifying marks the context of reads that verify the outcome of a change. They are made even during an outage.
func Verifying(ctx context.Context) context.Context {
	return context.WithValue(ctx, verifyingKey{}, true)
}

func isVerifying(ctx context.Context) bool { return ctx.Value(verifyingKey{}) != nil }
