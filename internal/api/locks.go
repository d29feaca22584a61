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

// lockTable holds one lock for each name that is in use. Waiting for a lock
// ends with the context, and is served in order.
type lockTable struct {
	mu    sync.Mutex
	locks map[string]*namedLock
}

type namedLock struct {
	*semaphore.Weighted
	users int
}

// acquire returns the function that gives the lock back.
func (t *lockTable) acquire(ctx context.Context, name string, weight int64) (func(), error) {
	t.mu.Lock()
	lock := t.locks[name]
	if lock == nil {
		if t.locks == nil {
			t.locks = map[string]*namedLock{}
		}
		lock = &namedLock{Weighted: semaphore.NewWeighted(exclusive)}
		t.locks[name] = lock
	}
	lock.users++
	t.mu.Unlock()

	if err := lock.Acquire(ctx, weight); err != nil {
		t.leave(name, lock)
		return nil, err
	}
	return func() {
		lock.Release(weight)
		t.leave(name, lock)
	}, nil
}

// leave forgets a lock that nobody uses, so that the table does not grow with
// the number of cards.
func (t *lockTable) leave(name string, lock *namedLock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lock.users--
	if lock.users == 0 {
		delete(t.locks, name)
	}
}
