package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// scrubber removes possible secrets from texts. It keeps the known secrets behind a pointer in an unexported field.
// Package fmt prints such a pointer as an address, so printing a scrubber shows no secret.
type scrubber struct {
	keys *regexp.Regexp // the known secrets, and anything that looks like an API key or a webhook secret
	base string         // the base URL, which is known and therefore not a secret
}

// newScrubber returns the scrubber of a client with this key and base URL. It also removes the given secrets. An empty
// text is not a secret.
func newScrubber(key, base string, secrets ...string) scrubber {
	const (
		keyCharacters = `[\w.~+/=-]*`
		minToken      = 8 // a shorter token may be an ordinary word
	)
	var patterns []string
	for _, secret := range slices.Concat(secrets, []string{key}) {
		if secret != "" {
			patterns = append(patterns, regexp.QuoteMeta(secret))
		}
	}
	// A text may contain the key without its prefix.
	token := strings.TrimPrefix(key, SandboxKeyPrefix)
	token = strings.TrimPrefix(token, keyPrefix)
	if len(token) >= minToken {
		patterns = append(patterns, regexp.QuoteMeta(token))
	}
	// A key may be broken by spaces. The parts after the first one count only if they contain a digit.
	firstPart := `(?:sk_live_|whsec_)` + keyCharacters + `\w`
	laterPart := `\s` + keyCharacters + `\d` + keyCharacters
	anyKey := firstPart + `(?:` + laterPart + `)*`
	patterns = append(patterns, anyKey)
	keys := regexp.MustCompile(`(?i)` + strings.Join(patterns, "|"))
	return scrubber{keys: keys, base: base}
}

const (
	// escape matches an escape sequence that %q writes for a non-printing character.
	escape = `\\(?:[abfnrtv]|x[[:xdigit:]]{2}|u[[:xdigit:]]{4}|U[[:xdigit:]]{8})`
	// uuidText matches a UUID, possibly after a prefix such as card_ or a date such as 20260301-.
	uuidText = `(?:[a-z]+_|\d{8}-)?[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}`
	// wordText matches a word that starts with a letter and may contain digits.
	wordText = `\pL[\pL\p{Nd}_]*`
	// separator matches what may stand between two digits of a card number, up to three times.
	separator  = `(?:` + escape + `|[^\pL\p{Nd}:,;])`
	cardNumber = `\p{Nd}(?:` + separator + `{0,3}\p{Nd}){12,}` // 13 digits or more
)

// ownNumber matches a possible card number in its group, in a text of this program. The other alternatives have no
// group: they skip texts whose digits do not count.
var ownNumber = regexp.MustCompile(uuidText + `|` + escape + `|` + wordText + `|(` + cardNumber + `)`)

// redactOwn redacts a text that this program wrote, and replaces its non-graphic characters except line breaks.
func (s scrubber) redactOwn(text string) string {
	text = s.keys.ReplaceAllString(text, Redacted)
	text = strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	return ownNumber.ReplaceAllStringFunc(text, func(found string) string {
		groups := ownNumber.FindStringSubmatch(found)
		number := groups[1]
		if number != "" {
			return Redacted
		}
		return found
	})
}

// redactKnown redacts the secrets that s.keys matches, and the call's Hidden texts.
func (s scrubber) redactKnown(call *Call, text string) string {
	for _, hidden := range call.Hidden {
		text = strings.ReplaceAll(text, hidden, Redacted)
	}
	return s.keys.ReplaceAllString(text, Redacted)
}

// quote returns the beginning of someone else's text, as an error of the call may show it.
func (s scrubber) quote(call *Call, text string) string {
	parts := []string{s.base + call.Path, call.Query.Encode(), call.Operation, string(call.Body)}
	request := strings.Join(parts, " and ") // a word, so that withoutSecrets does not join the digits of two parts
	text = s.redactKnown(call, text)
	text = cleaned(text)
	text = s.redactKnown(call, text) // cleaning may have joined the parts of a secret
	return withoutSecrets(text, request)
}

var (
	// wordCode matches lower-case words with at most one digit, such as 3ds_not_ready.
	wordCode = regexp.MustCompile(`^[a-z_.-]*\d?[a-z_.-]*$`)
	// numberCode matches words with at most four digits at the end, such as E2001.
	numberCode = regexp.MustCompile(`^[A-Za-z]{1,24}(?:[_.-][A-Za-z]{1,24})*[_.-]?\d{0,4}$`)
)

// quoteCode returns the service's stable code, as an error of the call may show it.
func (s scrubber) quoteCode(call *Call, code string) string {
	const maxLength = 64
	harmless := wordCode.MatchString(code)
	if !harmless && !call.Secret { // in a response with secrets, the digits of a code could be a secret
		harmless = numberCode.MatchString(code)
	}
	hasKnownSecret := s.redactKnown(call, code) != code
	if harmless && !hasKnownSecret && len(code) <= maxLength {
		return code
	}
	if call.Secret {
		return Redacted
	}
	return s.quote(call, code)
}

// quotedError is an error with a redacted text.
type quotedError struct {
	text  string
	cause error
}

func (e *quotedError) Error() string { return e.text }

func (e *quotedError) Unwrap() error { return e.cause }

// connectionError returns the error for a request without a complete response, as it may be shown.
func (s scrubber) connectionError(call *Call, connected bool, err error) error {
	proxyError, ok := err.(*ProxyError) //nolint:errorlint // only the outermost error is replaced
	if ok {
		return &ProxyError{Address: proxyError.Address, Err: s.connectionError(call, connected, proxyError.Err)}
	}
	return &quotedError{text: s.connectionProblem(call, connected, err), cause: err}
}

// connectionProblem describes an error of a connection as it may be shown. connected says whether there was a
// connection when the error occurred.
func (s scrubber) connectionProblem(call *Call, connected bool, err error) string {
	if errors.Is(err, context.Canceled) {
		return context.Canceled.Error()
	}
	netError, ok := errors.AsType[net.Error](err)
	timedOut := ok && netError.Timeout()
	_, lookupFailed := errors.AsType[*net.DNSError](err)
	_, systemFailed := errors.AsType[syscall.Errno](err)
	local := timedOut || lookupFailed || systemFailed
	operation, ok := errors.AsType[*net.OpError](err)
	if ok && local { // the text does not come from the server
		return operation.Error()
	}
	certificate, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if ok { // the check comes before the request is sent, so the error contains no secret of the call
		const maxLength = 500
		problem := cleaned(certificate.Error())
		problem = shortened(s.redactOwn(problem), maxLength)
		_, unknownAuthority := errors.AsType[x509.UnknownAuthorityError](err)
		if unknownAuthority {
			problem += ". To trust the certificate, add its authority to this system's certificates. " +
				"On Linux, you can also set SSL_CERT_FILE to the authority's PEM file"
		}
		return problem
	}
	if timedOut {
		return "the request timed out"
	}
	if !call.Secret {
		return s.quote(call, err.Error())
	}
	if !connected {
		return "the connection through TLS or a proxy failed"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection closed before the end of the response"
	}
	return "malformed HTTP response"
}
