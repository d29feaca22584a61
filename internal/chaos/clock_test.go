//go:build unix

package chaos_test

import (
	"context"
	"errors"
	"math/bits"
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

// Wait lets time pass. What is drawn at random, between half and all of a power of two
// of 500 ms, is all of it, so that a seed repeats exactly.
func (c runClock) Wait(ctx context.Context, d time.Duration) error {
	if c.killed.Load() {
		return errKilled
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	const unit = 500 * time.Millisecond
	c.advance(unit << bits.Len64(uint64((d-1)/unit)))
	return nil
}
