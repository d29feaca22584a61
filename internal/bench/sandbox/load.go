//go:build unix

package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// load has clients call, again and again, until the time is over or a call of
// theirs fails. It returns how long each answered call took, the shortest first,
// and a failure.
func load(ctx context.Context, clients int, call func(context.Context) error) (took []time.Duration, err error) {
	var (
		group errgroup.Group
		mu    sync.Mutex
	)
	until := time.Now().Add(loaded)
	for range clients {
		group.Go(func() error {
			var own []time.Duration
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				took = append(took, own...)
			}()
			for began := time.Now(); began.Before(until); began = time.Now() {
				if err := call(ctx); err != nil {
					return err
				}
				own = append(own, time.Since(began))
			}
			return nil
		})
	}
	err = group.Wait()
	slices.Sort(took)
	return took, err
}

// rate is per second.
func rate(took []time.Duration) int64 { return int64(len(took)) * int64(time.Second) / int64(loaded) }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// p99 is the longest but for one in a hundred, of which the shortest come first.
func p99(all []time.Duration) time.Duration { return all[len(all)*99/100] }
