package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// OutageError is a failure that every other call of the client would meet as
// well: the key is refused, the account is not ready, or the service does not
// answer. Once that is certain, further calls fail with it at once for a while,
// except those that find out about a change that is under way.
type OutageError struct {
	Kind  OutageKind
	Cause error // the failure that was met first
	Err   error // this call's own failure; nil when the call was not made

	told *atomic.Bool
}

// OutageKind is what keeps every call from succeeding.
type OutageKind int

// The kinds of outage.
const (
	OutageKeyRefused  OutageKind = iota
	OutageNotReady               // the account; see NotReadyCode
	OutageUnreachable            // no response comes
	OutageServerError            // 5xx
	OutageOtherServer            // what answers has never spoken like the service
)

// isRefusal reports whether the service processes no change either.
func (k OutageKind) isRefusal() bool { return k == OutageKeyRefused || k == OutageNotReady }

// Error is that of the call, or of the one that found the outage.
func (e *OutageError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "not tried, since another call has failed for what concerns all: " + e.Cause.Error()
}

func (e *OutageError) Unwrap() error { return e.Err }

// TellInFull reports true once for all errors of the same outage, to the first
// who asks.
func (e *OutageError) TellInFull() bool { return !e.told.Swap(true) }

type outage struct {
	kind    OutageKind
	cause   error
	until   time.Time
	certain bool // by what it is, or by a second call
	told    atomic.Bool
}

func (o *outage) error(err error) error {
	return &OutageError{Kind: o.kind, Cause: o.cause, Err: err, told: &o.told}
}

// health is what a client knows of the service as a whole.
type health struct {
	clock Clock

	mu      sync.Mutex
	works   bool          // the last call was answered
	answers int           // responses so far
	probe   chan struct{} // closed when the only call that may find out has ended
	outage  *outage
}

// visit is a call's part in what is known of the service.
type visit struct {
	answers    int // before it
	probe      chan struct{}
	confirming bool // another call has failed as often as it may be tried
}

// answered notes a response that shows the service at work for this account.
func (h *health) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.works, h.outage = true, nil
	h.answers++
}

// visit begins a call that is made whatever others have met.
func (h *health) visit() visit {
	h.mu.Lock()
	defer h.mu.Unlock()
	return visit{answers: h.answers}
}

// enter begins a read. As long as it is not known whether the service answers,
// one goes ahead and the others wait for it, but for eager ones.
func (h *health) enter(ctx context.Context, eager bool) (visit, error) {
	for {
		h.mu.Lock()
		v, probe := visit{answers: h.answers, confirming: h.isOut()}, h.probe
		switch {
		case h.isOut() && h.outage.certain:
			defer h.mu.Unlock()
			return v, h.outage.error(nil)
		case h.works, eager:
			probe = nil
		case probe == nil:
			h.probe = make(chan struct{})
			v.probe = h.probe
		}
		h.mu.Unlock()
		if probe == nil {
			return v, nil
		}
		select {
		case <-probe:
		case <-ctx.Done():
			return v, nil // the call itself says so
		}
	}
}

// refuses returns an error while the service is known to refuse every change.
func (h *health) refuses() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isOut() && h.outage.kind.isRefusal() {
		return h.outage.error(nil)
	}
	return nil
}

// leave ends a call that failed with err after its last attempt f, or succeeded
// when that is nil. It returns the error, as an *OutageError where that is what
// it is.
func (h *health) leave(ctx context.Context, v visit, f *failure, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.probe != nil {
		h.probe = nil
		close(v.probe)
	}
	if f == nil || ctx.Err() != nil || h.answers != v.answers {
		return err
	}
	kind, concernsAll := f.outageKind(h.answers == 0)
	switch {
	case !concernsAll:
		return err
	case h.isOut() && h.outage.kind.isRefusal() == kind.isRefusal():
		h.outage.certain = true
	default:
		h.outage = &outage{kind: kind, cause: err, certain: kind.isRefusal() || f.lost && f.meaning == notSent}
	}
	h.works, h.outage.until = false, h.clock.Now().Add(outageLifetime)
	return h.outage.error(err)
}

func (h *health) isOut() bool { return h.outage != nil && h.clock.Now().Before(h.outage.until) }

// outageKind says why other calls would fail like this one, which was tried as
// often as it may be; false when they might not. From what has never answered
// yet, any response but the service's own is another server's.
func (f *failure) outageKind(neverAnswered bool) (OutageKind, bool) {
	switch {
	case f.status == http.StatusUnauthorized:
		return OutageKeyRefused, true
	case NotReadyCode(f.err) != "":
		return OutageNotReady, true
	case f.lost:
		return OutageUnreachable, true
	case f.status >= 500:
		return OutageServerError, true
	case neverAnswered && f.status != 0 && !f.isFromService() && (f.status < 400 || isMissing(f.status)):
		return OutageOtherServer, true
	}
	return 0, false
}

// isFromService reports whether a response is in the service's own words, be it
// in another shape than documented.
func (f *failure) isFromService() bool {
	_, ofAnotherShape := errors.AsType[*ShapeError](f.err)
	response, ok := errors.AsType[*Error](f.err)
	return ofAnotherShape || ok && response.Code != ""
}

// isAnswer reports whether a response, or nil for a success, shows the service at
// work for this account.
func (f *failure) isAnswer() bool {
	if f == nil || f.notShown {
		return true
	}
	kind, concernsAll := f.outageKind(false)
	return (f.meaning == refused || f.meaning == keyRefused || f.meaning == rateLimited) && f.isFromService() && !(concernsAll && kind.isRefusal())
}
