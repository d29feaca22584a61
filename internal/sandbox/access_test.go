package sandbox_test

import (
	"fmt"
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

// An account that is not ready uses the control calls alone; its first deposit ends its
// onboarding.
func TestReadiness(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	for state, codes := range map[string][2]string{
		"email_unconfirmed": {"onboarding_incomplete", "onboarding_incomplete"}, "no_deposit": {"onboarding_incomplete", "api_not_enabled"},
		"api_not_enabled": {"api_not_enabled", "api_not_enabled"}, "ready": {"", ""},
	} {
		newcomer := s.as(s.Post("/_sandbox/accounts", `{"state":"`+state+`"}`).OK(201).Text("api_key"))
		deposit := newcomer.Post("/_sandbox/deposits", `{"currency":"usdt","amount":100}`).OK(201).Text("id")
		for i, code := range codes {
			if got := newcomer.Get("/bins"); code == "" {
				got.OK(200)
			} else {
				got.Refused(403, code, "")
				newcomer.Post("/cards", `{}`).Refused(403, code, "")
			}
			newcomer.Get("/_sandbox/clock").OK(200)
			if i == 0 {
				newcomer.Post("/_sandbox/deposits/"+deposit+"/confirm", "").OK(200)
			}
		}
		newcomer.Balanced()
	}
}

// Only the first account's key lists the accounts of the file, and changes what all meet.
func TestAccountsAreListed(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.Post("/_sandbox/accounts", `{"state":"no_deposit"}`).OK(201)
	list := s.Get("/_sandbox/accounts").OK(200)
	want := fmt.Sprintf("[map[account_id:acct_first state:ready] map[account_id:%s state:no_deposit]]", other.Text("account_id"))
	if got := fmt.Sprint(list.Data()); list.Text("total") != "2" || got != want {
		t.Errorf("the accounts are %s", list.Raw)
	}
	if second := s.Get("/_sandbox/accounts?page=2&per_page=1").OK(200).Data(); len(second) != 1 || second[0]["account_id"] != other.Text("account_id") {
		t.Errorf("the second page is %v", second)
	}
	ready := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key"))
	const refused = ` → 403 "first_account_only" & first account`
	ready.play(s.populate(), strings.ReplaceAll(`
		GET /_sandbox/accounts ONLY
		GET /_sandbox/seed ONLY
		POST /_sandbox/clock {"advance":"1h"} ONLY
		PUT /_sandbox/limits {} ONLY
		PUT /_sandbox/quirks {} ONLY
		POST /_sandbox/faults {"method":"GET","path":"/bins","then":{"status":503}} ONLY
		DELETE /_sandbox/faults ONLY
		DELETE /_sandbox/faults/1 ONLY
		POST /_sandbox/seed {} ONLY
		POST /_sandbox/simulate {"days":1} ONLY
		POST /_sandbox/reset ONLY
		GET /_sandbox/clock → 200
		GET /_sandbox/limits → 200
		GET /_sandbox/quirks → 200
		GET /_sandbox/faults → 200`, " ONLY", refused))
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, call := range []string{
		"GET /", "GET /api/v1", "GET /api/v1/", "GET /api/v2/cards", "GET /api/v1/cards/", "GET /api/v1//cards", "GET /api/v1/../v1/cards",
		"PUT /api/v1/cards", "DELETE /api/v1/cards", "PATCH /api/v1/cards/card_x", "POST /api/v1/bins", "GET /api/v1/webhooks",
		"GET /_sandbox/nothing", "GET /api/v1/cards/card_x/freeze", "OPTIONS /api/v1/cards",
	} {
		method, path, _ := strings.Cut(call, " ")
		s.Call(method, path, "").Refused(404, "not_found", "")
	}
	for _, id := range []string{"card_x", strings.Repeat("x", 10<<10), "%00", "%2F", "card_%ff", "'%20OR%201=1--"} {
		s.Get("/api/v1/cards/"+id).Refused(404, "not_found", "")
	}
}
