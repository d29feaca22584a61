package api

import (
	"context"
	"sync"
	"testing"
)

func TestLocksThatNobodyUsesAreForgotten(t *testing.T) {
	t.Parallel()
	table := lockTable{}
	release, err := table.acquire(t.Context(), "card_1", exclusive)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := table.acquire(ended, "card_1", shared); err == nil {
		t.Error("a lock was given twice")
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if again, err := table.acquire(t.Context(), "card_1", shared); err == nil {
				again()
			}
		})
	}
	release()
	wg.Wait()
	if n := len(table.locks); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}
