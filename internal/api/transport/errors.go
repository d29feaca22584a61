package transport

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Error is a response that is not a success.
type Error struct {
	Operation string // such as "freeze card card_1"
	Method    string
	Path      string // below the base URL, without the query
	Status    int    // HTTP status
	Code      string // the service's stable code; empty if the body has none
	Message   string // the service's message or another part of the body, redacted; may be empty
	Withheld  bool   // the response has a message, which may contain secrets and is not in Message
	Attempts  int
	RetryAt   time.Time // the end of the pause after the service's own 429 response, by the client's clock; else zero
	// AfterLostResponse reports whether an attempt, or an earlier run, may have made the change, and a later read did
	// not show it.
	AfterLostResponse bool
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s %s returned %d", e.Operation, e.Method, e.Path, e.Status)
	reason := cmp.Or(e.Code, http.StatusText(e.Status))
	if reason != "" { // it is empty for a status such as 520
		text += " " + reason
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text + attemptsSuffix(e.Attempts)
}

func attemptsSuffix(attempts int) string {
	if attempts > 1 {
		return fmt.Sprintf(" (after %d attempts)", attempts)
	}
	return ""
}

// IsFinal reports whether the service itself refused a change for a reason other than a rate limit. It reports false
// if AfterLostResponse is set. The result means nothing for a part of an *UndecidedError.
func (e *Error) IsFinal() bool {
	if e.Method == http.MethodGet || e.AfterLostResponse {
		return false
	}
	return e.Code != "" && e.Status != http.StatusTooManyRequests
}

// IsAboutKey reports whether the service's code is about the idempotency key or an earlier request, so that it does
// not say whether the change was made.
func (e *Error) IsAboutKey() bool {
	fate, final := fateOf(e.Status, e.Code)
	return final && fate == Unknown
}

// LacksFunds reports whether the service refused a call because the balance of the wallet or the card is too low.
func (e *Error) LacksFunds() bool {
	if e.Status == http.StatusPaymentRequired {
		return true
	}
	code := strings.ToLower(e.Code)
	return e.Status < 500 && strings.Contains(code, "insufficient")
}

// RequestError is a request without a usable response. A change whose outcome is unknown because of that is reported as
// an *UndecidedError.
type RequestError struct {
	Operation string
	Method    string
	Path      string
	Host      string // with the port, if the base URL has one
	Sent      bool   // the request may have been sent
	Attempts  int
	Err       error
}

func (e *RequestError) Error() string {
	problem := "could not be sent"
	if e.Sent {
		problem = "got no usable response"
	}
	text := fmt.Sprintf("%s: %s %s to %s %s: %v", e.Operation, e.Method, e.Path, e.Host, problem, e.Err)
	return text + attemptsSuffix(e.Attempts)
}

func (e *RequestError) Unwrap() error { return e.Err }

// ProxyError reports that a request through a proxy failed.
type ProxyError struct {
	Address string // host and port, without credentials
	Err     error
}

func (e *ProxyError) Error() string { return "through the proxy " + e.Address + ": " + e.Err.Error() }

func (e *ProxyError) Unwrap() error { return e.Err }

type errorBody struct{ Code, Message string }

// decodeErrorBody decodes a body of the form {"error": code, "message": message}, or one with the object {"code": code,
// "message": message} in "error". It keeps a message that is not a string as it is written. What it does not find is
// empty.
func decodeErrorBody(body []byte) errorBody {
	var fields, nested map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // a body that is not JSON has no code and no message
	var decoded errorBody
	err := json.Unmarshal(fields["error"], &nested)
	if err == nil {
		decoded.Code = stringOrEmpty(nested["code"])
	} else {
		decoded.Code = stringOrEmpty(fields["error"])
	}
	messages := []json.RawMessage{fields["message"], nested["message"]}
	for _, message := range messages { // a nested message replaces one at the top level
		if message == nil {
			continue
		}
		err := json.Unmarshal(message, &decoded.Message)
		if err != nil {
			decoded.Message = string(message)
		}
	}
	return decoded
}

var (
	// htmlPage matches the start of an HTML page, and pageTitle its title.
	htmlPage  = regexp.MustCompile(`(?i)^\s*<(?:!doctype html|html)\b`)
	pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
)

// excerpt returns the useful part of a body: the title of an HTML page, which may be empty, or another body as it is.
func excerpt(body []byte) string {
	if !htmlPage.Match(body) {
		return string(body)
	}
	title := pageTitle.FindSubmatch(body)
	if title == nil {
		return ""
	}
	return html.UnescapeString(string(title[1]))
}

// IsNotFound reports whether err is the service's own 404 or 410 response. Even then, the object may exist: it may be
// new or belong to another account. For an *UndecidedError, IsNotFound reports false.
func IsNotFound(err error) bool {
	_, undecided := errors.AsType[*UndecidedError](err)
	if undecided { // it may wrap the 404 response to one of its attempts
		return false
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code == "" {
		return false
	}
	return isMissing(e.Status)
}

func isMissing(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

// NotReadyCode returns the code of a 403 response for an account that is not ready (API §5), which is
// "onboarding_incomplete" or "api_not_enabled". For any other error, it returns "".
func NotReadyCode(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Status != http.StatusForbidden {
		return ""
	}
	if e.Code != "onboarding_incomplete" && e.Code != "api_not_enabled" {
		return ""
	}
	return e.Code
}

// MutationKind says what a mutation changes.
type MutationKind int

// The kinds of mutation.
const (
	MutationIssue     MutationKind = iota // issues a card
	MutationMove                          // moves money between the wallet and a card
	MutationSetFrozen                     // freezes or unfreezes a card
	MutationTerminate                     // terminates a card
	MutationRegister                      // registers a webhook
)

// Candidate is a card that may be the requested one.
type Candidate struct {
	ID      string
	Label   Label
	Balance usd.Amount // USD
}

// UndecidedError reports that it is not known whether a change has taken effect.
type UndecidedError struct {
	Kind       MutationKind
	Operation  string
	Key        string      // the idempotency key; not a secret
	Answered   bool        // a 2xx response arrived, but it does not decide the outcome
	SentAt     time.Time   // about when the last attempt was made, by the service's clock
	Err        error       // the last failure, or what is known about a request of an earlier run
	Findings   []error     // what later reads showed, or why they failed
	Candidates []Candidate // for MutationIssue: the cards that may be the requested one
}

func (e *UndecidedError) Error() string {
	reasons := []string{e.Err.Error()}
	for _, finding := range e.Findings {
		reasons = append(reasons, finding.Error())
	}
	return fmt.Sprintf("%s: the request may or may not have taken effect (idempotency key %s): %s",
		e.Operation, e.Key, strings.Join(reasons, "; "))
}

func (e *UndecidedError) Unwrap() []error { return append([]error{e.Err}, e.Findings...) }

// WithoutOperation returns the text of an error without the operations that operationsOf finds, such as
// "freeze card card_1: ".
func WithoutOperation(err error) string {
	text := err.Error()
	for _, operation := range operationsOf(err) {
		text = strings.ReplaceAll(text, operation+": ", "")
	}
	return text
}

// operationsOf returns the operations of the first *UndecidedError, *Error and *RequestError in the tree of err.
func operationsOf(err error) []string {
	var operations []string
	if undecided, ok := errors.AsType[*UndecidedError](err); ok {
		operations = append(operations, undecided.Operation)
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		operations = append(operations, refused.Operation)
	}
	if request, ok := errors.AsType[*RequestError](err); ok {
		operations = append(operations, request.Operation)
	}
	return operations
}
