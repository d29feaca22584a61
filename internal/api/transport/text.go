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

// Text is text that the service may choose, or who writes to it, such as a merchant.
// Reading it never fails. It shows, however it is formatted or marshalled, as one line of
// graphic characters, no longer than its kind may be, and without what may be a secret.
type Text[K kind] struct{ raw string }

type (
	// Word is one of some words, such as a network.
	Word = Text[word]
	// Name is that of a merchant.
	Name = Text[name]
	// Label is that of a card.
	Label = Text[label]
	// Line is any other text, such as an address.
	Line = Text[line]
)

// kind says how many characters a text has at most, and whether a number in it may be as
// long as a card's.
type kind interface {
	allows() (length int, longNumbers bool)
}

type (
	word  struct{}
	name  struct{}
	label struct{}
	line  struct{}
)

func (word) allows() (int, bool)  { return 64, false }
func (name) allows() (int, bool)  { return 256, false }
func (label) allows() (int, bool) { return 64, true }
func (line) allows() (int, bool)  { return 256, true }

// keyForm matches a key and a webhook secret, longNumber what may be a card number.
var (
	keyForm    = regexp.MustCompile(`(?i)(?:sk_live_|whsec_)[\w.~+/=-]+`)
	longNumber = regexp.MustCompile(`\p{Nd}(?:[^\pL\p{Nd}:]{0,8}\p{Nd}){12,}`)
)

// Of is a text as the service tells it. What is longer than the kind may be ends in "…",
// and so equals no other text of a service or of a configuration.
func (Text[K]) Of(text string) Text[K] {
	const enough = 16 // times its length, of which redacting leaves what there is room for
	length, longNumbers := (*new(K)).allows()
	text = shortened(text, enough*length)
	if strings.Contains(text, "_") {
		text = keyForm.ReplaceAllString(text, Redacted)
	}
	if !longNumbers && len(text) >= 13 {
		text = longNumber.ReplaceAllString(text, Redacted)
	}
	return Text[K]{shortened(text, length)}
}

// UnmarshalJSON reads a text, and what is none as it is written.
func (t *Text[K]) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	*t = t.Of(text)
	return nil
}

// ReadWord returns a word in lower case, as people may see it. What is no text is an error.
func ReadWord(data []byte) (string, error) {
	var text string
	err := json.Unmarshal(data, &text)
	return strings.ToLower(Word{}.Of(text).String()), err
}

// Raw is the text as it came, to compare it by, and to show to nobody.
func (t Text[K]) Raw() string { return t.raw }

// String is the text as people may see it.
func (t Text[K]) String() string { return inLine(t.raw) }

// Format writes String for every verb.
func (t Text[K]) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), t.String()) // a fmt.State keeps its own errors
}

// MarshalText writes String.
func (t Text[K]) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// inLine has unicode.ReplacementChar in place of what is no graphic character, and of the
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

// markNoIDs writes in place of an id that is none what names its record to people and to
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
		shown := notOfIDs.ReplaceAllString(Word{}.Of(text).String(), string(unicode.ReplacementChar))
		fields[field] = fmt.Appendf(nil, `"%s (no id, %x)"`, shown, sum[:4])
		found = true
	}
	return found
}

// Redacted stands in the place of a secret.
const Redacted = "[redacted]"

// Secret is text that is shown to nobody by accident: printed, logged or
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
