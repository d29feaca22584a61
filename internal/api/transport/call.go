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

// Call is a request to one endpoint, which may be sent several times.
type Call struct {
	Kind      MutationKind // of a call that changes something
	Card      string       // the id of the card in Path, or ""
	NewUntil  time.Time    // until then, the card may be so new that the service does not find it
	Operation string       // for messages, such as "freeze card card_1"
	Method    string
	Path      string // below the base URL, as in "/cards/card_1"
	Query     url.Values
	Body      []byte
	Budget    ratelimit.Budget
	Secret    bool               // the response contains secrets, which errors must not show
	Hidden    []string           // parts of the request that errors must not show
	Invalid   error              // if not nil, the call fails with this error and nothing is sent
	Accept    func([]byte) error // decodes the body of a 2xx response; see also ErrNotShown

	key      string    // the idempotency key; empty for a call that changes nothing
	deadline time.Time // of all attempts, by the client's clock
	attempts int       // the number of attempts so far, including the current one
	sentAt   time.Time // about when the last attempt was made, by the service's clock
}

// failure is the outcome of an attempt that did not succeed.
type failure struct {
	fate             Fate          // Unknown or NotDone
	final            bool          // the response is the service's final decision; see fateOf
	got2xx           bool          // the response is a 2xx whose body cannot be used
	permanent        bool          // a retry is useless
	connectionFailed bool          // sending the request or reading its response failed
	notShown         bool          // the service does not show the latest change yet
	status           int           // of a complete response; otherwise 0
	retryAfter       time.Duration // the response's Retry-After; 0 if there is none that can be used
	err              error
}

func (f *failure) isRedirect() bool { return f.status >= 300 && f.status < 400 }

// isRateLimited reports whether the service did nothing because a rate limit was exceeded.
func (f *failure) isRateLimited() bool {
	return f.fate == NotDone && f.status == http.StatusTooManyRequests
}

// notSentError reports that the request was certainly not sent.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

// noResponseFailure returns the failure of an attempt whose request was not sent or whose response is not complete.
func (call *Call) noResponseFailure(err error) *failure {
	unsent, ok := errors.AsType[*notSentError](err)
	if !ok { // the request may have been sent
		return &failure{fate: Unknown, connectionFailed: true, err: call.errorAfterSending(err)}
	}
	return &failure{
		fate:             NotDone,
		connectionFailed: true,
		permanent:        !isTransient(unsent.error),
		err:              call.errorBeforeSending(unsent.error),
	}
}

// isTransient reports whether another attempt may succeed after a connection failed with err. A wrong host name or
// certificate, for example, stays wrong. After a cancellation, the result is false.
func isTransient(err error) bool {
	dnsError, ok := errors.AsType[*net.DNSError](err)
	if ok {
		return dnsError.IsTimeout || dnsError.IsTemporary
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, withoutTLS := errors.AsType[tls.RecordHeaderError](err)
	if untrusted || withoutTLS {
		return false
	}
	interrupted := errors.Is(err, context.Canceled)
	return !interrupted
}

// errorAfterSending returns the error for a request that was sent, or may have been sent, and failed with err.
func (call *Call) errorAfterSending(err error) *RequestError {
	e := call.errorBeforeSending(err)
	e.Sent = true
	return e
}

// errorBeforeSending returns the error for a request that was not sent because of err.
func (call *Call) errorBeforeSending(err error) *RequestError {
	return &RequestError{
		Operation: call.Operation,
		Method:    call.Method,
		Path:      call.Path,
		Attempts:  call.attempts,
		Err:       err,
	}
}

// isFinalForReads reports whether repeating a read is useless.
func (f *failure) isFinalForReads() bool {
	if f.final || f.isRedirect() { // the client follows no redirects
		return true
	}
	switch f.status {
	case http.StatusNotFound, http.StatusGone:
		return false // a gateway may have sent it, or the card may be too new
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false // temporary
	}
	return isClientError(f.status) // a retry would get the same 4xx response
}
