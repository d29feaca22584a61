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

// Error is a response of the service that is not a success.
type Error struct {
	Operation string // what was tried, on what: "fund card card_1"
	Method    string
	Path      string // below the base URL, without the query
	Status    int    // HTTP status
	Code      string // the service's stable code; empty when the body has none
	Message   string // the service's message, or an excerpt of a body that is not JSON, of a page its title
	Withheld  bool   // there is a message, which may hold secrets and is not told
	Attempts  int
	RetryAt   time.Time // of a 429: when the client would have sent again, by its own clock
	// AfterLostResponse says that an earlier attempt of the call had an unknown
	// outcome, which turned out to be that nothing was done.
	AfterLostResponse bool
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s %s answered %d %s", e.Operation, e.Method, e.Path, e.Status, cmp.Or(e.Code, http.StatusText(e.Status)))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text + after(e.Attempts)
}

func after(attempts int) string {
	if attempts > 1 {
		return fmt.Sprintf(" (after %d attempts)", attempts)
	}
	return ""
}

// IsFinal reports whether the service itself refused a change, at every attempt
// and for what was asked.
func (e *Error) IsFinal() bool {
	return e.Method != http.MethodGet && e.Status != http.StatusTooManyRequests && e.Code != "" && !e.AfterLostResponse
}

// IsAboutKey reports whether the service's code speaks of a key, or of a request
// that came before, rather than of the state of the card.
func (e *Error) IsAboutKey() bool {
	fate, final := fateOf(e.Status, e.Code)
	return fate == Unknown && final
}

// LacksFunds reports whether the service refused a call because the wallet, or the
// card that it takes from, holds too little.
func (e *Error) LacksFunds() bool {
	return e.Status == http.StatusPaymentRequired || e.Status < 500 && strings.Contains(strings.ToLower(e.Code), "insufficient")
}

// RequestError is a request without a usable response. For a call that changes something
// nothing was sent; a lost response is an *UndecidedError.
type RequestError struct {
	Operation string
	Method    string
	Path      string
	Host      string // and port
	Sent      bool
	Attempts  int
	Err       error
}

func (e *RequestError) Error() string {
	what := "could not be sent"
	if e.Sent {
		what = "got no usable response"
	}
	return fmt.Sprintf("%s: %s %s to %s %s: %v", e.Operation, e.Method, e.Path, e.Host, what, e.Err) + after(e.Attempts)
}

func (e *RequestError) Unwrap() error { return e.Err }

type errorBody struct{ Code, Message string }

// decodeErrorBody reads the two documented texts, at the top or below "error". A
// message that is no text is quoted as it is.
func decodeErrorBody(body []byte) errorBody {
	var fields, nested map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // what is not JSON has neither
	text := func(raw json.RawMessage) (text string) {
		_ = json.Unmarshal(raw, &text) // what is no text is none
		return text
	}
	read := errorBody{Code: text(fields["error"])}
	if json.Unmarshal(fields["error"], &nested) == nil {
		read.Code = text(nested["code"])
	}
	for _, message := range []json.RawMessage{fields["message"], nested["message"]} {
		if message != nil && json.Unmarshal(message, &read.Message) != nil {
			read.Message = string(message)
		}
	}
	return read
}

var (
	htmlPage  = regexp.MustCompile(`(?i)^\s*<(?:!doctype html|html)\b`)
	pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
)

// excerpt is what of a body that is no error of the service tells a person anything.
func excerpt(body []byte) string {
	if !htmlPage.Match(body) {
		return string(body)
	}
	if title := pageTitle.FindSubmatch(body); title != nil {
		return html.UnescapeString(string(title[1]))
	}
	return ""
}

// IsNotFound reports a 404 or 410 in the service's own words. That proves nothing: the
// object may be another account's, or new.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	_, open := errors.AsType[*UndecidedError](err) // of which the status is that of one attempt
	return ok && !open && isMissing(e.Status) && e.Code != ""
}

func isMissing(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

// NotReadyCode returns the code of a 403 of an account that is not ready
// (API §5): "onboarding_incomplete" or "api_not_enabled", else "".
func NotReadyCode(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusForbidden && (e.Code == "onboarding_incomplete" || e.Code == "api_not_enabled") {
		return e.Code
	}
	return ""
}

// MutationKind is what a mutation does.
type MutationKind int

// The kinds of mutation.
const (
	MutationIssue MutationKind = iota
	MutationMove               // money, between the wallet and a card
	MutationSetFrozen
	MutationTerminate
	MutationRegister // a webhook
)

// Candidate is a card that may be the one that was asked for.
type Candidate struct {
	ID      string
	Label   Label
	Balance usd.Amount // USD
}

// UndecidedError says that a call may or may not have taken effect, and that
// verifying could not decide it.
type UndecidedError struct {
	Kind       MutationKind
	Operation  string
	Key        string // the idempotency key of every attempt; not a secret
	Attempts   int
	Answered   bool        // by a 2xx that cannot be used, or is not shown by what was read since
	SentAt     time.Time   // the last attempt, by the service's clock
	Err        error       // the last failure
	Candidates []Candidate // of an issuance
}

func (e *UndecidedError) Error() string {
	return fmt.Sprintf("%s: it is not known whether this took effect (attempts: %d, idempotency key %s): %v",
		e.Operation, e.Attempts, e.Key, e.Err)
}

func (e *UndecidedError) Unwrap() error { return e.Err }
