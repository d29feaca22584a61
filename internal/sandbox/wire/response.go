package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Response is the response to a request.
type Response struct {
	Status      int
	Body        []byte
	ContentType string      // empty for JSON
	Header      http.Header // further headers; may be nil
}

// OK returns a 200.
func OK(body any) Response { return Response{Status: http.StatusOK, Body: Encode(body)} }

// Created returns a 201.
func Created(body any) Response { return Response{Status: http.StatusCreated, Body: Encode(body)} }

// List returns a 200 with a list without pages.
func List(data any) Response { return OK(map[string]any{"data": data}) }

// Encode returns v as JSON, followed by a newline. It panics if v has no JSON form, which is a bug of the caller.
func Encode(v any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	if err != nil {
		panic("wire: " + err.Error())
	}
	return buffer.Bytes()
}

// Time is a time that the database stores as Unix milliseconds. In JSON, it has the format of Timestamp.
type Time struct{ time.Time }

// Scan implements sql.Scanner.
func (t *Time) Scan(column any) error {
	ms, ok := column.(int64)
	if !ok {
		return fmt.Errorf("cannot scan a %T as a time", column)
	}
	t.Time = time.UnixMilli(ms).UTC()
	return nil
}

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(Timestamp(t.Time)) }

// Timestamp formats a time as the API does: in UTC and with a fixed width, so that texts sort by time.
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

// Error is an error response.
type Error struct {
	Status  int           `json:"-"`
	Wait    time.Duration `json:"-"` // of a 429 or 503: how long to wait before a retry
	Allow   string        `json:"-"` // of a 405: the methods that the path accepts
	Code    string        `json:"error"`
	Message string        `json:"message"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// NewError returns an error with a formatted message.
func NewError(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Refuse returns a 400 with the given code and a formatted message.
func Refuse(code, format string, args ...any) *Error {
	return NewError(http.StatusBadRequest, code, format, args...)
}

// Invalid returns a 400 with the code CodeInvalidRequest and a formatted message.
func Invalid(format string, args ...any) *Error {
	return Refuse(CodeInvalidRequest, format, args...)
}

// OneOrNotFound returns the one object that a query by id found, or a 404. If the query failed, it returns the query's
// error.
func OneOrNotFound[T any](found []*T, err error, kind, id string) (*T, error) {
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, NotFound(kind, id)
	}
	return found[0], nil
}

// NotFound returns a 404 with a message that the account has no such object. The kind is, for example, "card".
// The message has only the start of a long id, because the id may come from the request.
func NotFound(kind, id string) *Error {
	return NewError(http.StatusNotFound, CodeNotFound, "this account has no %s %.64q", kind, id)
}
