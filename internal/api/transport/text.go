package transport

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// text is a text from the service, which may have received it from someone else, such as a merchant. Formatted or
// marshalled, a text is one line of graphic characters. The functions that make a text also redact secrets in it and
// shorten it.
type text struct{ raw string }

// Raw returns the text before String replaces characters in it. It is for comparisons and must not be shown.
func (t text) Raw() string { return t.raw }

// String returns the text as it may be shown.
func (t text) String() string { return inLine(t.raw) }

// Format formats the result of String with any verb.
func (t text) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), t.String()) // writing to a fmt.State does not fail
}

// MarshalText returns the result of String.
func (t text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// The types of text.
type (
	// Word is a value of a fixed set, such as a network.
	Word struct{ text }
	// Name is a name, such as that of a merchant.
	Name struct{ text }
	// Label is the label of a card.
	Label struct{ text }
	// Line is any other text, such as an address.
	Line struct{ text }
)

// NewWord returns a word. It redacts keys and long numbers, and shortens the word to 64 characters.
func NewWord(written string) Word { return Word{text{safe(written, 64, redactLongNumbers)}} }

// NewName returns a name. It redacts keys and long numbers, and shortens the name to 256 characters.
func NewName(written string) Name { return Name{text{safe(written, 256, redactLongNumbers)}} }

// NewLabel returns a label. It redacts keys, and shortens the label to 64 characters.
func NewLabel(written string) Label { return Label{text{safe(written, 64, keepLongNumbers)}} }

// NewLine returns a line. It redacts keys, and shortens the line to 256 characters.
func NewLine(written string) Line { return Line{text{safe(written, 256, keepLongNumbers)}} }

var (
	// keyForm matches a text that looks like an API key or a webhook secret.
	keyForm = regexp.MustCompile(`(?i)(?:sk_live_|whsec_)[\w.~+/=-]+`)
	// longNumber matches a possible card number: 13 digits or more. Between two digits, it allows up to eight
	// characters other than letters and colons.
	longNumber = regexp.MustCompile(`\p{Nd}(?:[^\pL\p{Nd}:]{0,8}\p{Nd}){12,}`)
)

// longNumbers says whether safe redacts numbers that are as long as a card number.
type longNumbers int

const (
	redactLongNumbers longNumbers = iota
	keepLongNumbers
)

// safe redacts keys, and long numbers if they are to be redacted. It shortens a text of more than length characters and
// adds "…", so that the result does not look complete.
func safe(text string, length int, numbers longNumbers) string {
	const factor = 16 // redacting shortens the text, so more of it is needed at first
	text = shortened(text, factor*length)
	if strings.Contains(text, "_") { // keyForm matches no other text
		text = keyForm.ReplaceAllString(text, Redacted)
	}
	const shortestNumber = 13 // digits of a card number
	if numbers == redactLongNumbers && len(text) >= shortestNumber {
		text = longNumber.ReplaceAllString(text, Redacted)
	}
	return shortened(text, length)
}

// stringOrJSON returns the text of a JSON string, "" for null, or another value as it is written.
func stringOrJSON(data []byte) string {
	var text string
	err := json.Unmarshal(data, &text)
	if err != nil {
		return string(data)
	}
	return text
}

// ReadWord decodes a JSON string as a Word, and returns it in lower case, as it may be shown. It returns "" for null, and
// an error for any other value.
func ReadWord(data []byte) (string, error) {
	var text string
	err := json.Unmarshal(data, &text)
	if err != nil {
		return "", err
	}
	word := NewWord(text)
	return strings.ToLower(word.String()), nil
}

// UnmarshalJSON decodes a word. It accepts other JSON values than strings, too.
func (w *Word) UnmarshalJSON(data []byte) error {
	*w = NewWord(stringOrJSON(data))
	return nil
}

// UnmarshalJSON decodes a name. It accepts other JSON values than strings, too.
func (n *Name) UnmarshalJSON(data []byte) error {
	*n = NewName(stringOrJSON(data))
	return nil
}

// UnmarshalJSON decodes a label. It accepts other JSON values than strings, too.
func (l *Label) UnmarshalJSON(data []byte) error {
	*l = NewLabel(stringOrJSON(data))
	return nil
}

// UnmarshalJSON decodes a line. It accepts other JSON values than strings, too.
func (l *Line) UnmarshalJSON(data []byte) error {
	*l = NewLine(stringOrJSON(data))
	return nil
}

// inLine replaces non-graphic characters. It also replaces the second character of pairs that may start
// a command in the log of a CI pipeline: ## anywhere, and :: unless it follows a letter or a digit, as in
// "FB::US".
func inLine(text string) string {
	var line strings.Builder
	line.Grow(len(text))
	var last, beforeLast rune
	for _, r := range text {
		startsCommand := r == '#' && last == '#'
		if r == ':' && last == ':' {
			afterWord := unicode.IsLetter(beforeLast) || unicode.IsDigit(beforeLast)
			startsCommand = !afterWord
		}
		if startsCommand || !unicode.IsGraphic(r) {
			r = unicode.ReplacementChar
		}
		line.WriteRune(r)
		beforeLast = last
		last = r
	}
	return line.String()
}

var (
	// threeDigits matches three or more digits, with anything but letters between them.
	threeDigits = regexp.MustCompile(`\p{Nd}(?:[^\pL\p{Nd}]*\p{Nd}){2,}`)
	// twoDigits matches two or more digits, with anything between them.
	twoDigits = regexp.MustCompile(`\p{Nd}.*\p{Nd}`)
)

// cleaned returns the beginning of someone else's message as one line.
func cleaned(text string) string {
	const maxBytes = 8 << 10
	if len(text) > maxBytes {
		lastSpace := strings.LastIndexAny(text[:maxBytes], " \t\r\n")
		text = text[:lastSpace+1] // without the word that is cut off; empty if there is no space
	}
	text = strings.Map(func(r rune) rune {
		if r == 0 || unicode.Is(unicode.Cf, r) { // a zero byte of UTF-16, or an invisible character
			return -1
		}
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return inLine(strings.Join(strings.Fields(text), " "))
}

// withoutSecrets redacts the parts of a message that may be secrets: numbers of three or more digits, long
// words, and words with letters and two or more digits. It keeps those that the request contains, and shortens the
// message.
func withoutSecrets(message, request string) string {
	const (
		longestWord = 23 // a longer word may be a token
		maxLength   = 500
	)
	isPunctuation := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	words := strings.Split(message, " ")
	for i, word := range words {
		looksLikeCode := twoDigits.MatchString(word) && strings.ContainsFunc(word, unicode.IsLetter)
		tooLong := utf8.RuneCountInString(word) > longestWord
		bareWord := strings.TrimFunc(word, isPunctuation)
		if strings.Contains(request, bareWord) {
			continue
		}
		if looksLikeCode || tooLong {
			words[i] = Redacted
		}
	}
	message = strings.Join(words, " ")
	requestNumbers := threeDigits.FindAllString(request, -1)
	message = threeDigits.ReplaceAllStringFunc(message, func(number string) string {
		if slices.Contains(requestNumbers, number) {
			return number
		}
		return Redacted
	})
	return shortened(message, maxLength)
}

// shortened returns the first length characters of a text, and adds "…" if the text is longer.
func shortened(text string, length int) string {
	count := 0
	for i := range text {
		if count == length {
			return text[:i] + "…"
		}
		count++
	}
	return text
}

var (
	// idForm matches an id. It excludes some characters at the start: for example, ".." is a path, and a shell expands
	// "~".
	idForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.~:=+-]*$`)
	// invalidInID matches a character that is not allowed anywhere in an id.
	invalidInID = regexp.MustCompile(`[^A-Za-z0-9_.~:=+-]`)
)

// IsID reports whether a text can be the id of an object of the service. It rejects characters that could have a
// special meaning in a shell, in a configuration or in a path. It also rejects texts that are empty, very long, or
// contain what looks like a key.
func IsID(text string) bool {
	const longest = 256
	if len(text) > longest || !idForm.MatchString(text) {
		return false
	}
	return !keyForm.MatchString(text)
}

// markInvalidIDs replaces invalid ids in the fields "id" and "…_id" with a text that people can read but that is not
// an id. The text has the beginning of the invalid id, without its harmful characters, and a hash. An empty id stays as
// it is. markInvalidIDs reports whether it has replaced an id.
func markInvalidIDs(fields map[string]json.RawMessage) bool {
	replaced := false
	for field, value := range fields {
		name := strings.ToLower(field) // encoding/json ignores case, too
		if name != "id" && !strings.HasSuffix(name, "_id") {
			continue
		}
		var id string
		err := json.Unmarshal(value, &id)
		if err != nil || id == "" || IsID(id) {
			continue
		}
		shown := NewWord(id).String()
		shown = invalidInID.ReplaceAllString(shown, string(unicode.ReplacementChar))
		hash := sha256.Sum256(value)
		shortHash := hash[:4] // enough to tell ids apart
		fields[field] = fmt.Appendf(nil, `"%s (invalid id, hash %x)"`, shown, shortHash)
		replaced = true
	}
	return replaced
}

// Redacted replaces a secret in a text.
const Redacted = "[redacted]"

// Secret is a text that fmt, slog and encoding/json write as "[redacted]".
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// Format writes "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) } // writing to a fmt.State does not fail

// LogValue returns "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalJSON returns "[redacted]".
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(Redacted) }
