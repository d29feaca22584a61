package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// HookedMutation is one logical operation that changes something.
type HookedMutation struct {
	Kind MutationKind
	Call *Call
	Key  string // idempotency key; empty is a random one
	// verify finds out whether the call took effect; nil when nothing shows it.
	Verify func(context.Context) Outcome
	// alreadyApplied verifies at once after a response that may mean that the
	// wanted state is there all the same; nil when nothing shows that for certain.
	AlreadyApplied func(context.Context) Outcome
	// uncertain says that an earlier run may have made the call under the same key.
	Uncertain bool
}

// Result tells how a mutation was applied.
type Result struct {
	Attempts  int
	Verified  bool // by reading; there is no response
	Uncertain bool // an attempt had an unknown outcome, perhaps of an earlier run
	Lost      bool // an attempt of this run had one
}

// Mutate makes the call under one idempotency key. It never sends again after a lost
// response without waiting and verifying first. Once something is on its way the context's
// end does not keep it from learning the outcome. Its error is an *UndecidedError when that
// could not be learnt; every other error says that nothing was changed.
func (c *Client) Mutate(ctx context.Context, m *HookedMutation) (Result, error) {
	if m.Call.Invalid != nil {
		return Result{}, m.Call.Invalid
	}
	answers, err := c.breaker.begin(m.Call, true)
	if err != nil {
		return Result{}, err
	}
	c.written.Store(true)
	detached, end := c.WithGrace(Verifying(ctx))
	defer end()
	r := &mutationRun{
		client: c, mutation: m, ctx: ctx, detached: detached, waiting: ctx,
		deadline: c.Deadline(ctx), key: cmp.Or(m.Key, uuid.NewString()), began: c.clock.Now(),
	}
	r.Uncertain = m.Uncertain
	for again := true; again; {
		failure := r.attempt()
		if failure == nil {
			break
		}
		var err error
		if again, err = r.follow(failure); err != nil {
			if !r.Uncertain {
				err = c.breaker.end(ctx, m.Call, answers, failure, err)
			}
			return r.Result, err
		}
	}
	return r.Result, nil
}

type mutationRun struct {
	client   *Client
	mutation *HookedMutation
	ctx      context.Context // the caller's
	detached context.Context // ends a while after ctx
	waiting  context.Context // for the limits: ctx until something may be on its way
	deadline time.Time
	key      string
	began    time.Time
	sentAt   time.Time // the last attempt, by the service's clock
	retries  int
	conflict int // attempts that met a conflict
	Result
}

func (r *mutationRun) attempt() *failure {
	r.Attempts++
	r.sentAt = r.client.ServiceTime()
	return r.client.do(r.waiting, attempt{
		Call: r.mutation.Call, key: r.key, number: r.Attempts, sending: r.detached, deadline: r.deadline,
	})
}

func (r *mutationRun) follow(f *failure) (again bool, err error) {
	if f.status == http.StatusConflict {
		r.conflict++
	}
	if r.mutation.AlreadyApplied != nil && f.mayBeApplied() {
		if o := r.mutation.AlreadyApplied(r.detached); o.State == Applied || o.State == Rejected {
			return false, r.end(o, f)
		}
	}
	r.Lost = r.Lost || f.isUnknown()
	switch {
	case f.isKeyRefused() && r.mutation.Kind == MutationMove:
		return false, f.err // the card tells what the key was used for
	case !f.isUnknown() && !f.isKeyRefused() && !r.Uncertain:
		return r.followNotProcessed(f)
	}
	r.waiting, r.Uncertain = r.detached, true
	if f.status == http.StatusCreated && r.mutation.Kind == MutationIssue { // nothing is sent after that
		o := r.waitAndVerify(f)
		if o.State == NotApplied {
			return false, r.undecided(fmt.Errorf("%w; %w", f.err, ErrNotSeen))
		}
		return false, r.end(o, f)
	}
	if r.client.config.KeysHonoured && !f.final {
		return r.followHonoured(f)
	}
	return r.followUnknown(f)
}

// ErrNotSeen says that a card which was issued, as a response tells, is not to be found.
var ErrNotSeen = errors.New("the card that was asked for was looked for, and is not to be seen")

// followHonoured sends again under the same key, which the service counts once,
// until it is answered. When that takes too long, what the service shows decides.
func (r *mutationRun) followHonoured(f *failure) (again bool, err error) {
	if r.givesUpAsking(f) {
		o := Outcome{State: NotApplied}
		if r.mutation.Verify != nil {
			o = r.waitAndVerify(f)
		}
		if o.State == NotApplied {
			return false, r.undecided(fmt.Errorf("%w; when it was last verified, it had not taken effect", f.err))
		}
		return false, r.end(o, f)
	}
	if !f.isRateLimited() {
		r.retries++
	}
	if f.status == http.StatusTooManyRequests { // the pause waits
		return true, nil
	}
	if r.client.backOff(r.detached, r.retries, f.retryAfter) != nil {
		return false, r.undecided(f.err)
	}
	return true, nil
}

// pausedTooLong reports whether the service has asked to wait past the call's own time.
func (r *mutationRun) pausedTooLong() bool {
	return r.client.limits.PausedUntil(r.mutation.Call.Budget).After(r.deadline)
}

// givesUpAsking reports whether a response is not worth asking for once more:
// time is over, or the service gives one that cannot be used again and again.
func (r *mutationRun) givesUpAsking(f *failure) bool {
	asked := r.client.clock.Now().Sub(r.began)
	unusable := isSuccess(f.status) || f.isRedirect()
	switch {
	case f.permanent, r.client.clock.Now().After(r.deadline), r.pausedTooLong():
		return true
	case r.retries < r.client.config.MaxRetries:
		return false
	}
	return r.client.config.MaxRetries == 0 || unusable || asked >= LongestTrying
}

// followNotProcessed follows an attempt that certainly changed nothing, after
// others of which the same is certain.
func (r *mutationRun) followNotProcessed(f *failure) (again bool, err error) {
	if f.isRateLimited() && !r.pausedTooLong() {
		return true, nil
	}
	if f.notShown && r.client.clock.Wait(r.ctx, shownAgainAfter) == nil {
		return true, nil
	}
	if !f.isUnsent() || f.permanent || r.retries == r.client.config.MaxRetries {
		return false, f.err
	}
	r.retries++
	if r.client.backOff(r.ctx, r.retries, f.retryAfter) != nil {
		return false, f.err
	}
	return true, nil
}

// followUnknown gives a lost request the time to take effect, or to be dropped,
// and then verifies.
func (r *mutationRun) followUnknown(f *failure) (again bool, err error) {
	if f.permanent && r.mutation.Verify == nil { // it would be done again, to no more avail
		return false, r.undecided(f.err)
	}
	switch o := r.waitAndVerify(f); {
	case o.State != NotApplied:
		return false, r.end(o, f)
	case f.isKeyRefused() && r.mutation.Kind == MutationIssue:
		return false, r.undecided(fmt.Errorf("%w; but what it did is not to be seen", f.err))
	// Nothing of ours was in flight when every attempt met a conflict, so the
	// conflict is with the state of things and lasts.
	case f.final, r.conflict > 1 && r.conflict == r.Attempts:
		if r.mutation.Verify == nil {
			return false, r.undecided(f.err)
		}
		if refused, ok := errors.AsType[*Error](f.err); ok {
			refused.AfterLostResponse = true
		}
		return false, f.err
	case r.ctx.Err() != nil, r.retries == r.client.config.MaxRetries, r.pausedTooLong():
		if r.mutation.Verify == nil {
			return false, r.undecided(f.err)
		}
		return false, r.undecided(fmt.Errorf("%w; when it was last verified, %s after the last attempt, it had not taken effect", f.err, CommitWait))
	}
	if !f.isRateLimited() {
		r.retries++
	}
	return true, nil
}

func (r *mutationRun) waitAndVerify(f *failure) Outcome {
	if !f.isRateLimited() { // the pause waits too
		if err := r.client.clock.Wait(r.detached, CommitWait); err != nil {
			return Outcome{State: Undecided, Reason: err}
		}
	}
	if r.mutation.Verify == nil {
		return Outcome{State: NotApplied}
	}
	return r.mutation.Verify(r.detached)
}

func (r *mutationRun) end(o Outcome, f *failure) error {
	switch o.State {
	case Applied:
		r.Verified = true
		return nil
	case Rejected:
		return fmt.Errorf("%w; %w", o.Reason, f.err)
	default:
		return r.undecided(fmt.Errorf("%w; verifying did not decide it: %w", f.err, o.Reason))
	}
}

func (r *mutationRun) undecided(err error) error {
	return &UndecidedError{Kind: r.mutation.Kind, Operation: r.mutation.Call.Operation, Key: r.key, Attempts: r.Attempts, SentAt: r.sentAt, Err: err}
}

// mayBeApplied reports whether a service may answer so when it is asked to do again
// what is done, or a gateway when it was done. A 2xx may be in words of its own.
func (f *failure) mayBeApplied() bool {
	return isSuccess(f.status) || f.status/100 == 4 && f.status != http.StatusUnauthorized && f.status != http.StatusTooManyRequests && NotReadyCode(f.err) == ""
}

// WithGrace returns a context that lives on after ctx has ended, for an attempt, the wait
// and the verification.
func (c *Client) WithGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	grace := 2*c.config.RequestTimeout + CommitWait
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(detached, func() { timer.Stop() })
	})
	return detached, func() {
		stop()
		cancel()
	}
}

// Outcome is what verifying tells about a mutation whose response was lost.
type Outcome struct {
	State  OutcomeState
	Reason error // why it was rejected, or is undecided
}

// OutcomeState is what is known of a mutation.
type OutcomeState int

// What can be known of one.
const (
	Undecided  OutcomeState = iota // it cannot be told
	NotApplied                     // it may be sent again
	Applied
	Rejected // it was not applied, and cannot be
)

// NotFoundOutcome is the outcome of a mutation of an object that could not be
// read: one that is not there rejects it.
func NotFoundOutcome(err error) Outcome {
	if IsNotFound(err) {
		return Outcome{State: Rejected, Reason: err}
	}
	return Outcome{State: Undecided, Reason: err}
}

func (f *failure) isUnknown() bool { return f.fate == Unknown && !f.final }

func (f *failure) isKeyRefused() bool { return f.fate == Unknown && f.final }

func (f *failure) isUnsent() bool { return f.fate == NotDone && !f.final && !f.isRateLimited() }
