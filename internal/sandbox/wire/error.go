package wire

import (
	"fmt"
	"net/http"
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
	CodeCardTerminated          = "card_terminated"
	CodeIdempotencyKeyReused    = "idempotency_key_reused"
	codeInternal                = "internal_error"
)

// Error is an answer that refuses a request. What the request would have
// changed is not changed.
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"error"`
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refuse is a 400 with a code of its own.
func Refuse(code, format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// Invalid is a 400 for a request that breaks a rule. The message names the field.
func Invalid(format string, args ...any) *Error {
	return Refuse(CodeInvalidRequest, format, args...)
}

// NotFound is a 404 for an object that this account does not have.
func NotFound(kind, id string) *Error {
	return &Error{http.StatusNotFound, CodeNotFound, fmt.Sprintf("there is no %s %.64q on this account", kind, id)}
}

func unknownPath() *Error {
	return &Error{http.StatusNotFound, CodeNotFound, "there is no such method and path"}
}

func unauthorized() *Error {
	return &Error{
		http.StatusUnauthorized, CodeUnauthorized,
		"send a valid API key as Authorization: Bearer sk_live_…",
	}
}
