package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestAuthentication(t *testing.T) {
	t.Parallel()
	s := start(t)
	if !strings.HasPrefix(s.key, "sk_live_sandbox_") {
		t.Error("the key has the wrong form")
	}
	for name, header := range map[string]string{
		"none": "", "another scheme": "Basic " + s.key, "no scheme": s.key, "unknown": "Bearer sk_live_sandbox_0", "cut": "Bearer " + s.key[:30],
	} {
		for _, path := range []string{"/api/v1/bins", "/api/v1/nothing", "/_sandbox/clock"} {
			a := s.call(http.MethodGet, path, "", "Authorization", header)
			a.refused(401, "unauthorized", "API key")
			if strings.Contains(a.raw, s.key[16:]) {
				t.Errorf("%s: the answer shows a key", name)
			}
		}
	}
	s.call(http.MethodGet, "/api/v1/bins", "", "Authorization", "bearer "+s.key).ok(200)
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	s := start(t)
	for state, code := range map[string]string{
		"email_unconfirmed": "onboarding_incomplete", "no_deposit": "onboarding_incomplete", "api_not_enabled": "api_not_enabled",
	} {
		created := s.post("/_sandbox/accounts", `{"state":"`+state+`"}`).ok(201)
		fields(t, created.body, "account_id", "api_key")
		waiting := s.as(created.text("api_key"))
		waiting.get("/api/v1/bins").refused(403, code, "")
		waiting.post("/api/v1/cards", `{}`).refused(403, code, "")
		waiting.get("/_sandbox/clock").ok(200)
	}
	s.as(s.post("/_sandbox/accounts", `{"state":"ready"}`).text("api_key")).get("/api/v1/bins").ok(200)
	s.post("/_sandbox/accounts", `{"state":"rich"}`).refused(400, "invalid_request", "state must be one of")
	s.post("/_sandbox/accounts", ``).refused(400, "invalid_request", "state is required")
}

func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.issue("100")
	other := s.as(s.post("/_sandbox/accounts", `{"state":"ready","initial_balance":500}`).ok(201).text("api_key"))
	if got := other.wallet(); got != "500.00" {
		t.Errorf("the other wallet holds %s", got)
	}
	for _, c := range [][3]string{
		{"GET", "", ""},
		{"GET", "/details", ""},
		{"POST", "/freeze", ""},
		{"POST", "/unfreeze", ""},
		{"DELETE", "", ""},
		{"POST", "/fund", `{"amount":1}`},
		{"POST", "/withdraw", ""},
	} {
		other.call(c[0], "/api/v1/cards/"+id+c[1], c[2]).refused(404, "not_found", id)
	}
	if got := other.get("/api/v1/cards").text("total"); got != "0" {
		t.Errorf("the other account sees %s cards", got)
	}
	if s.get("/api/v1/wallet/deposit-address").raw == other.get("/api/v1/wallet/deposit-address").raw {
		t.Error("both accounts have the same deposit addresses")
	}
	other.issue("100")
	other.balanced()
	s.balanced()
	if got := s.wallet(); got != "9899.00" {
		t.Errorf("the first wallet holds %s", got)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range [][2]string{
		{"GET", "/"},
		{"GET", "/api/v1"},
		{"GET", "/api/v1/"},
		{"GET", "/api/v2/cards"},
		{"GET", "/api/v1/cards/"},
		{"GET", "/api/v1//cards"},
		{"GET", "/api/v1/../v1/cards"},
		{"PUT", "/api/v1/cards"},
		{"DELETE", "/api/v1/cards"},
		{"PATCH", "/api/v1/cards/card_x"},
		{"POST", "/api/v1/bins"},
		{"GET", "/api/v1/webhooks"},
		{"GET", "/_sandbox/nothing"},
		{"GET", "/api/v1/cards/card_x/freeze"},
		{"OPTIONS", "/api/v1/cards"},
	} {
		s.call(c[0], c[1], "").refused(404, "not_found", "")
	}
	for _, id := range []string{"card_x", strings.Repeat("x", 10<<10), "%00", "%2F", "card_%ff", "'%20OR%201=1--"} {
		s.get("/api/v1/cards/"+id).refused(404, "not_found", "")
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.issue("50")
	path := "/api/v1/cards/" + id + "/fund"
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
		s.post(path, `{"amount":1}`, "Content-Type", kind).refused(400, "invalid_request", "Content-Type")
	}
	for _, kind := range []string{"application/json", "Application/JSON; charset=UTF-8"} {
		s.post(path, `{"amount":1}`, "Content-Type", kind).ok(200)
	}
}
