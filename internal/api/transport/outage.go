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

// OutageError is a failure that every other call of the client would meet as well: the key is
// refused, the account is not ready, or the service is not there; or, where an endpoint fails
// by itself, every other call of that. Once that is certain, those calls fail with it at once
// for a while, except those that find out about a change that is under way.
type OutageError struct {
	Kind  OutageKind
	Cause error // the failure that was met first
	Err   error // this call's own failure; nil when the call was not made

	reported *atomic.Bool
}

// OutageKind is what keeps every call from succeeding.
type OutageKind int

// The kinds of outage.
const (
	noOutage OutageKind = iota
	OutageKeyRefused
	OutageNotReady    // the account; see NotReadyCode
	OutageUnreachable // no connection can be made
	OutageUnavailable // 502 to 504: what answers says that the service does not
	OutageEndpoint    // another 5xx, or no response: of one endpoint
	OutageOtherServer // what answers has never spoken like the service
)

func (k OutageKind) isRefusal() bool { return k == OutageKeyRefused || k == OutageNotReady }

// Error is that of the call, or of the one that found the outage.
func (e *OutageError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "not tried, since another call has failed for what concerns this one too: " + e.Cause.Error()
}

func (e *OutageError) Unwrap() error { return e.Err }

// IsFirstReport reports true once for all errors of the same outage, to the first who asks.
func (e *OutageError) IsFirstReport() bool { return !e.reported.Swap(true) }

type outage struct {
	kind     OutageKind
	cause    error
	until    time.Time // all that is under way is spared; what is tried later may be mended
	reported atomic.Bool
}

func (o *outage) error(err error) error {
	return &OutageError{Kind: o.kind, Cause: o.cause, Err: err, reported: &o.reported}
}

// breaker keeps calls from a service, or an endpoint, that is known to fail all of them.
type breaker struct {
	clock ratelimit.Clock

	mu      sync.Mutex
	answers int                // so far
	outages map[string]*outage // by endpoint; that of "" concerns all
}

// answered notes a response that shows the service at work for this account.
func (b *breaker) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers++
	b.outages = map[string]*outage{}
}

// begin returns an error while there is an outage. What changes something, or follows a
// change, is made unless the service is known to refuse it.
func (b *breaker) begin(x *Call, changes bool) (answers int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, endpoint := range []string{x.endpoint(), ""} {
		if o := b.outages[endpoint]; b.isOn(o) && (!changes || o.kind.isRefusal()) {
			err = o.error(nil)
		}
	}
	return b.answers, err
}

// end ends a call before which there were so many answers, and which failed with err after
// its last attempt f. It returns the error, as an *OutageError where that is what it is:
// nothing else was answered meanwhile.
func (b *breaker) end(ctx context.Context, x *Call, answers int, f *failure, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil || b.answers != answers {
		return err
	}
	kind, endpoint := f.outageKind(answers == 0), ""
	switch kind {
	case noOutage:
		return err
	case OutageEndpoint:
		endpoint = x.endpoint()
	}
	o := b.outages[endpoint]
	if !b.isOn(o) || o.kind.isRefusal() != kind.isRefusal() {
		o = &outage{kind: kind, cause: err, until: b.clock.Now().Add(longestDelay)}
		b.outages[endpoint] = o
	}
	return o.error(err)
}

func (b *breaker) isOn(o *outage) bool { return o != nil && b.clock.Now().Before(o.until) }

// endpoint is what calls have in common that differ in the card and what they say of it.
func (x *Call) endpoint() string {
	return x.Method + strings.Replace(x.Path, url.PathEscape(x.Card), "", 1)
}

// outageKind says why other calls would fail like this one, which was tried as
// often as it may be. From what has never answered yet, any response but the service's
// own is another server's.
func (f *failure) outageKind(neverAnswered bool) OutageKind {
	switch {
	case f.status == http.StatusUnauthorized:
		return OutageKeyRefused
	case NotReadyCode(f.err) != "":
		return OutageNotReady
	case f.lost && f.fate == NotDone:
		return OutageUnreachable
	case f.status >= http.StatusBadGateway && f.status <= http.StatusGatewayTimeout:
		return OutageUnavailable
	case f.lost, f.status >= 500:
		return OutageEndpoint
	case neverAnswered && f.status != 0 && !f.isFromService() && (f.status < 400 || isMissing(f.status)):
		return OutageOtherServer
	}
	return noOutage
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
	return (f.final || f.isRateLimited()) && f.isFromService() && !f.outageKind(false).isRefusal()
}
