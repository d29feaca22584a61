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
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := table.acquire(ended, "card_1", shared); err == nil {
			t.Error("a lock was given twice")
		}
	})
	for range 20 {
		wg.Go(func() {
			again, err := table.acquire(t.Context(), "card_1", shared)
			if err != nil {
				t.Error(err)
				return
			}
			again()
		})
	}
	end()
	release()
	wg.Wait()
	if n := len(table.locks); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}
