package transport

import (
	"net/http"
	"slices"
	"strings"
)

// Fate is what an attempt to make a change shows about the change.
type Fate int

// The fates.
const (
	Unknown Fate = iota // the change may have been made
	Done                // a response says that the change was made
	NotDone             // the request was not sent, or the service did nothing
)

// fateOf returns what a response says about a change. It also reports whether the response is the service's final
// decision, so that a retry is useless. With Unknown, final means that a retry gets the same response. Only a 4xx
// response with an error code of the service can show that nothing was done, because a gateway may fail after the
// service has made the change.
func fateOf(status int, code string) (fate Fate, final bool) {
	code = strings.ToLower(code)
	codeHas := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(code, word) })
	}
	switch {
	case isSuccess(status):
		return Done, true
	case !isClientError(status), status == http.StatusRequestTimeout, code == "":
		// A gateway may have sent the response, or the service may have failed halfway.
		return Unknown, false
	case status == http.StatusTooManyRequests:
		return NotDone, false
	case codeHas("frozen", "terminated", "insufficient", "invalid", "blocked", "denied", "exceeded", "not_", "label"):
		// The service refused the change because of the card, the balance or the request itself. This case precedes
		// the next two, so that codes such as card_already_frozen and duplicate_label belong here.
		return NotDone, true
	case codeHas("in_flight", "in_progress", "in_use", "processing", "concurrent"):
		// An earlier request may still be running.
		return Unknown, false
	case codeHas("idempot", "duplicate", "already", "reused", "processed"):
		// The service knows the key, but does not say whether the change was made. A retry gets the same
		// response.
		return Unknown, true
	case status == http.StatusConflict:
		// The code does not say whether the conflict is with the card or with an earlier request.
		return Unknown, false
	}
	// An unknown code of the service is taken for a refusal.
	return NotDone, true
}

func isSuccess(status int) bool { return status >= 200 && status < 300 }

func isClientError(status int) bool { return status >= 400 && status < 500 }
