// Package labels has the rules for comparing, generating and recognizing card labels.
package labels

import (
	"crypto/rand"
	"regexp"
	"strings"
	"time"
)

// DefaultPrefix is the label_prefix of a provider configuration that sets none.
const DefaultPrefix = "tf-"

// Canonical returns the form in which labels are compared. It has no white space at its ends, and one space for each
// other run of white space, because a service may store a label without its extra spaces.
func Canonical(label string) string {
	return strings.Join(strings.Fields(label), " ")
}

const dayLayout = "20060102"

// Generate returns a unique label, by which a card can be found if the response to its creation is lost. The prefix and
// the day, in UTC, help people to find the cards of a run.
func Generate(prefix string, now time.Time) string {
	const randomLength = 20 // characters with 5 random bits each
	day := now.UTC().Format(dayLayout)
	random := strings.ToLower(rand.Text()[:randomLength])
	return prefix + day + "-" + random
}

// generated matches the labels that Generate returns for prefixes of at most 32 characters that end in a hyphen. Its
// groups are the prefix and the day.
var generated = regexp.MustCompile(`^(.{0,31}-)(\d{8})-[a-z2-7]{20}$`)

// ParseGenerated returns the prefix and the day of a generated label. It reports false for labels
// of any other form.
func ParseGenerated(label string) (prefix string, day time.Time, ok bool) {
	parts := generated.FindStringSubmatch(label)
	if parts == nil {
		return "", time.Time{}, false
	}
	day, err := time.Parse(dayLayout, parts[2])
	if err != nil {
		return "", time.Time{}, false
	}
	return parts[1], day, true
}

// IsGenerated reports whether a label has the form of generated ones, with any prefix.
func IsGenerated(label string) bool {
	_, _, ok := ParseGenerated(label)
	return ok
}
