// Package display formats text for people: sentences, numbers, and text from outside for a terminal.
package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence returns an error message as a sentence, with an upper-case first letter and a period, or "" for an empty
// message.
func Sentence(message string) string {
	if message == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(message)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[size:], ".") + "."
}

// Thousands separates the thousands of a decimal number with commas, as in "-12,345.60".
func Thousands(number string) string {
	integer, fraction, hasFraction := strings.Cut(number, ".")
	digits := strings.TrimLeft(integer, "+-")
	sign := strings.TrimSuffix(integer, digits)
	var grouped strings.Builder
	grouped.WriteString(sign)
	for i, digit := range digits {
		remaining := len(digits) - i
		if i > 0 && remaining%3 == 0 {
			grouped.WriteByte(',')
		}
		grouped.WriteRune(digit)
	}
	if hasFraction {
		grouped.WriteString("." + fraction)
	}
	return grouped.String()
}

// Printable replaces control characters and other characters that are not graphic with U+FFFD, because they could change
// what a terminal shows. It keeps "\n".
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
