// Package display formats text for people: sentences, numbers, and text from outside for a terminal.
package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence returns an error message as a sentence, with an upper-case first letter and a period.
func Sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[size:], ".") + "."
}

// Thousands separates the digits of a decimal number into groups of three, as in "-12,345.60".
func Thousands(number string) string {
	whole, fraction, hasFraction := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0 && unicode.IsDigit(rune(whole[i-1])); i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if hasFraction {
		whole += "." + fraction
	}
	return whole
}

// Printable replaces characters that could move the cursor of a terminal, except line breaks.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
