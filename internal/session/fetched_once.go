package session

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// fetchedOnce is a value that is fetched when it is first needed. Callers that
// come meanwhile wait for the same value, errors included; after an error the
// next one fetches again.
type fetchedOnce[T any] struct {
	fetching singleflight.Group
	value    atomic.Pointer[T]
}

// get waits no longer than ctx allows. When the caller that fetches was
// interrupted, another that still waits fetches in its place.
func (f *fetchedOnce[T]) get(ctx context.Context, fetch func(context.Context) (T, error)) (T, error) {
	for {
		if known := f.value.Load(); known != nil {
			return *known, nil
		}
		fetched := f.fetching.DoChan("", func() (_ any, err error) {
			defer crash.Catch(&err)
			value, err := fetch(ctx)
			if err == nil {
				f.value.Store(&value)
			}
			return value, err
		})
		select {
		case result := <-fetched:
			if errors.Is(result.Err, context.Canceled) && ctx.Err() == nil {
				continue
			}
			value, _ := result.Val.(T)
			return value, result.Err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}
