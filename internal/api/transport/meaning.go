package transport

import (
	"net/http"
	"slices"
	"strings"
)

type meaning int

const (
	unknown     meaning = iota // it may have taken effect
	done                       // the service says that it took effect
	notSent                    // it has not reached the service, and may be sent again
	rateLimited                // the service did nothing: a limit is used up
	refused                    // the service did nothing, and would not
	keyRefused                 // the service has met the idempotency key, or the request, before
)

// meaningOf says what a response to a mutation tells. Only the service's own words, which
// have a code, tell that nothing was done: a gateway may hide what was.
func meaningOf(status int, code string) meaning {
	code = strings.ToLower(code)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(code, word) })
	}
	switch {
	case status >= 200 && status < 300:
		return done
	case status < 400, status >= 500, status == http.StatusRequestTimeout, code == "":
		return unknown
	case status == http.StatusTooManyRequests:
		return rateLimited
	case has("frozen", "terminated", "insufficient", "invalid", "blocked", "denied", "exceeded", "not_", "label"):
		return refused
	case has("in_flight", "in_progress", "in_use", "processing", "concurrent"):
		return unknown
	case has("idempot", "duplicate", "already", "reused", "processed"):
		return keyRefused
	case status == http.StatusConflict:
		return unknown
	}
	return refused
}
