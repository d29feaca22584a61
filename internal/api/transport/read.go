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
	// firstDelay spares a service that has failed; each further one is twice as long.
	firstDelay = 500 * time.Millisecond
	// longestDelay keeps a call from sleeping through a service's return.
	longestDelay = 30 * time.Second
	// longestRetryAfter is how long one call follows the service's wish by itself.
	longestRetryAfter = time.Minute
	// MaxRetryTime bounds what a person sits through: a read that a 429 holds up, and
	// asking for a lost response under the same key.
	MaxRetryTime = 10 * time.Minute
	// shownAgainAfter is the time between two readings of what is one row of a table.
	shownAgainAfter = 2 * time.Second
	// PollInterval is longer, since a list or a booking may be behind a queue.
	PollInterval = 5 * time.Second
)

// Read makes a call that changes nothing, again and again where that may help.
// Its error is an *OutageError when every other call would fail like this one,
// unless it is to find out about a change: then the change's error tells more.
func (c *Client) Read(ctx context.Context, x *Call) error {
	if x.Invalid != nil {
		return x.Invalid
	}
	answers, err := c.breaker.begin(x, c.HasWritten())
	if err != nil && !isVerifying(ctx) {
		return err
	}
	f := c.readPatiently(ctx, x)
	if f == nil {
		return nil
	}
	if err := c.breaker.end(ctx, x, answers, f, f.err); !isVerifying(ctx) {
		return err
	}
	return f.err
}

// readPatiently retries; a 429 does not count as a retry, nor does what is not shown yet.
func (c *Client) readPatiently(ctx context.Context, x *Call) *failure {
	deadline := c.clock.Now().Add(min(c.Deadline(ctx).Sub(c.clock.Now()), MaxRetryTime))
	for number, retries := 1, 0; ; number++ {
		f := c.do(ctx, attempt{Call: x, number: number, sending: ctx, deadline: deadline})
		switch {
		case f == nil:
			return nil
		case f.permanent, f.isFinalForReads():
			return f
		case f.status == http.StatusTooManyRequests:
			if c.limits.PausedUntil(x.Budget).After(deadline) {
				return f
			}
			continue
		case f.notShown:
			if c.clock.Wait(ctx, shownAgainAfter) != nil {
				return f
			}
			continue
		case f.isRedirect(), f.status == http.StatusConflict, retries >= c.maxRetriesAfter(ctx, f):
			return f
		}
		retries++
		if err := c.backOff(ctx, retries, f.retryAfter); err != nil {
			return f
		}
	}
}

// backOff waits before retry n, at least as long as the service asked.
func (c *Client) backOff(ctx context.Context, n int, retryAfter time.Duration) error {
	return c.clock.Wait(ctx, max(ratelimit.Backoff(firstDelay, longestDelay, n), min(retryAfter, longestRetryAfter)))
}

// mostRefusedConnections is how often a connection that is refused is tried again for a
// read of a run that has changed nothing: more waiting seldom mends it.
const mostRefusedConnections = 2

func (c *Client) maxRetriesAfter(ctx context.Context, f *failure) int {
	if errors.Is(f.err, syscall.ECONNREFUSED) && !c.HasWritten() && !isVerifying(ctx) {
		return min(c.config.MaxRetries, mostRefusedConnections)
	}
	return c.config.MaxRetries
}

type verifyingKey struct{}

// Verifying marks the context of reads on which it depends what is known of a
// change: they are made whatever other calls have met.
func Verifying(ctx context.Context) context.Context {
	return context.WithValue(ctx, verifyingKey{}, true)
}

func isVerifying(ctx context.Context) bool { return ctx.Value(verifyingKey{}) != nil }
