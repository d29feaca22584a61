package api

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// exclusive is the weight of a lock that excludes every other; shared lets others
// who share in.
const (
	exclusive int64 = 1 << 30
	shared    int64 = 1
)

// lockTable holds one lock for each name. Waiting for a lock ends with the context, and is
// served in order.
type lockTable struct {
	mu    sync.Mutex
	locks map[string]*semaphore.Weighted
}

// acquire returns the function that gives the lock back.
func (t *lockTable) acquire(ctx context.Context, name string, weight int64) (func(), error) {
	t.mu.Lock()
	lock := t.locks[name]
	if lock == nil {
		lock = semaphore.NewWeighted(exclusive)
		t.locks[name] = lock
	}
	t.mu.Unlock()
	return func() { lock.Release(weight) }, lock.Acquire(ctx, weight)
}
