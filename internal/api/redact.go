package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// scrubber takes out of text what may be a secret. It holds pointers, which show
// nothing when printed.
type scrubber struct{ keys, foreign *regexp.Regexp }

// grouped matches a digit and, with what counts them, those after it, however they are
// grouped, but for the colons of a time; number are enough of them for a card number.
const (
	grouped = `\p{Nd}(?:[^\pL\p{Nd}:]{0,8}\p{Nd})`
	number  = grouped + `{12,}`
)

// coded matches the name of a short secret, with the digits near behind it; named that
// of a longer one, with what it is set to, which may be in an object.
const (
	coded = `(?:(?:\b|_)(?:pan\b|cv[vc]2?|otp|security.?code)|(?-i:[a-z](?:C[Vv][VCvc]2?|O[Tt][Pp])))` +
		`(?:_|\P{Nd}{0,16}[^\pL\p{Nd}_])?` + grouped + `+`
	named = `secret` + set + `(?:\{\s*\\?["']\w+` + set + `)?(?:\\?"[^"\\]+|[^\s"\\,}]+)`
	set   = `\\?["']?\s*[:=]\s*`
)

func newScrubber(key string) scrubber {
	const (
		shortest = 8                  // less is a word of its own
		made     = `[\w.~+/=-]*`      // of what a key is
		next     = made + `\d` + made // of a key in which a space was put
	)
	keys := `(?:sk_live_|whsec_)` + made + `\w(?:\s` + next + `)*`
	for _, prefix := range []string{keyPrefix, SandboxKeyPrefix} {
		if rest, ok := strings.CutPrefix(key, prefix); ok && len(rest) >= shortest {
			keys = "(?:" + prefix + ")?" + regexp.QuoteMeta(rest) + "|" + keys
		}
	}
	if key != "" {
		keys = regexp.QuoteMeta(key) + "|" + keys
	}
	return scrubber{
		keys:    regexp.MustCompile(`(?i)` + keys),
		foreign: regexp.MustCompile(`(?i)` + keys + `|` + number + `|` + coded + `|` + named),
	}
}

// Redact takes keys, webhook secrets, card numbers and what would move the cursor out of
// a text of this program, in which people and the service may have their say. A nil client
// does not know its key.
func (c *Client) Redact(text string) string {
	var s scrubber
	if c == nil {
		s = newScrubber("")
	} else {
		s = c.scrub
	}
	text = strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s.keys.ReplaceAllString(text, redacted))
	return digitRun.ReplaceAllStringFunc(text, func(run string) string {
		if isCardNumber(run) {
			return redacted
		}
		return run
	})
}

// escape matches what %q writes in place of a character that does not print.
const escape = `\\(?:[abfnrtv]|x[[:xdigit:]]{2}|u[[:xdigit:]]{4}|U[[:xdigit:]]{8})`

var (
	// digitRun matches digits that may be a card number. It passes over UUIDs, dated
	// ones too, and over words that begin with a letter.
	digitRun = regexp.MustCompile(`(?:[a-z]+_|\d{8}-)?[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}|` +
		escape + `|\pL[\pL\p{Nd}_]*|\p{Nd}(?:(?:` + escape + `|[^\pL\p{Nd}:,;]){0,3}\p{Nd}){12,}`)
	escapes = regexp.MustCompile(escape)
)

// isCardNumber tells a card number, by its check digit, from ids and from the numbers
// that people give to campaigns.
func isCardNumber(run string) bool {
	run = escapes.ReplaceAllString(run, " ")
	if strings.ContainsFunc(run, unicode.IsLetter) {
		return false
	}
	groups := strings.Fields(strings.Map(asciiDigit, run))
	for first := range groups {
		for last := range groups[first:] {
			digits := strings.Join(groups[first:first+last+1], "")
			if len(digits) > 19 {
				break
			}
			if len(digits) >= 13 && passesLuhn(digits) {
				return true
			}
		}
	}
	return false
}

// asciiDigit is what a digit of any script stands for, of which Unicode has tens from
// zero on, and a space for what is none.
func asciiDigit(r rune) rune {
	if !unicode.IsDigit(r) {
		return ' '
	}
	value := rune(0)
	for unicode.IsDigit(r - value - 1) {
		value++
	}
	return '0' + value%10
}

func passesLuhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d = 2*d/10 + 2*d%10
		}
		sum += d
	}
	return sum%10 == 0
}

// quote returns the beginning of foreign text in one printable line, as an error of
// the call may show it.
func (s scrubber) quote(x *call, text string) string {
	const (
		bound    = 8 << 10 // more than any excerpt, less than any trouble
		doubtful = 1 << 10 // of what is cut there, of which a secret's half may be the end
	)
	limit := 500
	whole := len(text) <= bound
	text = text[:min(len(text), bound)]
	for _, hidden := range x.hidden {
		text = strings.ReplaceAll(text, hidden, redacted)
	}
	text = unescaped(text)
	for _, hidden := range x.hidden {
		text = strings.ReplaceAll(text, unescaped(hidden), redacted)
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == 0, unicode.Is(unicode.Cf, r): // of UTF-16, and what takes no room
			return -1
		case r == utf8.RuneError, !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	text = encoded.ReplaceAllStringFunc(text, func(run string) string {
		for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString} {
			if plain, err := decode(strings.TrimRight(run, "=")); err == nil && (s.foreign.Match(plain) || x.hides(plain)) {
				return redacted
			}
		}
		return run
	})
	text = s.foreign.ReplaceAllString(text, redacted)
	if !whole {
		limit = min(limit, max(0, len(text)-doubtful))
	}
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

var (
	// encoded matches what may be a card number, or more, in base64 or as hexadecimal digits.
	encoded = regexp.MustCompile(`[\w+/-]{18,}=*`)
	// escaped matches what JSON, Go and URLs may have in place of a character.
	escaped = regexp.MustCompile(`(?i)(?:\\+u00|\\+x|%)([0-9a-f]{2})`)
)

// unescaped undoes what hides the characters of a text, and that twice over.
func unescaped(text string) string {
	for range 2 {
		text = escaped.ReplaceAllStringFunc(html.UnescapeString(text), func(code string) string {
			b, _ := hex.DecodeString(code[len(code)-2:])
			return string(b)
		})
	}
	return text
}

func (x *call) hides(text []byte) bool {
	return slices.ContainsFunc(x.hidden, func(hidden string) bool { return bytes.Contains(text, []byte(hidden)) })
}

// code is the service's stable code as an error of the call may show it: one of a
// call for secrets is a word.
func (s scrubber) code(x *call, code string) string {
	if code = s.quote(x, code); x.secret && code != "" && !word.MatchString(code) {
		return redacted
	}
	return code
}

// word matches a stable code, as in 3ds_not_ready.
var word = regexp.MustCompile(`^[a-z_.-]*\d?[a-z_.-]{0,60}$`)

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
