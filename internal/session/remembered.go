package session

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/singleflight"
)

// remembered keeps the first successful answer. Who asks while another does
// shares its answer, failures included; after a failure it is asked again.
type remembered[T any] struct {
	asking singleflight.Group
	answer atomic.Pointer[T]
}

// get waits no longer than ctx allows. When the one who asked was interrupted,
// another who still waits asks in its place.
func (r *remembered[T]) get(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	for {
		if known := r.answer.Load(); known != nil {
			return *known, nil
		}
		asked := r.asking.DoChan("", func() (any, error) {
			value, err := ask(ctx)
			if err == nil {
				r.answer.Store(&value)
			}
			return value, err
		})
		select {
		case result := <-asked:
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
