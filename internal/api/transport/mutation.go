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

// Mutation is one change that the service is asked for, in one or several attempts under
// one idempotency key. It is used by one goroutine.
type Mutation struct {
	Attempts int
	SentAt   time.Time // of the last attempt, by the service's clock
	Lost     bool      // it is not known what became of an attempt that was not answered with a 2xx
	// SentBefore says that an earlier run may have sent the change under the same key.
	SentBefore bool

	client    *Client
	call      *Call
	key       string
	caller    context.Context // ends when the run is interrupted
	grace     context.Context // lives on for a while after that
	began     time.Time
	deadline  time.Time
	answers   int // of the service before the first attempt
	retries   int
	conflicts int // attempts that met a conflict
	answered  bool
	last      *failure
}

// Begin prepares a change. An empty key stands for a random one. The caller calls end when
// it knows the outcome of the change, or gives up. The error says why nothing can be sent.
func (c *Client) Begin(ctx context.Context, call *Call, key string) (m *Mutation, end func(), err error) {
	if call.Invalid != nil {
		return nil, nil, call.Invalid
	}
	answers, err := c.breaker.begin(call, true)
	if err != nil {
		return nil, nil, err
	}
	c.written.Store(true)
	grace, end := c.withGrace(Verifying(ctx))
	m = &Mutation{
		client: c, call: call, key: cmp.Or(key, uuid.NewString()), caller: ctx, grace: grace,
		began: c.clock.Now(), deadline: c.Deadline(ctx), answers: answers,
	}
	return m, end, nil
}

// Context is for reads that find out about the change. It lives on for a while after the
// run was interrupted.
func (m *Mutation) Context() context.Context { return m.grace }

// Try makes an attempt, and repeats it by itself if it was certainly not done, because nothing was
// sent or a rate limit was used up. If keys are honoured, it also repeats, under the same key and
// without reading anything first, an attempt whose outcome is unknown. Once an attempt had an unknown
// outcome, no later failure proves that the change was not made: the fate is Unknown.
func (m *Mutation) Try() (Fate, error) {
	if m.last != nil && !m.last.isRateLimited() {
		m.retries++
	}
	for again := true; again; {
		m.Attempts++
		m.SentAt = m.client.ServiceTime()
		failure := m.client.do(m.caller, attempt{
			Call: m.call, key: m.key, number: m.Attempts, sending: m.grace, deadline: m.deadline,
		})
		if failure == nil {
			m.answered = true
			return Done, nil
		}
		m.last = failure
		m.answered = m.answered || failure.answered
		m.Lost = m.Lost || failure.fate == Unknown && !failure.final && !failure.answered
		if failure.status == http.StatusConflict {
			m.conflicts++
		}
		again = m.repeats()
	}
	if m.Lost || m.SentBefore || m.last.fate == Unknown {
		return Unknown, m.last.err
	}
	return NotDone, m.client.breaker.end(m.caller, m.call, m.answers, m.last, m.last.err)
}

// repeats reports whether Try makes another attempt without reading first what the failed one has
// done. If so, it has waited until that attempt may be made.
func (m *Mutation) repeats() bool {
	f := m.last
	if f.final || m.answered {
		return false
	}
	if m.Lost || m.SentBefore {
		return m.client.config.KeysHonoured && m.asksAgain()
	}
	if f.isRateLimited() { // sending waits for the pause
		return !m.pausedTooLong()
	}
	if f.notShown {
		return m.client.clock.Wait(m.caller, shownAgainAfter) == nil
	}
	if f.permanent || m.retries == m.client.config.MaxRetries {
		return false
	}
	m.retries++
	return m.client.backOff(m.caller, m.retries, f.retryAfter) == nil
}

// asksAgain reports whether a request is sent again whose key the service counts once, until
// it is answered, time is over, or asking again has turned out to be of no use.
func (m *Mutation) asksAgain() bool {
	f, now, most := m.last, m.client.clock.Now(), m.client.config.MaxRetries
	if f.permanent || now.After(m.deadline) || m.pausedTooLong() {
		return false
	}
	patient := most > 0 && !f.isRedirect() && now.Sub(m.began) < MaxRetryTime
	if m.retries >= most && !patient {
		return false
	}
	if !f.isRateLimited() {
		m.retries++
	}
	if f.status == http.StatusTooManyRequests { // sending waits for the pause
		return m.caller.Err() == nil
	}
	return m.client.backOff(m.caller, m.retries, f.retryAfter) == nil
}

// pausedTooLong reports whether the service has asked to wait past the call's own time.
func (m *Mutation) pausedTooLong() bool {
	return m.client.limits.PausedUntil(m.call.Budget).After(m.deadline)
}

// Answered reports whether an attempt was answered with a 2xx, be it one that cannot be
// read. Nothing is sent after that.
func (m *Mutation) Answered() bool { return m.answered }

// WaitForCommit waits until a request whose response was lost has taken effect, or never will.
func (m *Mutation) WaitForCommit() error {
	if m.last.isRateLimited() { // the pause waits too
		return nil
	}
	return m.client.clock.Wait(m.grace, CommitWait)
}

// Again reports whether another attempt is allowed once a look has shown that the change is
// not made. It is not if keys are honoured, since Try has then repeated the request itself.
func (m *Mutation) Again() bool {
	if m.client.config.KeysHonoured || m.answered || m.last.final || m.last.permanent || m.caller.Err() != nil {
		return false
	}
	return m.retries < m.client.config.MaxRetries && !m.metConflictsOnly() && !m.pausedTooLong()
}

// metConflictsOnly reports whether every attempt met a conflict. Nothing of this change was
// in flight then, so that the conflict is with the state of things, and lasts.
func (m *Mutation) metConflictsOnly() bool {
	return m.conflicts > 1 && m.conflicts == m.Attempts
}

// GaveUp is the error of a change that a look after the last attempt has shown not to be
// made: the service's refusal where that was its final word, else an *UndecidedError.
func (m *Mutation) GaveUp() error {
	refusal, ok := errors.AsType[*Error](m.last.err)
	if ok && (m.last.final || m.metConflictsOnly() && !m.client.config.KeysHonoured) {
		refusal.AfterLostResponse = true
		return refusal
	}
	return m.Undecided(fmt.Errorf("%w; when it was last verified, it had not taken effect", m.last.err))
}

// Undecided returns the error for a change whose outcome is not known.
func (m *Mutation) Undecided(reason error) error {
	return &UndecidedError{
		Kind: m.call.Kind, Operation: m.call.Operation, Key: m.key, Attempts: m.Attempts, Answered: m.answered, SentAt: m.SentAt, Err: reason,
	}
}

// withGrace returns a context that lives on after ctx has ended, for the attempt that is under
// way, the wait for it to take effect, and a look at what it has done.
func (c *Client) withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
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
