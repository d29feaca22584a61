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
	// firstDelay is the delay before the first retry. Each further delay is twice as long, up to longestDelay.
	firstDelay = 500 * time.Millisecond
	// longestRetryAfter is the longest Retry-After that a single call respects.
	longestRetryAfter = time.Minute
	// MaxRetryTime limits how long a person waits for a read that 429 responses delay, and for the repeats
	// of a change with the same key after a lost response.
	MaxRetryTime = 10 * time.Minute
	// showInterval is the time between two reads of one card that does not show a change yet.
	showInterval = 2 * time.Second
	// PollInterval is the time between two reads that verify a change. It is longer than showInterval, because
	// a service may update lists and balances later.
	PollInterval = 5 * time.Second
)

// Read makes a call that changes nothing, and retries it. The error is an *OutageError if every other call would
// fail in the same way. A read that verifies a change returns its own failure instead, which becomes part of the
// change's error.
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
	// This also records an outage that a verifying read meets, so that it stops other calls.
	err = c.breaker.end(ctx, call, priorAnswers, f)
	if isVerifying(ctx) {
		return f.err
	}
	return err
}

// readWithRetries returns nil after a success. An attempt does not count as a retry if it follows a 429
// response or a response that does not show the latest change yet.
func (c *Client) readWithRetries(ctx context.Context, call *Call) *failure {
	call.attempts = 0
	call.deadline = c.Deadline(ctx)
	latest := c.clock.Now().Add(MaxRetryTime)
	if latest.Before(call.deadline) {
		call.deadline = latest
	}
	retries := 0
	for {
		f := c.do(ctx, ctx, call)
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
			err := c.clock.Wait(ctx, showInterval)
			if err != nil {
				return f
			}
			continue
		}
		if f.isRedirect() || f.status == http.StatusConflict {
			return f
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

// maxRefusedRetries limits the retries after a refused connection, for a read of a run that has changed nothing.
// Waiting longer seldom helps.
const maxRefusedRetries = 2

func (c *Client) maxRetriesAfter(ctx context.Context, f *failure) int {
	followsChange := c.HasWritten() || isVerifying(ctx)
	if errors.Is(f.err, syscall.ECONNREFUSED) && !followsChange {
		return min(c.config.MaxRetries, maxRefusedRetries)
	}
	return c.config.MaxRetries
}

type verifyingKey struct{}

// Verifying marks the context of reads that verify the outcome of a change. They are made even if other calls
// have shown that the service is not available.
func Verifying(ctx context.Context) context.Context {
	return context.WithValue(ctx, verifyingKey{}, true)
}

func isVerifying(ctx context.Context) bool { return ctx.Value(verifyingKey{}) != nil }
