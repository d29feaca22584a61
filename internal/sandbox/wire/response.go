package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Response is what a request is answered with.
type Response struct {
	Status      int
	Body        []byte
	ContentType string      // empty: JSON
	Header      http.Header // what not every response has; may be nil
}

// OK is a 200.
func OK(body any) Response { return Response{Status: http.StatusOK, Body: Encode(body)} }

// Created is a 201.
func Created(body any) Response { return Response{Status: http.StatusCreated, Body: Encode(body)} }

// List is a list without pages.
func List(data any) Response { return OK(map[string]any{"data": data}) }

// Encode writes JSON. It panics over what has none, which is a mistake in the program.
func Encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("wire: " + err.Error())
	}
	return b.Bytes()
}

// Time is a time of the file, in milliseconds there and a Timestamp in JSON.
type Time struct{ time.Time }

// Scan reads the milliseconds.
func (t *Time) Scan(column any) error {
	ms, ok := column.(int64)
	if !ok {
		return fmt.Errorf("a time is a %T", column)
	}
	t.Time = time.UnixMilli(ms).UTC()
	return nil
}

// MarshalJSON writes the Timestamp.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(Timestamp(t.Time)) }

// Timestamp writes a time as the API does: UTC, in texts of one width, which sort.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// The codes of errors.
const (
	CodeInvalidRequest          = "invalid_request"
	CodeUnauthorized            = "unauthorized"
	CodeOnboardingIncomplete    = "onboarding_incomplete"
	CodeAPINotEnabled           = "api_not_enabled"
	CodeNotFound                = "not_found"
	CodeMethodNotAllowed        = "method_not_allowed"
	CodeBINNotFound             = "bin_not_found"
	CodeInsufficientFunds       = "insufficient_funds"
	CodeInsufficientCardBalance = "insufficient_card_balance"
	CodeCardActive              = "card_active"
	CodeCardFrozen              = "card_frozen"
	CodeCardTerminated          = "card_terminated"
	CodeFirstAccountOnly        = "first_account_only"
	CodeIdempotencyKeyInUse     = "idempotency_key_in_use"
	CodeIdempotencyKeyReused    = "idempotency_key_reused"
	CodeDiskFull                = "disk_full"
	CodeInjectedFault           = "injected_fault"
	CodeRateLimited             = "rate_limited"
	CodeUnavailable             = "unavailable"
	CodeInternal                = "internal_error"
)

// Error is a response that refuses a request, which has changed nothing.
type Error struct {
	Status  int           `json:"-"`
	Wait    time.Duration `json:"-"` // of a 429 or 503: until the call may be let through
	Allow   string        `json:"-"` // of a 405: the methods that there are
	Code    string        `json:"error"`
	Message string        `json:"message"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// NewError words a refusal.
func NewError(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Refuse is a 400 with a code of its own.
func Refuse(code, format string, args ...any) *Error {
	return NewError(http.StatusBadRequest, code, format, args...)
}

// Invalid is a 400 for a request that breaks a rule. The message names the field.
func Invalid(format string, args ...any) *Error {
	return Refuse(CodeInvalidRequest, format, args...)
}

// Only returns what was found by an id, or a 404, unless there was an error.
func Only[T any](found []*T, err error, kind, id string) (*T, error) {
	if err == nil && len(found) == 0 {
		err = NotFound(kind, id)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// NotFound is a 404 for an object that this account does not have.
func NotFound(kind, id string) *Error {
	return NewError(http.StatusNotFound, CodeNotFound, "there is no %s %.64q on this account", kind, id)
}
