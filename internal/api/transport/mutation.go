package transport

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// Mutation is one requested change. Its attempts have the same idempotency key. It is not safe for concurrent use.
type Mutation struct {
	SentAt time.Time // about when the last attempt was made, by the service's clock
	// Lost reports whether an attempt had an unknown outcome and got neither a 2xx response nor a final one.
	Lost bool
	// SentBefore reports whether an earlier run may have sent the change with the same key. Begin does not set it.
	SentBefore bool

	client    *Client
	call      *Call
	runCtx    context.Context // ends when the run is interrupted
	graceCtx  context.Context // ends some time after runCtx; see withGrace
	beganAt   time.Time
	retries   int
	conflicts int      // attempts with a 409 response
	got2xx    bool     // an attempt got a 2xx response, even one that cannot be decoded
	last      *failure // of the last attempt that failed; nil if none has

	priorAnswers int // the result of breaker.begin
}

// Begin prepares a change. If Begin succeeds, HasWritten reports true, and the caller must call end when it knows the
// outcome of the change or gives up. If key is empty, Begin makes a random one. The error says why nothing can be sent.
func (c *Client) Begin(ctx context.Context, call *Call, key string) (m *Mutation, end func(), err error) {
	if call.Invalid != nil {
		return nil, nil, call.Invalid
	}
	const hasWritten = true // this call is a change
	priorAnswers, err := c.breaker.begin(call, hasWritten)
	if err != nil {
		return nil, nil, err
	}
	c.written.Store(true)
	call.attempts = 0
	call.key = cmp.Or(key, uuid.NewString())
	call.deadline = c.Deadline(ctx)
	graceCtx, end := c.withGrace(Verifying(ctx))
	m = &Mutation{
		client:       c,
		call:         call,
		runCtx:       ctx,
		graceCtx:     graceCtx,
		beganAt:      c.clock.Now(),
		priorAnswers: priorAnswers,
	}
	return m, end, nil
}

// Attempts returns the number of attempts so far.
func (m *Mutation) Attempts() int { return m.call.attempts }

// GraceContext returns the context for reads that verify the change. It remains usable for some time after
// an interruption of the run.
func (m *Mutation) GraceContext() context.Context { return m.graceCtx }

// Try makes an attempt. It may repeat the attempt by itself if the service certainly did nothing, for example because
// a rate limit was exceeded. If keys are honoured, it may also repeat an attempt with an unknown outcome. If an
// earlier attempt or run may have made the change, a failure does not show that nothing was done, so the fate is
// Unknown. Try does not repeat an attempt after a 2xx response. The error is nil if the fate is Done. If the fate is
// NotDone, the error may be an *OutageError.
func (m *Mutation) Try() (Fate, error) {
	// A further Try is a retry, unless a rate limit stopped the last one.
	if m.last != nil && !m.last.isRateLimited() {
		m.retries++
	}
	for {
		// Set the time of an attempt that is not sent. If do sends the request, do sets the time again.
		m.call.sentAt = m.client.ServiceTime()
		f := m.client.do(m.runCtx, m.graceCtx, m.call) // a request that is being sent outlives an interruption
		m.SentAt = m.call.sentAt
		if f == nil {
			m.got2xx = true
			return Done, nil
		}
		m.last = f
		if f.got2xx {
			m.got2xx = true
		} else if f.fate == Unknown && !f.final {
			m.Lost = true
		}
		if f.status == http.StatusConflict {
			m.conflicts++
		}
		if !m.waitToRepeat() {
			break
		}
	}
	if m.mayBeDone() || m.last.fate == Unknown {
		return Unknown, m.last.err
	}
	err := m.client.breaker.recordFailure(m.runCtx, m.call, m.priorAnswers, m.last)
	return NotDone, err
}

// mayBeDone reports whether a lost attempt, or an earlier run with the same key, may have made the change.
func (m *Mutation) mayBeDone() bool { return m.Lost || m.SentBefore }

// waitToRepeat waits until Try may make another attempt, and counts it if it is a retry. It returns false if Try must not
// make one: another attempt may be useless or exceed a limit, the outcome of the failed one may have to be verified
// first, or the run may be interrupted.
func (m *Mutation) waitToRepeat() bool {
	f := m.last
	if f.final || m.got2xx {
		return false
	}
	if m.mayBeDone() {
		if !m.client.config.KeysHonoured { // the outcome has to be verified first
			return false
		}
		return m.waitToRepeatUnknown()
	}
	if f.isRateLimited() { // the next attempt itself waits for the end of the pause
		return !m.pausedTooLong()
	}
	if f.notShown {
		return m.client.clock.Wait(m.runCtx, notShownDelay) == nil
	}
	if f.permanent || m.retries >= m.client.config.MaxRetries {
		return false
	}
	m.retries++
	return m.client.backOff(m.runCtx, m.retries, f.retryAfter) == nil
}

// waitToRepeatUnknown is waitToRepeat if an attempt or an earlier run may have made the change, for a service that
// honours the idempotency key. It may allow more than MaxRetries within MaxRetryTime, to learn the outcome.
func (m *Mutation) waitToRepeatUnknown() bool {
	f := m.last
	if f.permanent {
		return false
	}
	now := m.client.clock.Now()
	if now.After(m.call.deadline) || m.pausedTooLong() {
		return false
	}
	maxRetries := m.client.config.MaxRetries
	if m.retries >= maxRetries {
		if maxRetries <= 0 { // a client that is configured without retries makes none
			return false
		}
		if f.isRedirect() { // a further attempt would probably get the same redirect
			return false
		}
		if now.Sub(m.beganAt) >= MaxRetryTime {
			return false
		}
	}
	// An attempt after the service's own 429 response does not count as a retry. One after a gateway's 429 response
	// counts, because the change may have been made.
	if !f.isRateLimited() {
		m.retries++
	}
	// A 429 response pauses the budget, and the next attempt itself waits for the end of the pause.
	if f.status == http.StatusTooManyRequests {
		return m.runCtx.Err() == nil
	}
	return m.client.backOff(m.runCtx, m.retries, f.retryAfter) == nil
}

// pausedTooLong reports whether the service's rate limit pauses the call until after its deadline.
func (m *Mutation) pausedTooLong() bool {
	until := m.client.limits.PausedUntil(m.call.Budget)
	return until.After(m.call.deadline)
}

// Answered reports whether an attempt got a 2xx response, even one that cannot be decoded. The change must not be sent
// again after such a response.
func (m *Mutation) Answered() bool { return m.got2xx }

// WaitForCommit waits for CommitWait, so that a request whose response was lost can take effect. It returns at once if
// a rate limit stopped the last attempt. The error says that the wait was cancelled.
func (m *Mutation) WaitForCommit() error {
	if m.last.isRateLimited() { // that request did nothing
		return nil
	}
	return m.client.clock.Wait(m.graceCtx, CommitWait)
}

// MayRetry reports whether a further Try is allowed after a read has shown that the change was not made, or if no
// read can show whether it was made. If keys are honoured, it is not allowed, because Try repeats requests itself.
func (m *Mutation) MayRetry() bool {
	if m.client.config.KeysHonoured || m.got2xx {
		return false
	}
	if m.last.final || m.last.permanent {
		return false
	}
	if m.runCtx.Err() != nil || m.retries >= m.client.config.MaxRetries {
		return false
	}
	if m.metConflictsOnly() || m.pausedTooLong() {
		return false
	}
	return true
}

// metConflictsOnly reports whether there were several attempts and each got a 409 response. Then the conflict is
// probably with the state of the card, and not with an earlier attempt that is still running.
func (m *Mutation) metConflictsOnly() bool {
	return m.conflicts > 1 && m.conflicts == m.call.attempts
}

// GiveUpError returns the error for a change that was not visible in a read after the last attempt. If a retry would
// probably get the same error response again, the error is that response, with AfterLostResponse set. Otherwise it is
// an *UndecidedError.
func (m *Mutation) GiveUpError() error {
	// If keys are honoured, a conflict may come from an earlier attempt with the same key.
	refusedByConflict := m.metConflictsOnly() && !m.client.config.KeysHonoured
	final := m.last.final || refusedByConflict
	refusal, ok := errors.AsType[*Error](m.last.err)
	if ok && final {
		refusal.AfterLostResponse = true
		return refusal
	}
	return m.Undecided(m.last.err, errors.New("the last check did not show the change"))
}

// Undecided returns the *UndecidedError for a change that failed with err. The findings say what later reads showed, or
// why they failed.
func (m *Mutation) Undecided(err error, findings ...error) error {
	return &UndecidedError{
		Kind:      m.call.Kind,
		Operation: m.call.Operation,
		Key:       m.call.key,
		Answered:  m.got2xx,
		SentAt:    m.SentAt,
		Err:       err,
		Findings:  findings,
	}
}

// withGrace returns a context that ends some time after ctx. That time allows for the current attempt, a wait until
// it takes effect, and a read. The caller must call the returned function, which ends the context at once.
func (c *Client) withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	grace := c.config.RequestTimeout + CommitWait + c.config.RequestTimeout
	graceCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-ctx.Done():
		case <-graceCtx.Done(): // the caller called end
			return
		}
		select {
		case <-time.After(grace):
			end()
		case <-graceCtx.Done():
		}
	}()
	return graceCtx, end
}
