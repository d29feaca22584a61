//go:build unix

package chaos_test

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// fault is what becomes of one request.
type fault string

const (
	none              fault = ""
	lostBefore        fault = "lost before"         // never processed, connection broken
	lostAfter         fault = "lost after"          // processed, connection broken
	repeated          fault = "repeated"            // processed twice by the network
	late              fault = "late"                // processed after the caller gave up
	garbled           fault = "garbled"             // processed, the body is not JSON
	cutOff            fault = "cut off"             // processed, half a body
	gatewayMissing    fault = "gateway 404"         // not processed, a page of HTML
	gatewayPage       fault = "gateway 200 page"    // processed, a page of HTML
	gatewayEmpty      fault = "gateway 200 {}"      // processed, an empty object
	notShown          fault = "not shown"           // 404 in the service's own words
	acceptedOnly      fault = "accepted only"       // 202, and never processed
	conflict          fault = "conflict"            // 409, not processed
	rateLimited       fault = "rate limited"        // 429, not processed
	serverErrorBefore fault = "server error before" // 5xx, not processed
	serverErrorAfter  fault = "server error after"  // 5xx, processed
	gatewayRefuses    fault = "gateway 403 after"   // processed, a page of HTML
	gatewayPaces      fault = "gateway 429 after"   // likewise
	stale             fault = "stale"               // as it was read some seconds ago
	oldAnswer         fault = "old answer"          // processed, with the balance of before
	killBefore        fault = "kill before"         // the caller dies before its request is processed
	killAfter         fault = "kill after"          // the caller dies before the response
	killLate          fault = "kill late"           // the caller dies, its request is processed later
	interrupted       fault = "interrupted"         // the caller is asked to stop, the request goes on
)

// answer is one in place of the service's, which may have processed the request.
type answer struct {
	processed bool
	status    int
	body      string
}

func answers() map[fault]answer {
	const page = "<html><h1>Go away</h1></html>"
	return map[fault]answer{
		garbled:           {true, http.StatusOK, "\x1f\x8b\x08garbled"},
		gatewayMissing:    {false, http.StatusNotFound, page},
		gatewayPage:       {true, http.StatusOK, page},
		gatewayEmpty:      {true, http.StatusOK, "{}"},
		acceptedOnly:      {false, http.StatusAccepted, `{"status":"processing"}`},
		notShown:          {false, http.StatusNotFound, `{"error":"not_found","message":"there is no such card"}`},
		conflict:          {false, http.StatusConflict, `{"error":"request_in_progress","message":"try again"}`},
		rateLimited:       {false, http.StatusTooManyRequests, `{"error":"rate_limited","message":"slow down"}`},
		serverErrorBefore: {false, http.StatusBadGateway, "bad gateway"},
		serverErrorAfter:  {true, http.StatusInternalServerError, `{"error":"internal","message":"sorry"}`},
		gatewayRefuses:    {true, http.StatusForbidden, page},
		gatewayPaces:      {true, http.StatusTooManyRequests, page},
	}
}

// kind is what a call does.
func kind(r *http.Request) string {
	switch {
	case r.Method == http.MethodGet:
		return "read"
	case r.Method == http.MethodDelete:
		return "terminate"
	case strings.HasSuffix(r.URL.Path, "/cards"):
		return "create"
	}
	return r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
}

func mutates(r *http.Request) bool { return r.Method != http.MethodGet }

// profile says how a service and the network before it behave, and what the
// client is told of it.
type profile struct {
	name        string
	idempotency string // the sandbox's quirk
	told        string // idempotency_keys of the provider
	repeats     bool   // the network repeats requests
	longest     time.Duration
	afterKill   time.Duration // until the next run begins, at least
	// strict says that nothing may be doubled or lost; else it has to be named.
	strict bool
	// settled says that balances fall at settlement and not at authorization.
	settled bool
	// hands move money outside Terraform too, and users change their minds.
	hands bool
	// restores says that states of some steps ago come back.
	restores bool
	// lag is for how long a service may show at the most what it has shown before,
	// at each address for a time of its own.
	lag time.Duration
	// ahead is by how much the Date of responses is off.
	ahead time.Duration
}

func profiles() []profile {
	const long, withinTheWait = 50 * time.Minute, 20 * time.Second
	const lag, skew = 8 * time.Second, 200 * time.Second
	return []profile{
		{name: "honoured", idempotency: "honoured", told: "honoured", repeats: true, longest: long, strict: true},
		{name: "honoured, not told", idempotency: "honoured", told: "unknown", repeats: true, longest: withinTheWait, afterKill: time.Minute, strict: true},
		{name: "ignored", idempotency: "ignored", told: "unknown", longest: withinTheWait, afterKill: time.Minute, strict: true},
		{name: "ignored, wild", idempotency: "ignored", told: "unknown", repeats: true, longest: long, hands: true},
		{name: "honoured, settled balances", idempotency: "honoured", told: "honoured", repeats: true, longest: long, strict: true, settled: true},
		{name: "ignored, settled balances", idempotency: "ignored", told: "unknown", longest: withinTheWait, afterKill: time.Minute, strict: true, settled: true},
		{name: "settled balances, wild", idempotency: "ignored", told: "unknown", repeats: true, longest: long, hands: true, settled: true},
		{name: "honoured, wild", idempotency: "honoured", told: "honoured", repeats: true, longest: long, hands: true},
		{name: "honoured, restored states", idempotency: "honoured", told: "honoured", repeats: true, longest: long, restores: true, strict: true},
		{name: "ignored, restored states", idempotency: "ignored", told: "unknown", longest: withinTheWait, afterKill: time.Minute, restores: true, strict: true},
		{name: "honoured, lags", idempotency: "honoured", told: "honoured", longest: long, afterKill: lag, lag: lag, strict: true},
		{name: "ignored, lags", idempotency: "ignored", told: "unknown", longest: withinTheWait, afterKill: time.Minute, lag: lag, strict: true},
		{name: "honoured, clock ahead", idempotency: "honoured", told: "honoured", longest: long, ahead: skew, strict: true},
		{name: "ignored, clock ahead", idempotency: "ignored", told: "unknown", longest: withinTheWait, afterKill: time.Minute, ahead: skew, strict: true},
		{name: "ignored, clock behind", idempotency: "ignored", told: "unknown", longest: withinTheWait, afterKill: time.Minute, ahead: -skew, strict: true},
	}
}

// ofMutations are the faults that any call meets which changes something.
func ofMutations() []fault {
	return []fault{
		lostBefore, lostAfter, late, garbled, cutOff, gatewayMissing, gatewayPage, gatewayEmpty, acceptedOnly,
		conflict, rateLimited, serverErrorBefore, serverErrorAfter, gatewayRefuses, gatewayPaces, interrupted,
	}
}

// draw draws what becomes of a call of a kind.
func (p profile) draw(r *rand.Rand, kind string) fault {
	percent := map[string]int{"read": 6, "create": 50}[kind]
	if p.lag > 0 && kind == "read" {
		percent = 40
	}
	if r.IntN(100) >= cmp.Or(percent, 35) {
		return none
	}
	if kind == "read" && p.lag > 0 && r.IntN(2) == 0 {
		return stale
	}
	if kind == "read" {
		return pick(r, lostBefore, garbled, cutOff, gatewayMissing, gatewayPage, gatewayEmpty, notShown, rateLimited, serverErrorBefore)
	}
	faults := ofMutations()
	if p.repeats {
		faults = append(faults, repeated)
	}
	if p.lag > 0 && (kind == "fund" || kind == "withdraw") {
		faults = append(faults, oldAnswer, oldAnswer)
	}
	if kind == "terminate" {
		faults = append(faults, notShown, notShown)
	}
	return pick(r, faults...)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
