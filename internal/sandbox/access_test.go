package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestAuthentication(t *testing.T) {
	t.Parallel()
	s := start(t)
	if !strings.HasPrefix(s.Key, "sk_live_sandbox_") {
		t.Error("the key has the wrong form")
	}
	for name, header := range map[string]string{
		"none": "", "another scheme": "Basic " + s.Key, "no scheme": s.Key, "unknown": "Bearer sk_live_sandbox_0", "cut": "Bearer " + s.Key[:30],
	} {
		for _, path := range []string{"/api/v1/bins", "/api/v1/nothing", "/_sandbox/clock"} {
			a := s.Call(http.MethodGet, path, "", "Authorization", header)
			a.Refused(401, "unauthorized", "API key")
			if strings.Contains(a.Raw, s.Key[16:]) {
				t.Errorf("%s: the response shows a key", name)
			}
		}
	}
	s.Call(http.MethodGet, "/api/v1/bins", "", "Authorization", "bearer "+s.Key).OK(200)
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	s := start(t)
	for state, code := range map[string]string{
		"email_unconfirmed": "onboarding_incomplete", "no_deposit": "onboarding_incomplete", "api_not_enabled": "api_not_enabled",
	} {
		created := s.Post("/_sandbox/accounts", `{"state":"`+state+`"}`).OK(201)
		fields(t, created.Body, "account_id", "api_key")
		waiting := s.as(created.Text("api_key"))
		waiting.Get("/api/v1/bins").Refused(403, code, "")
		waiting.Post("/api/v1/cards", `{}`).Refused(403, code, "")
		waiting.Get("/_sandbox/clock").OK(200)
	}
	s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key")).Get("/api/v1/bins").OK(200)
	s.Post("/_sandbox/accounts", `{"state":"rich"}`).Refused(400, "invalid_request", "state must be one of")
	s.Post("/_sandbox/accounts", ``).Refused(400, "invalid_request", "state is required")
}

func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("100")
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":500}`).OK(201).Text("api_key"))
	if got := other.Wallet().String(); got != "500.00" {
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
		other.Call(c[0], "/api/v1/cards/"+id+c[1], c[2]).Refused(404, "not_found", id)
	}
	if got := other.Get("/api/v1/cards").Text("total"); got != "0" {
		t.Errorf("the other account sees %s cards", got)
	}
	if s.Get("/api/v1/wallet/deposit-address").Raw == other.Get("/api/v1/wallet/deposit-address").Raw {
		t.Error("both accounts have the same deposit addresses")
	}
	other.Issue("100")
	other.Balanced()
	s.Balanced()
	if got := s.Wallet().String(); got != "9899.00" {
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
		s.Call(c[0], c[1], "").Refused(404, "not_found", "")
	}
	for _, id := range []string{"card_x", strings.Repeat("x", 10<<10), "%00", "%2F", "card_%ff", "'%20OR%201=1--"} {
		s.Get("/api/v1/cards/"+id).Refused(404, "not_found", "")
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("50")
	path := "/api/v1/cards/" + id + "/fund"
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
		s.Post(path, `{"amount":1}`, "Content-Type", kind).Refused(400, "invalid_request", "Content-Type")
	}
	for _, kind := range []string{"application/json", "Application/JSON; charset=UTF-8"} {
		s.Post(path, `{"amount":1}`, "Content-Type", kind).OK(200)
	}
}
