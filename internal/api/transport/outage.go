package transport

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

// longestDelay limits the delay before a retry, unless a response asks for a longer one, and the time for which an
// outage stops other calls. So a call soon notices that the service is available again.
const longestDelay = 30 * time.Second

// OutageError is a failure that affects every other call of the client, too, or every other call to the same
// endpoint. For example, the key is refused, the account is not ready, or the service is not reachable. For
// some time after the first failure, those calls fail at once, with two exceptions. Reads that verify a change are
// always made. Changes, and all calls after a change, fail at once only if the key is refused or the account is not
// ready.
type OutageError struct {
	Kind  OutageKind
	Cause error // the first failure
	Err   error // this call's own failure; nil if the call was not made

	reported *atomic.Bool
}

// OutageKind says why all calls, or all calls to one endpoint, fail.
type OutageKind int

// The kinds of outage.
const (
	noOutage OutageKind = iota
	OutageKeyRefused
	OutageNotReady    // the account is not ready; see NotReadyCode
	OutageUnreachable // no connection is possible
	OutageUnavailable // 502 to 504: a gateway says that the service does not respond
	OutageEndpoint    // one endpoint fails with another 5xx or without a response
	OutageOtherServer // the server has never responded like the service
)

func (k OutageKind) isRefusal() bool { return k == OutageKeyRefused || k == OutageNotReady }

// Error returns the text of the call's own failure, or of the first one.
func (e *OutageError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "not sent, because another request failed for a reason that affects this one too: " + e.Cause.Error()
}

func (e *OutageError) Unwrap() error { return e.Err }

// ClaimFirstReport records that the outage is reported. It reports whether this is the first call on any error of the
// same outage.
func (e *OutageError) ClaimFirstReport() bool { return !e.reported.Swap(true) }

type outage struct {
	kind     OutageKind
	cause    error
	until    time.Time // afterwards, calls are made again, because the outage may be over
	reported atomic.Bool
}

// error returns the error of a call. Its own failure err is nil if the call was not made.
func (o *outage) error(err error) error {
	return &OutageError{Kind: o.kind, Cause: o.cause, Err: err, reported: &o.reported}
}

// breaker stops calls to a service, or to one of its endpoints, that is known to fail all of them.
type breaker struct {
	clock ratelimit.Clock

	mu      sync.Mutex
	answers int                // the number of calls of recordAnswer
	outages map[string]*outage // by endpoint; the outage of "" affects all endpoints
}

// recordAnswer records a response that shows that the service works for this account. It ends all outages.
func (b *breaker) recordAnswer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers++
	b.outages = map[string]*outage{}
}

// begin returns the number of answers so far, which end needs, and an error if the call must not be made because of an
// outage. A call that changes something or follows a change is stopped only if the service refuses all calls.
func (b *breaker) begin(call *Call, hasWritten bool) (priorAnswers int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, endpoint := range []string{call.endpoint(), ""} { // an outage of all endpoints replaces the first error
		o := b.outages[endpoint]
		if b.isActive(o) && (!hasWritten || o.kind.isRefusal()) {
			err = o.error(nil) // nil, because this call is not made
		}
	}
	return b.answers, err
}

// end returns the error of a call whose last attempt failed with f, where priorAnswers is the result of begin. If
// the failure means an outage and no answer has been recorded since begin, it records the outage and returns an
// *OutageError. The failure of an interrupted call shows no outage.
func (b *breaker) end(ctx context.Context, call *Call, priorAnswers int, f *failure) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil || b.answers != priorAnswers {
		return f.err
	}
	neverAnswered := priorAnswers == 0
	kind := f.outageKind(neverAnswered)
	if kind == noOutage {
		return f.err
	}
	endpoint := ""
	if kind == OutageEndpoint {
		endpoint = call.endpoint()
	}
	o := b.outages[endpoint]
	// A refusal stops more calls than an outage of another kind. So the two do not count as the same outage, and the
	// later one replaces the earlier one.
	known := b.isActive(o) && o.kind.isRefusal() == kind.isRefusal()
	if !known {
		o = &outage{kind: kind, cause: f.err, until: b.clock.Now().Add(longestDelay)}
		b.outages[endpoint] = o
	}
	return o.error(f.err)
}

func (b *breaker) isActive(o *outage) bool { return o != nil && b.clock.Now().Before(o.until) }

// endpoint returns the method and the path without the card's id.
func (call *Call) endpoint() string {
	return call.Method + strings.Replace(call.Path, url.PathEscape(call.Card), "", 1)
}

// outageKind returns the kind of outage that a failure shows, or noOutage. If the service has never answered, a
// response that does not look like the service's is taken for another server's.
func (f *failure) outageKind(neverAnswered bool) OutageKind {
	switch {
	case f.status == http.StatusUnauthorized:
		return OutageKeyRefused
	case NotReadyCode(f.err) != "":
		return OutageNotReady
	case f.connectionFailed && f.fate == NotDone:
		return OutageUnreachable
	case f.status >= http.StatusBadGateway && f.status <= http.StatusGatewayTimeout:
		return OutageUnavailable
	case f.connectionFailed, f.status >= 500:
		return OutageEndpoint
	case neverAnswered && f.isFromOtherServer():
		return OutageOtherServer
	}
	return noOutage
}

// isFromOtherServer reports whether a response looks like another server's: a page such as a login form, a redirect,
// or a path that is not found. A gateway of the service may send such a response too, so the result counts only if
// the service has never answered.
func (f *failure) isFromOtherServer() bool {
	if f.status == 0 || f.isFromService() {
		return false
	}
	return f.status < 400 || isMissing(f.status)
}

// isFromService reports whether a response comes from the service itself, possibly with an undocumented shape.
func (f *failure) isFromService() bool {
	_, wrongShape := errors.AsType[*ShapeError](f.err)
	if wrongShape {
		return true
	}
	response, ok := errors.AsType[*Error](f.err)
	return ok && response.Code != ""
}

// isAnswer reports whether the response shows that the service works for this account.
func (f *failure) isAnswer() bool {
	if f.notShown {
		return true
	}
	decided := f.final || f.isRateLimited()
	if !decided || !f.isFromService() {
		return false
	}
	const neverAnswered = false // it makes no difference for a refusal
	kind := f.outageKind(neverAnswered)
	return !kind.isRefusal()
}
