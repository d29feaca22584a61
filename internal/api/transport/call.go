package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

// Call is one request as its endpoint's method describes it.
type Call struct {
	Kind      MutationKind // of a call that changes something
	Card      string       // the id of the card that it is about, if any
	NewUntil  time.Time    // until when the service may not know that card yet
	Operation string       // what a person would say is tried: "fund card card_1"
	Method    string
	Path      string
	Query     url.Values
	Body      []byte
	Budget    ratelimit.Budget
	Secret    bool               // the response carries secrets and is never quoted
	Hidden    []string           // what the request carries and no error may repeat
	Invalid   error              // why it is not made
	Accept    func([]byte) error // reads the body of a success
}

// failure is the outcome of an attempt that did not succeed.
type failure struct {
	fate       Fate // Unknown or NotDone
	final      bool // the service's own last word
	answered   bool // by a 2xx, of which the body cannot be used
	permanent  bool // trying again cannot help
	lost       bool // there was no response
	notShown   bool // the service does not show yet what was last written
	status     int
	retryAfter time.Duration
	err        error
}

func (f *failure) isRedirect() bool { return f.status/100 == 3 }

// isRateLimited reports whether the service did nothing since a limit is used up.
func (f *failure) isRateLimited() bool {
	return f.fate == NotDone && f.status == http.StatusTooManyRequests
}

type attempt struct {
	*Call
	key      string          // idempotency key; empty for a call that changes nothing
	number   int             // from 1
	sending  context.Context // ends the request once it is on its way
	deadline time.Time       // of the whole call, by the client's clock
}

type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

func (a attempt) lost(err error) *failure {
	unsent, ok := errors.AsType[*notSentError](err)
	if !ok {
		return &failure{fate: Unknown, lost: true, err: a.requestError(true, err)}
	}
	return &failure{fate: NotDone, lost: true, permanent: !isTransient(unsent.error), err: a.requestError(false, unsent.error)}
}

// isTransient tells whether a connection that could not be made may be made later, as to a
// service that restarts; a wrong name or certificate stays wrong.
func isTransient(err error) bool {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return name.IsTimeout || name.IsTemporary
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return !untrusted && !noTLS && !errors.Is(err, context.Canceled)
}

func (a attempt) requestError(sent bool, err error) error {
	return &RequestError{Operation: a.Operation, Method: a.Method, Path: a.Path, Sent: sent, Attempts: a.number, Err: err}
}

// isFinalForReads reports whether reading again shows no more. A gateway in the service's
// place hides nothing from a read, but what it says is missing may be there.
func (f *failure) isFinalForReads() bool {
	if f.final {
		return true
	}
	isUnknownRefusal := f.fate == Unknown && f.status/100 == 4
	return isUnknownRefusal && !isMissing(f.status) && f.status != http.StatusRequestTimeout && f.status != http.StatusTooManyRequests
}
