package transport

import (
	"net/http"
	"slices"
	"strings"
)

// Fate is what is known of a change after an attempt.
type Fate int

// The fates.
const (
	Unknown Fate = iota // it may have been made
	Done                // the service says that it was made
	NotDone             // it was not made: nothing was sent, or the service did nothing
)

// fateOf says what a response to a change means, and whether it is the service's own
// final word, after which trying again is of no use. Only the service's own words, which
// have a code, say that nothing was done: a gateway may hide what was.
func fateOf(status int, code string) (fate Fate, final bool) {
	code = strings.ToLower(code)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(code, word) })
	}
	switch {
	case isSuccess(status):
		return Done, true
	case status/100 != 4, status == http.StatusRequestTimeout, code == "":
		return Unknown, false
	case status == http.StatusTooManyRequests:
		return NotDone, false
	case has("frozen", "terminated", "insufficient", "invalid", "blocked", "denied", "exceeded", "not_", "label"):
		return NotDone, true
	case has("in_flight", "in_progress", "in_use", "processing", "concurrent"):
		return Unknown, false
	case has("idempot", "duplicate", "already", "reused", "processed"): // seen before: made or not, and sending it again tells no more
		return Unknown, true
	case status == http.StatusConflict:
		return Unknown, false
	}
	return NotDone, true
}

func isSuccess(status int) bool { return status/100 == 2 }
