//go:build unix

package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// load has all clients call, again and again, until the time is over or a call
// of theirs fails. It returns how many calls were answered, and a failure.
func load(ctx context.Context, call func(context.Context) error) (answered int64, err error) {
	var (
		group  sync.WaitGroup
		count  atomic.Int64
		failed = make(chan error, clients)
	)
	until := time.Now().Add(loaded)
	for range clients {
		group.Go(func() {
			for time.Now().Before(until) {
				if err := call(ctx); err != nil {
					failed <- err
					return
				}
				count.Add(1)
			}
		})
	}
	group.Wait()
	close(failed)
	return count.Load(), <-failed
}

// rate is per second.
func rate(answered int64) int64 { return answered * int64(time.Second) / int64(loaded) }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
