package api

import (
	"errors"
	"fmt"
	"net/http"
)

// Error is an answer of the service that is not a success.
type Error struct {
	Operation string // what was tried, on what: "fund card card_1"
	Method    string
	Path      string // below the base URL, without the query
	Status    int    // HTTP status
	Code      string // the service's stable code; empty when the body has none
	Message   string // the service's message, or an excerpt of a body that is not JSON
	Tries     int
}

// Error says what was tried, on what, and what came back.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s %s answered %d", e.Operation, e.Method, e.Path, e.Status)
	switch {
	case e.Code != "":
		text += " " + e.Code
	default:
		text += " " + http.StatusText(e.Status)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Tries > 1 {
		text += fmt.Sprintf(" (after %d tries)", e.Tries)
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		text += "; other users of the key may have spent its limits: wait, or give each a share of them"
	case e.Status >= 300 && e.Status < 400:
		text += "; redirects are not followed, so the base URL has to be the service's own address"
	}
	return text
}

// RequestError is a request without a usable answer: it could not be sent, or
// what came back could not be read. For a call that changes something it means
// that nothing was sent; a lost answer is an *UnknownOutcomeError.
type RequestError struct {
	Operation string
	Method    string
	Path      string
	Sent      bool
	Tries     int
	Err       error
}

// Error says what was tried, on what, and what went wrong.
func (e *RequestError) Error() string {
	what := "could not be sent"
	if e.Sent {
		what = "got no usable answer"
	}
	text := fmt.Sprintf("%s: %s %s %s: %v", e.Operation, e.Method, e.Path, what, e.Err)
	if e.Tries > 1 {
		text += fmt.Sprintf(" (after %d tries)", e.Tries)
	}
	return text
}

func (e *RequestError) Unwrap() error { return e.Err }

// UnknownOutcomeError says that a call may or may not have taken effect, and
// that looking could not settle it.
type UnknownOutcomeError struct {
	Operation  string
	Key        string // the idempotency key of every try; not a secret
	Tries      int
	Err        error          // the last failure
	Candidates []CardListItem // cards that may be the one that was asked for
	Advice     string         // what to do
}

// Error says what was tried, what went wrong and what to do.
func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("%s: it is not known whether this took effect (%d tries, idempotency key %s): %v; %s",
		e.Operation, e.Tries, e.Key, e.Err, e.Advice)
}

func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// IsNotFound reports a 404. It is not proof that the object is gone: under
// another account's key every object is a 404.
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsUnauthorized reports a 401: the key is missing or invalid.
func IsUnauthorized(err error) bool { return hasStatus(err, http.StatusUnauthorized) }

// NotReadyCode returns the code of a 403 of an account that is not ready
// (API §5): "onboarding_incomplete" or "api_not_enabled", else "".
func NotReadyCode(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusForbidden && (e.Code == "onboarding_incomplete" || e.Code == "api_not_enabled") {
		return e.Code
	}
	return ""
}

func hasStatus(err error, status int) bool {
	if _, doubt := errors.AsType[*UnknownOutcomeError](err); doubt {
		return false // the status is that of one try, not of the call
	}
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == status
}
