package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// mutation is one logical operation that changes something.
type mutation struct {
	kind MutationKind
	call *call
	key  string // idempotency key; empty is a random one
	// verify finds out whether the call took effect; nil when nothing shows it.
	verify func(context.Context) outcome
	// alreadyApplied verifies at once after a response that may mean that the
	// wanted state is there all the same; nil when nothing shows that for certain.
	alreadyApplied func(context.Context) outcome
	// uncertain says that an earlier run may have made the call under the same key.
	uncertain bool
}

// result tells how a mutation was applied.
type result struct {
	attempts  int
	verified  bool // by reading; there is no response
	uncertain bool // an attempt had an unknown outcome, perhaps of an earlier run
	lost      bool // an attempt of this run had one
}

// mutate makes the call under one idempotency key. It never sends again after a
// lost response without waiting and verifying first. Once something is on its
// way the context's end does not keep it from learning the outcome, so that an
// interruption loses nothing. Its error is an *UndecidedError when it could not
// be learnt; every other error says that nothing was changed.
func (c *Client) mutate(ctx context.Context, m *mutation) (result, error) {
	answers, err := c.breaker.begin(true)
	if err != nil {
		return result{}, err
	}
	c.written.Store(true)
	// After an interruption there is time for the attempt, the wait and the verification.
	detached, end := withGrace(verifying(ctx), 2*c.config.RequestTimeout+c.config.CommitWait)
	defer end()
	r := &mutationRun{
		client: c, mutation: m, ctx: ctx, detached: detached, waiting: ctx,
		deadline: c.deadline(ctx), key: cmp.Or(m.key, uuid.NewString()), began: c.clock.Now(),
	}
	r.uncertain = m.uncertain
	for again := true; again; {
		failure := r.attempt()
		if failure == nil {
			break
		}
		var err error
		if again, err = r.follow(failure); err != nil {
			if !r.uncertain {
				err = c.breaker.end(ctx, answers, failure, err)
			}
			return r.result, err
		}
	}
	return r.result, nil
}

// mutationRun is a mutation on its way to its outcome.
type mutationRun struct {
	client   *Client
	mutation *mutation
	ctx      context.Context // the caller's
	detached context.Context // ends a while after ctx
	waiting  context.Context // for the limits: ctx until something may be on its way
	deadline time.Time
	key      string
	began    time.Time
	sentAt   time.Time // the last attempt, by the service's clock
	retries  int
	conflict int // attempts that met a conflict
	result
}

func (r *mutationRun) attempt() *failure {
	r.attempts++
	r.sentAt = r.client.serviceTime()
	return r.client.do(r.waiting, attempt{
		call: r.mutation.call, key: r.key, number: r.attempts, sending: r.detached, deadline: r.deadline,
	})
}

// follow decides what follows from a failed attempt: another one, or the end.
func (r *mutationRun) follow(f *failure) (again bool, err error) {
	if f.status == http.StatusConflict {
		r.conflict++
	}
	if r.mutation.alreadyApplied != nil && f.mayBeApplied() {
		if o := r.mutation.alreadyApplied(r.detached); o.state == applied || o.state == rejected {
			return false, r.end(o, f)
		}
	}
	r.lost = r.lost || f.meaning == unknown
	switch {
	case f.meaning == keyRefused && r.mutation.kind == MutationMove:
		return false, f.err // the card tells what the key was used for
	case f.meaning == keyRefused:
		r.uncertain = true
	case f.meaning != unknown && !r.uncertain:
		return r.followNotProcessed(f)
	}
	r.waiting = r.detached
	if f.status == http.StatusCreated && r.mutation.kind == MutationIssue {
		r.uncertain = true
		return false, r.followCreated(f)
	}
	if r.client.config.KeysHonoured && f.meaning != refused && f.meaning != keyRefused {
		r.uncertain = true
		return r.followHonoured(f)
	}
	r.uncertain = true
	return r.followUnknown(f)
}

var errNotSeen = errors.New("the card that was asked for was looked for, and is not to be seen")

// followCreated looks for the card of a response that says that one was issued, and
// cannot be taken for it. Nothing is sent after such a response.
func (r *mutationRun) followCreated(f *failure) error {
	o := r.waitAndVerify(f)
	if o.state == notApplied {
		return r.undecided(fmt.Errorf("%w; %w", f.err, errNotSeen))
	}
	return r.end(o, f)
}

// followHonoured sends again under the same key, which the service counts once,
// until it is answered. When that takes too long, what the service shows decides.
func (r *mutationRun) followHonoured(f *failure) (again bool, err error) {
	if r.givesUpAsking(f) {
		o := outcome{state: notApplied}
		if r.mutation.verify != nil {
			o = r.waitAndVerify(f)
		}
		if o.state == notApplied {
			return false, r.undecided(fmt.Errorf("%w; when it was last verified, it had not taken effect", f.err))
		}
		return false, r.end(o, f)
	}
	if f.meaning != rateLimited {
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
	return r.client.limits.PausedPast(r.mutation.call.budget, r.deadline)
}

// givesUpAsking reports whether a response is not worth asking for once more:
// time is over, or the service gives one that cannot be used again and again.
func (r *mutationRun) givesUpAsking(f *failure) bool {
	asked := r.client.clock.Now().Sub(r.began)
	unusable := f.status >= 200 && f.status < 300 || f.isRedirect()
	switch {
	case f.permanent, r.client.clock.Now().After(r.deadline), r.pausedTooLong():
		return true
	case r.retries < r.client.config.MaxRetries:
		return false
	}
	return r.client.config.MaxRetries == 0 || unusable || asked >= longestTrying
}

// followNotProcessed follows an attempt that certainly changed nothing, after
// others of which the same is certain.
func (r *mutationRun) followNotProcessed(f *failure) (again bool, err error) {
	if f.meaning == rateLimited && !r.pausedTooLong() {
		return true, nil
	}
	if f.notShown && r.client.clock.Wait(r.ctx, shownAgainAfter) == nil {
		return true, nil
	}
	if f.meaning != notSent || f.permanent || r.retries == r.client.config.MaxRetries {
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
	if f.permanent && r.mutation.verify == nil { // it would be done again, to no more avail
		return false, r.undecided(f.err)
	}
	switch o := r.waitAndVerify(f); {
	case o.state != notApplied:
		return false, r.end(o, f)
	case f.meaning == keyRefused && r.mutation.kind == MutationIssue:
		return false, r.undecided(fmt.Errorf("%w; but what it did is not to be seen", f.err))
	// Nothing of ours was in flight when every attempt met a conflict, so the
	// conflict is with the state of things and lasts.
	case f.meaning == refused, f.meaning == keyRefused, r.conflict > 1 && r.conflict == r.attempts:
		if r.mutation.verify != nil {
			return false, f.afterLostResponse()
		}
		return false, r.undecided(f.err)
	case r.ctx.Err() != nil, r.retries == r.client.config.MaxRetries, r.pausedTooLong():
		if r.mutation.verify == nil {
			return false, r.undecided(f.err)
		}
		return false, r.undecided(fmt.Errorf("%w; when it was last verified, %s after the last attempt, it had not taken effect", f.err, r.client.config.CommitWait))
	}
	if f.meaning != rateLimited {
		r.retries++
	}
	return true, nil
}

func (r *mutationRun) waitAndVerify(f *failure) outcome {
	if f.meaning != rateLimited { // the pause waits too
		if err := r.client.clock.Wait(r.detached, r.client.config.CommitWait); err != nil {
			return outcome{undecided, err}
		}
	}
	if r.mutation.verify == nil {
		return outcome{state: notApplied}
	}
	return r.mutation.verify(r.detached)
}

// end turns a verified outcome into the mutation's.
func (r *mutationRun) end(o outcome, f *failure) error {
	switch o.state {
	case applied:
		r.verified = true
		return nil
	case rejected:
		return fmt.Errorf("%w; %w", o.reason, f.err)
	default:
		return r.undecided(fmt.Errorf("%w; verifying did not decide it: %w", f.err, o.reason))
	}
}

func (r *mutationRun) undecided(err error) error {
	return &UndecidedError{Kind: r.mutation.kind, Operation: r.mutation.call.operation, Key: r.key, Attempts: r.attempts, SentAt: r.sentAt, Err: err}
}

// mayBeApplied reports whether a service may answer so when it is asked to do again
// what is done, or a gateway when it was done. A 2xx may be in words of its own.
func (f *failure) mayBeApplied() bool {
	return f.status >= 200 && f.status < 300 || f.status >= 400 && f.status < 500 && f.status != http.StatusUnauthorized && f.status != http.StatusTooManyRequests && NotReadyCode(f.err) == ""
}

// withGrace returns a context that lives on for a while after ctx has ended.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
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

// outcome is what verifying tells about a mutation whose response was lost.
type outcome struct {
	state  outcomeState
	reason error // why it was rejected, or is undecided
}

type outcomeState int

const (
	undecided  outcomeState = iota // it cannot be told
	notApplied                     // it may be sent again
	applied
	rejected // it was not applied, and cannot be
)

// notFoundOutcome is the outcome of a mutation of an object that could not be
// read: one that is not there rejects it.
func notFoundOutcome(err error) outcome {
	if IsNotFound(err) {
		return outcome{rejected, err}
	}
	return outcome{undecided, err}
}
