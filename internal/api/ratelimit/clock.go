package ratelimit

import (
	"context"
	"time"
)

// Clock tells the time and waits. Tests inject one so that they need not wait.
type Clock interface {
	// Now returns the present time.
	Now() time.Time
	// Wait returns nil after d, or the context's error as soon as it ends.
	Wait(ctx context.Context, d time.Duration) error
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the machine's time.
func (SystemClock) Now() time.Time { return time.Now() }

// Wait waits in real time.
func (SystemClock) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
