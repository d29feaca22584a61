package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"
	"unicode"
)

// scrubber takes out of text what may be a secret. It holds pointers, which show
// nothing when printed.
type scrubber struct {
	keys *regexp.Regexp
	base string // which every request contains
}

func newScrubber(key, base string, secrets ...string) scrubber {
	const made, shortest = `[\w.~+/=-]*`, 8 // what a key is of, and less is a word of its own
	token := strings.TrimPrefix(strings.TrimPrefix(key, SandboxKeyPrefix), keyPrefix)
	var known []string
	for _, secret := range append(secrets, key, token) {
		if secret != "" && (secret != token || len(token) >= shortest) {
			known = append(known, regexp.QuoteMeta(secret))
		}
	}
	known = append(known, `(?:sk_live_|whsec_)`+made+`\w(?:\s`+made+`\d`+made+`)*`) // in which a space was put
	return scrubber{regexp.MustCompile(`(?i)` + strings.Join(known, "|")), base}
}

// escape matches what %q writes instead of a non-printing character.
const escape = `\\(?:[abfnrtv]|x[[:xdigit:]]{2}|u[[:xdigit:]]{4}|U[[:xdigit:]]{8})`

// ownNumber matches a number that may be a card's. It passes over UUIDs, dated ones too,
// and over words that begin with a letter.
var ownNumber = regexp.MustCompile(`(?:[a-z]+_|\d{8}-)?[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}|` +
	escape + `|\pL[\pL\p{Nd}_]*|(\p{Nd}(?:(?:` + escape + `|[^\pL\p{Nd}:,;]){0,3}\p{Nd}){12,})`)

func (s scrubber) own(text string) string {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s.keys.ReplaceAllString(text, Redacted))
	return ownNumber.ReplaceAllStringFunc(text, func(found string) string {
		if ownNumber.FindStringSubmatch(found)[1] != "" {
			return Redacted
		}
		return found
	})
}

// known takes out of a text the secrets that are known: keys, and what the request hides.
func (s scrubber) known(x *Call, text string) string {
	for _, hidden := range x.Hidden {
		text = strings.ReplaceAll(text, hidden, Redacted)
	}
	return s.keys.ReplaceAllString(text, Redacted)
}

// quote returns the beginning of a foreign text as an error of the call may show it.
func (s scrubber) quote(x *Call, text string) string {
	contained := strings.Join([]string{s.base + x.Path, x.Query.Encode(), x.Operation, string(x.Body)}, " and ")
	return plain(s.known(x, cleaned(s.known(x, text))), contained)
}

// Codes have words and a digit, as 3ds_not_ready, or a short number, as E2001.
var (
	plainCode  = regexp.MustCompile(`^[a-z_.-]*\d?[a-z_.-]*$`)
	numberCode = regexp.MustCompile(`^[A-Za-z]{1,24}(?:[_.-][A-Za-z]{1,24})*[_.-]?\d{0,4}$`)
)

// code is the service's stable code as an error of the call may show it.
func (s scrubber) code(x *Call, code string) string {
	isCode := plainCode.MatchString(code) || !x.Secret && numberCode.MatchString(code)
	switch {
	case len(code) <= 64 && isCode && s.known(x, code) == code:
		return code
	case x.Secret:
		return Redacted
	}
	return s.quote(x, code)
}

type quotedError struct {
	text  string
	cause error
}

func (e *quotedError) Error() string { return e.text }

func (e *quotedError) Unwrap() error { return e.cause }

const (
	longestProblem = 500 // of a certificate
	trustAdvice    = "; if it is to be trusted, add its authority to this system's certificates, or on Linux name its PEM file in SSL_CERT_FILE"
)

// lost words what kept a call from its response: what this machine says as it is, what
// came as it may be quoted, and where that would hold secrets, by its kind alone.
func (s scrubber) lost(x *Call, connected bool, err error) error {
	if proxied, ok := err.(*ProxyError); ok && !x.Secret { //nolint:errorlint // its own words are put around
		return &ProxyError{Address: proxied.Address, Err: s.lost(x, connected, proxied.Err)}
	}
	text := "malformed HTTP response"
	timeout, isNet := errors.AsType[net.Error](err)
	isTimeout := isNet && timeout.Timeout()
	certificate, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	operation, isOperation := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, context.Canceled):
		text = context.Canceled.Error()
	case isOperation && (isTimeout || errors.As(err, new(*net.DNSError)) || errors.As(err, new(syscall.Errno))):
		text = operation.Error()
	case isCertificate: // made before anything secret was sent
		text = shortened(s.own(cleaned(certificate.Error())), longestProblem) + trustAdvice
	case isTimeout:
		text = "no response came in time"
	case !x.Secret:
		text = s.quote(x, err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text = "the connection ended before the response did"
	case !connected:
		text = "no TLS connection could be made"
	}
	return &quotedError{text, err}
}
