package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// verdict is what looking tells about a call whose answer was lost.
type verdict int

const (
	notDone  verdict = iota // it did not take effect and may be sent again
	done                    // it took effect
	hopeless                // it did not and cannot; the error says why
)

// change is one logical operation that changes something.
type change struct {
	call *call
	// look finds out whether the call took effect; nil when nothing shows it.
	// With notDone, an error means that it cannot be told.
	look func(ctx context.Context) (verdict, error)
	// already looks at once after a refusal that may mean that the wanted state
	// was there before the call; nil when there is no such state.
	already func(ctx context.Context) (verdict, error)
}

// changed tells how a change came to its end.
type changed struct {
	key    string
	tries  int
	sent   time.Time // the last try, by the client's clock
	seen   bool      // settled by looking; there is no answer
	doubts bool      // at least one try had an unknown outcome
}

// doubtError is how change ends when the outcome is not known.
type doubtError struct{ error }

func (e *doubtError) Unwrap() error { return e.error }

// change makes the call under one idempotency key. It never sends again after a
// lost answer without waiting and looking first. Once something is on its way
// the context's end does not stop it from learning the outcome, so that an
// interruption loses nothing. Its error is a *doubtError when that failed;
// every other error says that nothing was changed.
func (c *Client) change(ctx context.Context, m *change) (changed, error) {
	c.written.Store(true)
	deadline := c.deadline(ctx)
	// After an interruption there is time for the try, the wait and the look.
	lasting, end := outlast(ctx, 2*c.requestTime+c.settleWait)
	defer end()

	state := changed{key: uuid.NewString()}
	waiting := ctx
	conflicts := 0
	for retries := 0; ; {
		state.tries++
		state.sent = c.clock.Now()
		f := c.exchange(waiting, lasting, m.call, state.key, state.tries, deadline)
		if f == nil {
			return state, nil
		}
		if f.status == http.StatusConflict {
			conflicts++
		}
		if m.already != nil && mayMeanDone(f.status) {
			switch v, err := m.already(lasting); v {
			case done:
				state.seen = true
				return state, nil
			case hopeless:
				return state, fmt.Errorf("%w; %w", err, f.err)
			case notDone:
			}
		}
		if !state.doubts && f.class != unknown {
			switch {
			case f.class == rateLimited && !c.limits.pausedPast(deadline):
				continue
			case f.class != notSent, f.permanent, retries == c.maxRetries:
				return state, f.err
			}
			retries++
			if c.backOff(ctx, retries, 0) != nil {
				return state, f.err
			}
			continue
		}

		state.doubts = true
		waiting = lasting
		v, err := c.waitAndLook(lasting, m, f)
		// Nothing of ours was in flight when every try met a conflict, so the
		// conflict is with the state of things and lasts.
		lasts := f.class == refused || conflicts > 1 && conflicts == state.tries
		switch {
		case v == done:
			state.seen = true
			return state, nil
		case v == hopeless:
			return state, fmt.Errorf("%w; %w", err, f.err)
		case err != nil:
			return state, &doubtError{fmt.Errorf("%w; looking did not settle it: %w", f.err, err)}
		case lasts && m.look != nil:
			return state, f.err
		case lasts, ctx.Err() != nil, retries == c.maxRetries, c.limits.pausedPast(deadline):
			return state, &doubtError{f.err}
		case f.class != rateLimited:
			retries++
		}
	}
}

// waitAndLook gives a lost request the time to take effect, or to be dropped.
func (c *Client) waitAndLook(ctx context.Context, m *change, f *failure) (verdict, error) {
	if f.class != rateLimited { // the pause waits too
		if err := c.clock.Wait(ctx, c.settleWait); err != nil {
			return notDone, err
		}
	}
	if m.look == nil {
		return notDone, nil
	}
	return m.look(ctx)
}

// mayMeanDone lists how services refuse to do again what is done.
func mayMeanDone(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// outlast returns a context that lives on for a while after ctx has ended.
func outlast(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(lasting, func() { timer.Stop() })
	})
	return lasting, func() {
		stop()
		cancel()
	}
}

// unknownOutcome is the error of a change that ended in doubt; other errors
// pass as they are.
func unknownOutcome(x *call, state changed, err error, advice string) error {
	doubt, ok := errors.AsType[*doubtError](err)
	if !ok {
		return err
	}
	return &UnknownOutcomeError{Operation: x.operation, Key: state.key, Tries: state.tries, Err: doubt.error, Advice: advice}
}
