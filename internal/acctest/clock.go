package acctest

import (
	"context"
	"sync"
	"time"
)

// longestWait is what a wait takes at most on a Clock.
const longestWait = 10 * time.Millisecond

// Clock is a real clock that jumps over all but the beginning of each wait.
type Clock struct {
	mu      sync.Mutex
	skipped time.Duration
}

// Now is the time, with all that was jumped over.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

// Wait waits for the beginning of d, and jumps over the rest.
func (c *Clock) Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(min(d, longestWait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if rest := d - longestWait; rest > 0 {
		c.mu.Lock()
		c.skipped += rest
		c.mu.Unlock()
	}
	return nil
}
