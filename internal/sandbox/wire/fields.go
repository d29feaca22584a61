// Package wire is the JSON of requests and responses: what a body and a query
// hold, what is sent for them, and how the service words an error.
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

// Fields reads the members of a JSON object. The first mistake is kept, and
// later reads return zero values: read all, then ask Done.
type Fields struct {
	mistake

	values map[string]json.RawMessage
}

// mistake is the first of a reader.
type mistake struct{ err error }

// Refuse keeps err as the mistake, unless there was one before.
func (m *mistake) Refuse(err *Error) {
	if m.err == nil {
		m.err = err
	}
}

// oneOf refuses a word that is not one of a few.
func (m *mistake) oneOf(name, word string, words []string) {
	if !slices.Contains(words, word) {
		m.Refuse(Invalid("%s must be one of %s", name, strings.Join(words, ", ")))
	}
}

// Done returns the first mistake, or names a member that was not read.
func (f *Fields) Done() error {
	if f.err == nil && len(f.values) > 0 {
		f.err = Invalid("unknown field %.64q", slices.Sorted(maps.Keys(f.values))[0])
	}
	return f.err
}

// pop removes a member. It is nil when it is absent, as null is, and after a mistake.
func (f *Fields) pop(name string) json.RawMessage {
	raw := f.values[name]
	delete(f.values, name)
	if string(raw) == "null" || f.err != nil {
		return nil
	}
	return raw
}

func (f *Fields) require(name string) json.RawMessage {
	raw := f.pop(name)
	if raw == nil {
		f.Refuse(Invalid("%s is required", name))
	}
	return raw
}

// Has tells whether a member is there, null included.
func (f *Fields) Has(name string) bool {
	_, found := f.values[name]
	return found
}

// Text reads a required, non-empty string.
func (f *Fields) Text(name string) string {
	text := f.text(name, f.require(name))
	if text == "" {
		f.Refuse(Invalid("%s must not be empty", name))
	}
	return text
}

// ShortText reads a required, non-empty string of at most maxLength characters.
func (f *Fields) ShortText(name string, maxLength int) string {
	text := f.Text(name)
	f.limit(name, text, maxLength)
	return text
}

// OptionalText reads a string of at most maxLength characters.
func (f *Fields) OptionalText(name string, maxLength int) (text string, found bool) {
	raw := f.pop(name)
	text = f.text(name, raw)
	f.limit(name, text, maxLength)
	return text, raw != nil
}

func (f *Fields) limit(name, text string, maxLength int) {
	if n := utf8.RuneCountInString(text); n > maxLength {
		f.Refuse(Invalid("%s has %d characters; at most %d are allowed", name, n, maxLength))
	}
}

func (f *Fields) text(name string, raw json.RawMessage) (text string) {
	if raw != nil && json.Unmarshal(raw, &text) != nil {
		f.Refuse(Invalid("%s must be a string", name))
	}
	return text
}

// Amount reads a required number of USD.
func (f *Fields) Amount(name string) usd.Amount { return f.amount(name, f.require(name)) }

// OptionalAmount reads a number of USD.
func (f *Fields) OptionalAmount(name string) (amount usd.Amount, found bool) {
	raw := f.pop(name)
	return f.amount(name, raw), raw != nil
}

// Positive reads a required number of USD above 0.
func (f *Fields) Positive(name string) usd.Amount {
	amount := f.Amount(name)
	if amount <= 0 {
		f.Refuse(Invalid("%s must be above 0", name))
	}
	return amount
}

// OptionalNotNegative reads a number of USD of at least 0, which is the default.
func (f *Fields) OptionalNotNegative(name string) usd.Amount {
	amount, _ := f.OptionalAmount(name)
	if amount < 0 {
		f.Refuse(Invalid("%s must not be negative", name))
	}
	return amount
}

func (f *Fields) amount(name string, raw json.RawMessage) usd.Amount {
	switch {
	case raw == nil:
		return 0
	case !strings.ContainsRune("-0123456789", rune(raw[0])):
		f.Refuse(Invalid("%s must be a number", name))
		return 0
	}
	amount, err := usd.Parse(string(raw))
	switch {
	case errors.Is(err, usd.ErrFraction):
		f.Refuse(Invalid("%s must have at most two decimals", name))
	case err != nil:
		f.Refuse(Invalid("%s is out of range", name))
	}
	return amount
}

// Texts reads an array of strings; each once, in the order of the request.
func (f *Fields) Texts(name string) (texts []string, found bool) {
	raw := f.pop(name)
	if raw == nil {
		return []string{}, false
	}
	var all []*string
	if err := json.Unmarshal(raw, &all); err != nil || slices.Contains(all, nil) {
		f.Refuse(Invalid("%s must be an array of strings", name))
		return []string{}, false
	}
	texts = []string{}
	seen := map[string]bool{}
	for _, text := range all {
		if !seen[*text] {
			seen[*text] = true
			texts = append(texts, *text)
		}
	}
	return texts, true
}

// Object reads a required object by its own members.
func (f *Fields) Object(name string, read func(*Fields)) {
	raw := f.require(name)
	if raw == nil {
		return
	}
	var members Fields
	if err := json.Unmarshal(raw, &members.values); err != nil {
		f.Refuse(Invalid("%s must be an object", name))
		return
	}
	read(&members)
	if refused, ok := errors.AsType[*Error](members.Done()); ok {
		f.Refuse(Invalid("%s: %s", name, refused.Message))
	}
}

// Pairs reads an object of at most maxKeys strings, numbers and booleans, whose
// names and values have at most maxLength characters.
func (f *Fields) Pairs(name string, maxKeys, maxLength int) map[string]json.RawMessage {
	raw := f.pop(name)
	if raw == nil {
		return map[string]json.RawMessage{}
	}
	var pairs map[string]json.RawMessage
	if err := json.Unmarshal(raw, &pairs); err != nil {
		f.Refuse(Invalid("%s must be an object", name))
	}
	if len(pairs) > maxKeys {
		f.Refuse(Invalid("%s has %d keys; at most %d are allowed", name, len(pairs), maxKeys))
	}
	for key, value := range pairs {
		if strings.ContainsRune("{[n", rune(value[0])) {
			f.Refuse(Invalid("%s.%.64s must be a string, a number or a boolean", name, key))
		}
		text := string(value)
		_ = json.Unmarshal(value, &text) // a number or a boolean stays as it is written
		f.limit(name+": a name", key, maxLength)
		f.limit(fmt.Sprintf("%s.%.64s", name, key), text, maxLength)
	}
	return pairs
}

// Choice reads a required string that is one of a few words.
func (f *Fields) Choice(name string, words ...string) string {
	return f.choice(name, f.require(name), words)
}

// OptionalChoice reads a string that is one of a few words, or returns the fallback.
func (f *Fields) OptionalChoice(name, fallback string, words ...string) string {
	raw := f.pop(name)
	if raw == nil {
		return fallback
	}
	return f.choice(name, raw, words)
}

func (f *Fields) choice(name string, raw json.RawMessage, words []string) string {
	word := f.text(name, raw)
	f.oneOf(name, word, words)
	return word
}

// Integer reads a number between two bounds, fallback when it is absent.
func (f *Fields) Integer(name string, fallback, minimum, maximum int64) int64 {
	raw := f.pop(name)
	if raw == nil {
		return fallback
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < minimum || n > maximum {
		f.Refuse(Invalid("%s must be an integer from %d to %d", name, minimum, maximum))
	}
	return n
}

// Value reads a member of any type, also null; nil when it is absent.
func (f *Fields) Value(name string) json.RawMessage {
	defer f.Skip(name)
	return f.values[name]
}

// Skip makes a member count as absent.
func (f *Fields) Skip(name string) { delete(f.values, name) }

// HasObject tells whether a member is an object.
func (f *Fields) HasObject(name string) bool { return bytes.HasPrefix(f.values[name], []byte("{")) }

// MaxBody is how many bytes a body may have.
const MaxBody = 1 << 20

// Body is what a request carries. Err is why it cannot be used.
type Body struct {
	Raw []byte
	Err error
}

// ReadBody reads all of it.
func ReadBody(w http.ResponseWriter, r *http.Request) Body {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return Body{Err: Invalid("the body is larger than 1 MiB")}
	case err != nil:
		return Body{Err: Invalid("the body could not be read to its end")}
	}
	return Body{Raw: raw}
}

// Fields returns a reader of the body, which is a JSON object or nothing.
func (b Body) Fields(contentType string) *Fields {
	if b.Err != nil {
		return &Fields{mistake: mistake{b.Err}}
	}
	if len(bytes.TrimSpace(b.Raw)) == 0 {
		return &Fields{}
	}
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || media != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return &Fields{mistake: mistake{Invalid("a request with a body needs Content-Type: application/json")}}
	}
	if err := checkStrict(b.Raw); err != nil {
		return &Fields{mistake: mistake{err}}
	}
	f := &Fields{}
	if err := json.Unmarshal(b.Raw, &f.values); err != nil || f.values == nil {
		return &Fields{mistake: mistake{Invalid("the body must be a JSON object")}}
	}
	return f
}

// checkStrict refuses what encoding/json would let pass: bytes that are not
// UTF-8, a second value after the first, and a name twice in one object.
func checkStrict(raw []byte) error {
	if !utf8.Valid(raw) {
		return Invalid("the body is not valid UTF-8")
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	_, err := decoder.ReadValue()
	if err == nil {
		_, err = decoder.ReadToken()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if broken, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return Invalid("%.64q is there twice", broken.JSONPointer.LastToken())
	}
	return Invalid("the body is not valid JSON")
}
