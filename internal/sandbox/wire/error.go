package wire

import (
	"fmt"
	"net/http"
	"time"
)

// The codes of error answers.
const (
	CodeInvalidRequest          = "invalid_request"
	CodeUnauthorized            = "unauthorized"
	CodeOnboardingIncomplete    = "onboarding_incomplete"
	CodeAPINotEnabled           = "api_not_enabled"
	CodeNotFound                = "not_found"
	CodeBINNotFound             = "bin_not_found"
	CodeInsufficientFunds       = "insufficient_funds"
	CodeInsufficientCardBalance = "insufficient_card_balance"
	CodeCardActive              = "card_active"
	CodeCardFrozen              = "card_frozen"
	CodeCardTerminated          = "card_terminated"
	CodeIdempotencyKeyInUse     = "idempotency_key_in_use"
	CodeIdempotencyKeyReused    = "idempotency_key_reused"
	codeInjectedFault           = "injected_fault"
	codeRateLimited             = "rate_limited"
	codeInternal                = "internal_error"
)

// Error is an answer that refuses a request. What the request would have
// changed is not changed.
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"error"`
	Message string `json:"message"`

	wait time.Duration // of a 429: until the call would be let through
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refuse is a 400 with a code of its own.
func Refuse(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is a 400 for a request that breaks a rule. The message names the field.
func Invalid(format string, args ...any) *Error {
	return Refuse(CodeInvalidRequest, format, args...)
}

// NotFound is a 404 for an object that this account does not have.
func NotFound(kind, id string) *Error {
	return &Error{Status: http.StatusNotFound, Code: CodeNotFound, Message: fmt.Sprintf("there is no %s %.64q on this account", kind, id)}
}

func unknownPath() *Error {
	return &Error{Status: http.StatusNotFound, Code: CodeNotFound, Message: "there is no such method and path"}
}

func unauthorized() *Error {
	return &Error{
		Status: http.StatusUnauthorized, Code: CodeUnauthorized,
		Message: "send a valid API key as Authorization: Bearer sk_live_…",
	}
}

func rateLimited(wait time.Duration) *Error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: codeRateLimited,
		Message: fmt.Sprintf("the API key has used up a limit; it may go on in %d s", seconds(wait)),
		wait:    wait,
	}
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
