package provider

import (
	"context"
	"sync/atomic"
)

// callContext is the context of one protocol call. Once the call has ended it is
// cancelled and knows nothing any more, so that who still holds it holds little.
type callContext struct {
	context.Context // ends with the call
	call            atomic.Pointer[context.Context]
}

// newCallContext returns a context with the values and the cancellation of a call's
// own, which has no deadline, and the function that ends it.
func newCallContext(call context.Context) (ctx context.Context, end func()) {
	lifetime, cancel := context.WithCancelCause(context.Background())
	c := &callContext{Context: lifetime}
	c.call.Store(&call)
	stop := context.AfterFunc(call, func() { cancel(context.Cause(call)) })
	return c, func() {
		stop()
		cancel(context.Canceled)
		c.call.Store(nil)
	}
}

func (c *callContext) Value(key any) any {
	// The lifetime has nothing but the key by which context finds what to cancel.
	if value := c.Context.Value(key); value != nil {
		return value
	}
	if call := c.call.Load(); call != nil {
		return (*call).Value(key)
	}
	return nil
}
