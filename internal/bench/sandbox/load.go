//go:build unix

package main

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// load has all clients call, again and again, until the time is over or a call
// of theirs fails. It returns how many calls were answered, and a failure.
func load(ctx context.Context, call func(context.Context) error) (answered int64, err error) {
	var (
		group errgroup.Group
		count atomic.Int64
	)
	until := time.Now().Add(loaded)
	for range clients {
		group.Go(func() error {
			for time.Now().Before(until) {
				if err := call(ctx); err != nil {
					return err
				}
				count.Add(1)
			}
			return nil
		})
	}
	err = group.Wait()
	return count.Load(), err
}

// rate is per second.
func rate(answered int64) int64 { return answered * int64(time.Second) / int64(loaded) }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
