//go:build unix

package chaos_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// clock is the time of the service and of all clients. It moves only when
// somebody waits for something.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var errKilled = errors.New("the process was killed")

// runClock is the clock of one run: a killed process waits no more.
type runClock struct {
	*clock
	killed *atomic.Bool
}

func (c runClock) Wait(ctx context.Context, d time.Duration) error {
	if c.killed.Load() {
		return errKilled
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.advance(withoutJitter(d))
	return nil
}

// withoutJitter makes a wait that is jittered between half and all of a power of
// two of 500 ms the whole of it, so that a seed repeats exactly.
func withoutJitter(d time.Duration) time.Duration {
	for whole := 500 * time.Millisecond; whole <= 16*time.Second; whole *= 2 {
		if d > whole/2 && d <= whole {
			return whole
		}
	}
	return d
}
