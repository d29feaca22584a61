package wire

import (
	"context"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/fault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/limit"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/quirk"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// conditions are what the control calls have arranged for a call. For a control
// call itself there are only quirks.
type conditions struct {
	quirks quirk.Quirks
	limits limit.Limits
	fault  *fault.Fault
}

// respond never fails: what cannot be answered otherwise is a 500.
func (s *Server) respond(ctx context.Context, x *exchange) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			s.Logger.Error("a handler panicked", "request", x.id, "panic", p, "stack", string(debug.Stack()))
			a = internalError(x).answer()
		}
	}()
	if err := s.prepare(ctx, x); err != nil {
		return s.refuse(x, err)
	}
	if !x.isAPI() {
		return s.answer(ctx, x)
	}
	if x.quirks.Idempotency == quirk.Conflict {
		release, err := s.claim(x)
		if err != nil {
			return s.refuse(x, err)
		}
		defer release()
	}
	return s.strike(ctx, x)
}

// prepare reads the conditions, and takes the fault that is meant for the call.
func (s *Server) prepare(ctx context.Context, x *exchange) error {
	err := s.DB.Read(ctx, func(tx *store.Tx) (err error) {
		if x.quirks, err = quirk.Read(tx); err != nil || !x.isAPI() {
			return err
		}
		if x.limits, err = limit.Read(tx); err != nil {
			return err
		}
		if _, err = x.identify(tx); err != nil {
			return err
		}
		x.fault, err = fault.Find(tx, x.request.Method, x.path())
		return err
	})
	if err != nil || x.fault == nil {
		return err
	}
	return s.DB.Write(ctx, func(tx *store.Tx) (err error) {
		x.fault, err = fault.Take(tx, x.request.Method, x.path())
		return err
	})
}

// strike answers a call, with the fault that was ordered for it.
func (s *Server) strike(ctx context.Context, x *exchange) answer {
	f := x.fault
	if f == nil {
		return s.answer(ctx, x)
	}
	var a answer
	if f.When == fault.After {
		a = s.answer(ctx, x)
	}
	if !s.delay(f.Delay()) {
		return answer{cut: dropped}
	}
	// A service whose caller has gone away meanwhile still does what it was
	// asked: that is the late commit which a client has to reckon with.
	ctx = context.WithoutCancel(ctx)
	switch f.Then.Word {
	case fault.Drop:
		return answer{cut: dropped}
	case fault.Truncate:
		if f.When == fault.Before {
			a = answer{status: http.StatusOK, body: []byte(`{"data":[],"page":1}`)}
		}
		a.cut = truncated
		return a
	case fault.Pass:
		if f.When == fault.Before {
			return s.answer(ctx, x)
		}
		return a
	}
	return ordered(f.Then)
}

// ordered is a fault's own answer. A body that is a text is sent as it is, as
// from something between the service and its caller.
func ordered(t fault.Then) answer {
	if t.Body == nil {
		e := &Error{Status: t.Status, Code: codeInjectedFault, Message: "this answer was ordered with POST /_sandbox/faults"}
		return e.answer()
	}
	a := answer{status: t.Status, body: t.Body}
	if text, ok := plainText(t.Body); ok {
		a.body, a.contentType = []byte(text), textType
	}
	return a
}

// delay tells whether the service is still there afterwards.
func (s *Server) delay(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.Closing:
		return false
	}
}

// admit counts a call towards the limits of its key, or refuses it.
func (s *Server) admit(ctx context.Context, x *exchange) error {
	if x.account.ID == 0 || !x.limits.Apply(x.route.Class) {
		return nil
	}
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		wait, err := x.limits.Admit(tx, x.account.ID, x.route.Class)
		if err == nil && wait > 0 {
			return rateLimited(wait)
		}
		return err
	})
}
