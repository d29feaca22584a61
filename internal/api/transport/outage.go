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

// longestDelay limits the time for which an outage stops other calls. It also limits the delay before a retry, unless a
// response asks for a longer one.
const longestDelay = 30 * time.Second

// OutageError is a failure that affects other calls, too. For example, the key is refused or the service is not
// reachable. For some time after the first such failure, other calls may fail without being sent.
type OutageError struct {
	Kind  OutageKind
	Cause error // the first failure
	Err   error // this call's own failure; nil if the call was not made

	reported *atomic.Bool
}

// OutageKind says what an OutageError is about.
type OutageKind int

// The kinds of outage.
const (
	noOutage OutageKind = iota
	OutageKeyRefused
	OutageNotReady    // the account is not ready; see NotReadyCode
	OutageUnreachable // the connection fails before the request is sent
	OutageUnavailable // 502 to 504: a gateway says that the service does not respond
	OutageEndpoint    // one endpoint fails with another 5xx or without a complete response
	OutageOtherServer // the responses look like another server's
)

func (k OutageKind) isRefusal() bool { return k == OutageKeyRefused || k == OutageNotReady }

// Error returns the text of the call's own failure, or says that the call was not made because of the first failure.
func (e *OutageError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "not sent, because another request failed for a reason that affects this one too. " + WithoutOperation(e.Cause)
}

func (e *OutageError) Unwrap() error { return e.Err }

// ClaimFirstReport records that the outage is reported. It reports whether the outage was not reported before, with this
// or another error.
func (e *OutageError) ClaimFirstReport() bool { return !e.reported.Swap(true) }

type outage struct {
	kind     OutageKind
	cause    error
	until    time.Time // afterwards, calls are made again, because the outage may be over
	reported atomic.Bool
}

// newError returns the error of a call whose own failure is err. If the call was not made, err is nil.
func (o *outage) newError(err error) error {
	return &OutageError{Kind: o.kind, Cause: o.cause, Err: err, reported: &o.reported}
}

// breaker stops calls that would probably fail for the same reason as an earlier call.
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

// begin returns the number of answers so far, and an error if the call must not be made because of an outage. If
// hasWritten is true, the call makes a change or follows one, so an outage stops it only if the key is refused or the
// account is not ready.
func (b *breaker) begin(call *Call, hasWritten bool) (priorAnswers int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, endpoint := range []string{"", call.endpoint()} { // first look for an outage of all endpoints
		o := b.outages[endpoint]
		if !b.isActive(o) {
			continue
		}
		if hasWritten && !o.kind.isRefusal() {
			continue
		}
		return b.answers, o.newError(nil) // nil, because this call is not made
	}
	return b.answers, nil
}

// recordFailure returns the error of a call whose last attempt failed with f, where priorAnswers is the result of
// begin. If the failure means an outage and no answer has been recorded since begin, it returns an *OutageError, and
// records the outage unless it is already known. The failure of an interrupted call shows no outage.
func (b *breaker) recordFailure(ctx context.Context, call *Call, priorAnswers int, f *failure) error {
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
	// A refusal stops more calls than an outage of another kind, so the two do not count as the same outage.
	known := b.isActive(o) && o.kind.isRefusal() == kind.isRefusal()
	if !known {
		o = &outage{kind: kind, cause: f.err, until: b.clock.Now().Add(longestDelay)}
		b.outages[endpoint] = o
	}
	return o.newError(f.err)
}

func (b *breaker) isActive(o *outage) bool { return o != nil && b.clock.Now().Before(o.until) }

// endpoint returns the method and the path without the card's id.
func (call *Call) endpoint() string {
	return call.Method + strings.Replace(call.Path, url.PathEscape(call.Card), "", 1)
}

// outageKind returns the kind of outage that a failure shows, or noOutage. If the service has never answered, the
// failure may also show that another server answers.
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
// or a path that is not found. A gateway of the service may send such a response, too.
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
	if decided && f.isFromService() {
		const neverAnswered = false // it does not matter for a response from the service
		kind := f.outageKind(neverAnswered)
		return !kind.isRefusal()
	}
	return false
}
