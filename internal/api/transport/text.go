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

// text is what the service may choose, or somebody who writes to it, such as a merchant.
// However it is formatted or marshalled, also as the key of a map, it shows as one line of
// graphic characters, without what may be a secret, and no longer than its type allows.
type text struct{ raw string }

// Raw is the text as the service sent it. It is for comparisons and must not be shown.
func (t text) Raw() string { return t.raw }

// String is the text as people may see it.
func (t text) String() string { return inLine(t.raw) }

// Format writes String for every verb.
func (t text) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), t.String()) // a fmt.State keeps its own errors
}

// MarshalText writes String.
func (t text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// The types of text. Reading one never fails.
type (
	// Word is one of some words, such as a network.
	Word struct{ text }
	// Name is that of a merchant.
	Name struct{ text }
	// Label is that of a card.
	Label struct{ text }
	// Line is any other text, such as an address.
	Line struct{ text }
)

// NewWord returns a word of at most 64 characters, without long numbers.
func NewWord(written string) Word { return Word{text{safe(written, 64, false)}} }

// NewName returns a name of at most 256 characters, without long numbers.
func NewName(written string) Name { return Name{text{safe(written, 256, false)}} }

// NewLabel returns a label of at most 64 characters.
func NewLabel(written string) Label { return Label{text{safe(written, 64, true)}} }

// NewLine returns a line of at most 256 characters.
func NewLine(written string) Line { return Line{text{safe(written, 256, true)}} }

// keyForm matches a key and a webhook secret, longNumber what may be a card number.
var (
	keyForm    = regexp.MustCompile(`(?i)(?:sk_live_|whsec_)[\w.~+/=-]+`)
	longNumber = regexp.MustCompile(`\p{Nd}(?:[^\pL\p{Nd}:]{0,8}\p{Nd}){12,}`)
)

// safe returns a text without keys, and without numbers as long as a card's unless
// longNumbers allows them. A text that is too long ends in "…", and so equals no other text
// of a service or of a configuration.
func safe(text string, length int, longNumbers bool) string {
	const enough = 16 // times the length, of which redacting leaves what there is room for
	text = shortened(text, enough*length)
	if strings.Contains(text, "_") {
		text = keyForm.ReplaceAllString(text, Redacted)
	}
	if !longNumbers && len(text) >= 13 {
		text = longNumber.ReplaceAllString(text, Redacted)
	}
	return shortened(text, length)
}

// textIn returns a JSON text, and what is none as it is written.
func textIn(data []byte) string {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return string(data)
	}
	return text
}

// ReadWord returns a word in lower case, as people may see it. What is no text is an error.
func ReadWord(data []byte) (string, error) {
	var text string
	err := json.Unmarshal(data, &text)
	return strings.ToLower(NewWord(text).String()), err
}

// UnmarshalJSON reads a word, and what is no text as it is written.
func (w *Word) UnmarshalJSON(data []byte) error {
	*w = NewWord(textIn(data))
	return nil
}

// UnmarshalJSON reads a name, and what is no text as it is written.
func (n *Name) UnmarshalJSON(data []byte) error {
	*n = NewName(textIn(data))
	return nil
}

// UnmarshalJSON reads a label, and what is no text as it is written.
func (l *Label) UnmarshalJSON(data []byte) error {
	*l = NewLabel(textIn(data))
	return nil
}

// UnmarshalJSON reads a line, and what is no text as it is written.
func (l *Line) UnmarshalJSON(data []byte) error {
	*l = NewLine(textIn(data))
	return nil
}

// inLine has unicode.ReplacementChar instead of every non-graphic character, and instead of the
// second sign of those pairs that a pipeline's log takes for the beginning of a command:
// ## anywhere, and :: but behind a letter or a digit, as in "FB::US".
func inLine(text string) string {
	var last, beforeLast rune
	return strings.Map(func(r rune) rune {
		isCommand := r == last && (r == '#' || r == ':' && !unicode.IsLetter(beforeLast) && !unicode.IsDigit(beforeLast))
		if isCommand || !unicode.IsGraphic(r) {
			r = unicode.ReplacementChar
		}
		beforeLast, last = last, r
		return r
	}, text)
}

// digits matches three digits and more, whatever but letters is between them, and twoDigits
// two, whatever is.
var (
	digits    = regexp.MustCompile(`\p{Nd}(?:[^\pL\p{Nd}]*\p{Nd}){2,}`)
	twoDigits = regexp.MustCompile(`\p{Nd}.*\p{Nd}`)
)

// cleaned is the beginning of a message of somebody else in one line.
func cleaned(text string) string {
	const enough = 8 << 10
	if len(text) > enough { // to the end of a word
		text = text[:strings.LastIndexAny(text[:enough], " \t\r\n")+1]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == 0, unicode.Is(unicode.Cf, r): // of UTF-16, and what takes no room
			return -1
		case !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, text)
	return inLine(strings.Join(strings.Fields(text), " "))
}

// plain is a message in which no secret is: it has numbers of two digits at most, and
// words that are short and have a digit at most, but for those that the request contains.
func plain(message, request string) string {
	const longest, length = 23, 500
	isSign := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	words := strings.Split(message, " ")
	for i, word := range words {
		isCoded := twoDigits.MatchString(word) && strings.ContainsFunc(word, unicode.IsLetter) || utf8.RuneCountInString(word) > longest
		if isCoded && !strings.Contains(request, strings.TrimFunc(word, isSign)) {
			words[i] = Redacted
		}
	}
	known := digits.FindAllString(request, -1)
	message = digits.ReplaceAllStringFunc(strings.Join(words, " "), func(number string) string {
		if slices.Contains(known, number) {
			return number
		}
		return Redacted
	})
	return shortened(message, length)
}

func shortened(text string, length int) string {
	for at := range text {
		if length--; length < 0 {
			return strings.Clone(text[:at]) + "…"
		}
	}
	return text
}

var (
	idForm   = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.~:=+-]*$`)
	notOfIDs = regexp.MustCompile(`[^A-Za-z0-9_.~:=+-]`)
)

// IsID reports whether a text can be the id of an object of the service, and nothing
// else to a shell, to Terraform or in a path.
func IsID(text string) bool {
	const longest = 256
	return len(text) <= longest && idForm.MatchString(text) && !keyForm.MatchString(text)
}

// markNoIDs writes instead of an id that is none what names its record to people and to
// nothing else: the text, of which a shell and HCL make nothing, and its hash. It
// reports whether there is one.
func markNoIDs(fields map[string]json.RawMessage) (found bool) {
	for field, value := range fields {
		name := strings.ToLower(field) // as json matches it
		var text string
		if name != "id" && !strings.HasSuffix(name, "_id") || json.Unmarshal(value, &text) != nil || text == "" || IsID(text) {
			continue
		}
		sum := sha256.Sum256(value)
		shown := notOfIDs.ReplaceAllString(NewWord(text).String(), string(unicode.ReplacementChar))
		fields[field] = fmt.Appendf(nil, `"%s (no id, %x)"`, shown, sum[:4])
		found = true
	}
	return found
}

// Redacted stands in the place of a secret.
const Redacted = "[redacted]"

// Secret is text that cannot be shown by accident: printed, logged or
// marshalled it is "[redacted]". It unmarshals from a JSON string.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// Format writes "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) } // a fmt.State keeps its own errors

// LogValue is "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalJSON writes "[redacted]".
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(Redacted) }
