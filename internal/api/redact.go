package api

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scrubber takes out of foreign text what may be a secret.
type scrubber struct {
	key      *strings.Replacer // does not show it when printed
	patterns *regexp.Regexp
}

func newScrubber(key string) scrubber {
	return scrubber{
		key: strings.NewReplacer(key, redacted),
		// Keys, webhook secrets, and digits that are long enough for a card number.
		patterns: regexp.MustCompile(`sk_live_\w+|whsec_\w+|\d(?:[ -]?\d){12,18}`),
	}
}

// excerpt returns the beginning of text in one printable line.
func (s scrubber) excerpt(text string) string {
	const bound = 64 << 10 // more than any excerpt, less than any trouble
	limit := 500
	text = text[:min(len(text), bound)]
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	text = s.patterns.ReplaceAllString(s.key.Replace(text), redacted)
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
