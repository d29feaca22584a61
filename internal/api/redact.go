package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// scrubber takes out of foreign text what may be a secret.
type scrubber struct{ secrets, digits *regexp.Regexp } // pointers, which show nothing when printed

func newScrubber(key string) scrubber {
	const shortest = 8 // less is a word of its own
	own := regexp.QuoteMeta(key)
	for _, prefix := range []string{keyPrefix, SandboxKeyPrefix} {
		if rest, ok := strings.CutPrefix(key, prefix); ok && len(rest) >= shortest {
			own = "(?:" + prefix + ")?" + regexp.QuoteMeta(rest)
		}
	}
	return scrubber{
		// Keys, webhook secrets, and digits that are enough for a card number, however
		// they are grouped, but for the colons of a time; and what is called a secret.
		secrets: regexp.MustCompile(`(?i)` + own + `|(?:sk_live_|whsec_)[\w.~+/=-]*\w|\p{Nd}(?:[^\pL\p{Nd}:]{0,8}\p{Nd}){12,}` +
			`|\b(?:pan|cvv2?|cvc2?|otp)\b\W{0,8}\p{Nd}+|\bsecret\b\\?["']?\s*[:=]\s*\\?["']?[^\s"'\\,}]+`),
		digits: regexp.MustCompile(`\p{Nd}{3,}`),
	}
}

// quote returns the beginning of foreign text in one printable line, as an error of
// the call may show it.
func (s scrubber) quote(x *call, text string) string {
	const bound = 64 << 10 // more than any excerpt, less than any trouble
	limit := 500
	text = text[:min(len(text), bound)]
	for _, hidden := range x.hidden {
		text = strings.ReplaceAll(text, hidden, redacted)
	}
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	text = s.secrets.ReplaceAllString(text, redacted)
	if x.secret {
		text = s.digits.ReplaceAllString(text, redacted)
	}
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// quotedError is an error that quotes foreign text, in words that may be shown.
type quotedError struct {
	text  string
	cause error
}

func (e *quotedError) Error() string { return e.text }

func (e *quotedError) Unwrap() error { return e.cause }

// lost words what kept a call from its response, of which net/http quotes what it
// could not make sense of; where it would hold secrets, by its kind alone.
func (s scrubber) lost(x *call, connected bool, err error) error {
	if !x.secret {
		return &quotedError{s.quote(x, err.Error()), err}
	}
	text := "what came is not an HTTP response"
	timeout, isNet := errors.AsType[net.Error](err)
	name, unresolved := errors.AsType[*net.DNSError](err)
	number, bySystem := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, context.Canceled):
		text = context.Canceled.Error()
	case errors.Is(err, context.DeadlineExceeded), isNet && timeout.Timeout():
		text = "no response came in time"
	case unresolved:
		text = name.Error()
	case bySystem:
		text = number.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text = "the connection ended before the response did"
	case !connected:
		text = "no TLS connection could be made"
	}
	return &quotedError{text, err}
}

const redacted = "[redacted]"

// Secret is text that is shown to nobody by accident: printed, logged or
// marshalled it is "[redacted]". It unmarshals from a JSON string.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// Format writes "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) } // a fmt.State keeps its own errors

// LogValue is "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON writes "[redacted]".
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }
