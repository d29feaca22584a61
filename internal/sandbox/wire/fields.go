// Package wire reads the bodies and query strings of requests, and writes responses and errors as JSON.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Fields reads the members of a JSON object. It keeps the first error: read all members, then call Done. Use the values
// only if Done returns no error. The methods that read a member treat null as absent, except Value.
type Fields struct {
	firstError

	values map[string]json.RawMessage
}

// firstError is the first error of a reader.
type firstError struct{ err error }

// Refuse keeps err, unless there is an earlier error.
func (e *firstError) Refuse(err *Error) {
	if e.err == nil {
		e.err = err
	}
}

// checkOneOf refuses a value that is not in the list of valid values.
func (e *firstError) checkOneOf(name, value string, valid []string) {
	if !slices.Contains(valid, value) {
		e.Refuse(Invalid("%s must be one of %s", name, strings.Join(valid, ", ")))
	}
}

// Done returns the first error. A member that was not read is an error, too.
func (f *Fields) Done() error {
	unread := slices.Sorted(maps.Keys(f.values))
	if f.err == nil && len(unread) > 0 {
		f.err = Invalid("unknown field %.64q", unread[0])
	}
	return f.err
}

// pop removes a member and returns it. It returns nil for an absent member, for null, and after an error.
func (f *Fields) pop(name string) json.RawMessage {
	raw := f.values[name]
	delete(f.values, name)
	if string(raw) == "null" || f.err != nil {
		return nil
	}
	return raw
}

// require is like pop. It refuses an absent member and null.
func (f *Fields) require(name string) json.RawMessage {
	raw := f.pop(name)
	if raw == nil {
		f.Refuse(Invalid("%s is required", name))
	}
	return raw
}

// Has reports whether a member is present and not read yet. It may be null.
func (f *Fields) Has(name string) bool {
	_, found := f.values[name]
	return found
}

// Text reads a required, non-empty string.
func (f *Fields) Text(name string) string {
	raw := f.require(name)
	text := f.decodeText(name, raw)
	if text == "" {
		f.Refuse(Invalid("%s must not be empty", name))
	}
	return text
}

// ShortText reads a required, non-empty string of at most maxLength characters.
func (f *Fields) ShortText(name string, maxLength int) string {
	text := f.Text(name)
	f.checkLength(name, text, maxLength)
	return text
}

// OptionalText reads a string of at most maxLength characters, and reports whether it is present.
func (f *Fields) OptionalText(name string, maxLength int) (string, bool) {
	raw := f.pop(name)
	text := f.decodeText(name, raw)
	f.checkLength(name, text, maxLength)
	return text, raw != nil
}

// checkLength refuses a text of more than maxLength characters.
func (f *Fields) checkLength(name, text string, maxLength int) {
	length := utf8.RuneCountInString(text)
	if length > maxLength {
		f.Refuse(Invalid("%s has %d characters; at most %d are allowed", name, length, maxLength))
	}
}

// decodeText decodes a string. It returns "" if raw is nil.
func (f *Fields) decodeText(name string, raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	var text string
	err := json.Unmarshal(raw, &text)
	if err != nil {
		f.Refuse(Invalid("%s must be a string", name))
	}
	return text
}

// Amount reads a required amount in USD.
func (f *Fields) Amount(name string) usd.Amount {
	raw := f.require(name)
	return f.decodeAmount(name, raw)
}

// OptionalAmount reads an amount in USD, and reports whether it is present.
func (f *Fields) OptionalAmount(name string) (usd.Amount, bool) {
	raw := f.pop(name)
	amount := f.decodeAmount(name, raw)
	return amount, raw != nil
}

// PositiveAmount reads a required amount in USD above 0.
func (f *Fields) PositiveAmount(name string) usd.Amount {
	amount := f.Amount(name)
	if amount <= 0 {
		f.Refuse(Invalid("%s must be above 0", name))
	}
	return amount
}

// OptionalNotNegativeAmount reads an amount in USD of at least 0. The default is 0.
func (f *Fields) OptionalNotNegativeAmount(name string) usd.Amount {
	amount, _ := f.OptionalAmount(name)
	if amount < 0 {
		f.Refuse(Invalid("%s must not be negative", name))
	}
	return amount
}

// decodeAmount decodes an amount. It returns 0 if raw is nil.
func (f *Fields) decodeAmount(name string, raw json.RawMessage) usd.Amount {
	if raw == nil {
		return 0
	}
	// A number in JSON starts with a digit or a minus sign.
	if !strings.ContainsRune("-0123456789", rune(raw[0])) {
		f.Refuse(Invalid("%s must be a number", name))
		return 0
	}
	amount, err := usd.Parse(string(raw))
	if errors.Is(err, usd.ErrFraction) {
		f.Refuse(Invalid("%s must have at most two decimals", name))
	} else if err != nil {
		f.Refuse(Invalid("%s is out of range", name))
	}
	return amount
}

// Texts reads an array of strings, drops duplicates, and reports whether the array is present.
func (f *Fields) Texts(name string) ([]string, bool) {
	raw := f.pop(name)
	if raw == nil {
		return []string{}, false
	}
	var all []*string // nil stands for null, which is not a string
	err := json.Unmarshal(raw, &all)
	if err != nil || slices.Contains(all, nil) {
		f.Refuse(Invalid("%s must be an array of strings", name))
		return []string{}, false
	}
	texts := []string{}
	added := map[string]bool{}
	for _, text := range all {
		if !added[*text] {
			added[*text] = true
			texts = append(texts, *text)
		}
	}
	return texts, true
}

// Object reads a required object. It calls read with a reader of the members.
func (f *Fields) Object(name string, read func(*Fields)) {
	raw := f.require(name)
	if raw == nil {
		return
	}
	var members Fields
	err := json.Unmarshal(raw, &members.values)
	if err != nil {
		f.Refuse(Invalid("%s must be an object", name))
		return
	}
	read(&members)
	err = members.Done() // nil or an *Error
	refused, ok := errors.AsType[*Error](err)
	if ok {
		f.Refuse(Invalid("%s: %s", name, refused.Message))
	}
}

// Pairs reads an object with at most maxKeys keys. Its values must be strings, numbers or booleans. Each key and each
// value has at most maxLength characters. If the object is absent, Pairs returns an empty map.
func (f *Fields) Pairs(name string, maxKeys, maxLength int) map[string]json.RawMessage {
	raw := f.pop(name)
	if raw == nil {
		return map[string]json.RawMessage{}
	}
	var pairs map[string]json.RawMessage
	err := json.Unmarshal(raw, &pairs)
	if err != nil {
		f.Refuse(Invalid("%s must be an object", name))
	}
	if len(pairs) > maxKeys {
		f.Refuse(Invalid("%s has %d keys; at most %d are allowed", name, len(pairs), maxKeys))
	}
	for _, key := range slices.Sorted(maps.Keys(pairs)) { // sorted, so that the first error is always the same
		value := pairs[key]
		text := string(value) // the length of a number or a boolean is that of its JSON
		switch value[0] {
		case '{', '[', 'n': // an object, an array or null
			f.Refuse(Invalid("%s.%.64s must be a string, a number or a boolean", name, key))
		case '"':
			text = f.decodeText(name, value)
		}
		f.checkLength(name+": a key", key, maxLength)
		f.checkLength(fmt.Sprintf("%s.%.64s", name, key), text, maxLength)
	}
	return pairs
}

// Choice reads a required string that must be one of the valid values.
func (f *Fields) Choice(name string, valid ...string) string {
	raw := f.require(name)
	return f.decodeChoice(name, raw, valid)
}

// OptionalChoice reads a string that must be one of the valid values. It returns the fallback if the string is absent.
func (f *Fields) OptionalChoice(name, fallback string, valid ...string) string {
	raw := f.pop(name)
	if raw == nil {
		return fallback
	}
	return f.decodeChoice(name, raw, valid)
}

// decodeChoice decodes a string and refuses it unless it is one of the valid values.
func (f *Fields) decodeChoice(name string, raw json.RawMessage, valid []string) string {
	value := f.decodeText(name, raw)
	f.checkOneOf(name, value, valid)
	return value
}

// Integer reads an integer from minimum to maximum. It returns the fallback if the integer is absent.
func (f *Fields) Integer(name string, fallback, minimum, maximum int64) int64 {
	raw := f.pop(name)
	if raw == nil {
		return fallback
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	inRange := minimum <= n && n <= maximum
	if err != nil || !inRange {
		f.Refuse(Invalid("%s must be an integer from %d to %d", name, minimum, maximum))
	}
	return n
}

// Value reads a member of any type, which may be null. It returns nil if the member is absent.
func (f *Fields) Value(name string) json.RawMessage {
	value := f.values[name]
	delete(f.values, name)
	return value
}

// Skip ignores a member, as if it were absent.
func (f *Fields) Skip(name string) { delete(f.values, name) }

// IsObject reports whether a member is an object.
func (f *Fields) IsObject(name string) bool { return bytes.HasPrefix(f.values[name], []byte("{")) }

// MaxBody is the maximum size of a body, in bytes.
const MaxBody = 1 << 20

// Body is the body of a request. If it could not be read, Err is the reason.
type Body struct {
	Raw []byte
	Err error
}

// ReadBody reads the body of a request. A body of more than MaxBody bytes is an error.
func ReadBody(w http.ResponseWriter, r *http.Request) Body {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err == nil {
		return Body{Raw: raw}
	}
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	if tooLarge {
		return Body{Err: Invalid("the body is larger than %d MiB", MaxBody>>20)}
	}
	return Body{Err: Invalid("the body is incomplete: the connection broke, or the body arrived too slowly")}
}

// Fields returns a reader of the body, which must be a JSON object or empty.
func (b Body) Fields(contentType string) *Fields {
	f := &Fields{}
	if b.Err != nil {
		f.err = b.Err
		return f
	}
	if len(bytes.TrimSpace(b.Raw)) == 0 {
		return f
	}
	media, params, err := mime.ParseMediaType(contentType)
	isJSON := err == nil && media == "application/json"
	charset := params["charset"]
	isUTF8 := charset == "" || strings.EqualFold(charset, "utf-8")
	accepted := isJSON && isUTF8
	if !accepted {
		f.Refuse(Invalid("a request with a body needs Content-Type: application/json"))
		return f
	}
	f.err = checkStrict(b.Raw)
	if f.err != nil {
		return f
	}
	err = json.Unmarshal(b.Raw, &f.values)
	if err != nil || f.values == nil {
		f.Refuse(Invalid("the body must be a JSON object"))
	}
	return f
}

// checkStrict returns an error unless the body is one valid JSON value. Unlike encoding/json, it refuses bytes that are
// not UTF-8, and objects with duplicate names.
func checkStrict(raw []byte) error {
	if !utf8.Valid(raw) {
		return Invalid("the body is not valid UTF-8")
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	_, err := decoder.ReadValue()
	if err == nil {
		// The value must be the whole body, so the next read must fail with io.EOF.
		_, err = decoder.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return Invalid("the body has %.64q twice", syntax.JSONPointer.LastToken())
	}
	return Invalid("the body is not valid JSON")
}
