package sandbox_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func accessSections() []section {
	return []section{
		{"5_authentication", []rule{
			{"every_endpoint_needs_the_key", func(s *fixture) {
				for _, call := range []string{
					"POST /cards", "GET /cards", "GET /cards/CARD", "GET /cards/CARD/details", "POST /cards/CARD/freeze", "POST /cards/CARD/unfreeze",
					"DELETE /cards/CARD", "POST /cards/CARD/fund", "POST /cards/CARD/withdraw", "GET /transactions", "GET /wallet/balance",
					"GET /wallet/deposit-address", "GET /bins", "GET /3ds", "POST /webhooks",
				} {
					s.do(call, "", "Authorization", "").Refused(401, "unauthorized", "")
				}
			}},
			{"keys_begin_with_sk_live", func(s *fixture) {
				if !strings.HasPrefix(s.Key, "sk_live_") {
					s.T.Error("the key has another form")
				}
			}},
			{"a_missing_key_is_a_401", func(s *fixture) { s.do("GET /bins", "", "Authorization", "").Refused(401, "unauthorized", "") }},
			{"an_unknown_key_is_a_401", func(s *fixture) {
				s.do("GET /bins", "", "Authorization", "Bearer sk_live_unknown").Refused(401, "unauthorized", "")
			}},
			{"another_scheme_is_a_401", func(s *fixture) {
				s.do("GET /bins", "", "Authorization", "Basic "+s.Key).Refused(401, "unauthorized", "")
			}},
			{"an_unconfirmed_email_is_a_403", notReady("email_unconfirmed", "onboarding_incomplete")},
			{"no_first_deposit_is_a_403", notReady("no_deposit", "onboarding_incomplete")},
			{"api_access_switched_off_is_a_403", notReady("api_not_enabled", "api_not_enabled")},
			{"a_key_moves_its_own_accounts_money_only", func(s *fixture) {
				other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":10}`).OK(201).Text("api_key"))
				other.Post("/api/v1/cards/"+s.card+"/withdraw", "").Refused(404, "not_found", "")
				shows("GET /cards/CARD", "", "balance", "100.00")(s)
			}},
			{"deliveries_are_signed_over_the_raw_body", func(s *fixture) {
				inbox := sandboxtest.NewReceiver(s.T, nil)
				s = newFixture(s.T, inbox.Trusted)
				secret := s.subscribe(inbox.URL, `"*"`).Text("secret")
				s.Freeze(s.card)
				if a := inbox.Wait(1)[0]; !a.SignedWith(secret) {
					s.T.Errorf("signed otherwise: %s", a.Header.Get("X-Webhook-Signature"))
				}
			}},
		}},
		{"6_events", eventRules()},
		{"7_errors", []rule{
			{"400_has_two_fields", twoFields("POST /cards", `{}`, 400)},
			{"401_has_two_fields", func(s *fixture) {
				fields(s.T, s.do("GET /bins", "", "Authorization", "").OK(401).Body, "error", "message")
			}},
			{"403_has_two_fields", notReady("no_deposit", "onboarding_incomplete")},
			{"404_has_two_fields", twoFields("GET /cards/card_x", "", 404)},
			{"404_of_an_unknown_path_has_two_fields", twoFields("GET /nothing", "", 404)},
			{"404_of_an_unknown_method_has_two_fields", twoFields("PATCH /cards/CARD", "", 404)},
			{"429_has_two_fields", func(s *fixture) {
				s.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
				s.do("GET /bins", "").OK(200)
				twoFields("GET /bins", "", 429)(s)
			}},
			{"codes_are_stable", func(s *fixture) {
				for _, body := range []string{`{}`, `{"amount":1}`, `[`} {
					if got := s.do("POST /cards", body).Text("error"); got != "invalid_request" {
						s.T.Errorf("%s is refused with %s", body, got)
					}
				}
			}},
			{"bodies_that_are_no_json_are_a_400", invalid("POST /cards", `{`, "JSON")},
			{"names_given_twice_are_a_400", invalid("POST /cards/CARD/fund", `{"amount":1,"amount":1}`, "twice")},
			{"invalid_utf8_is_a_400", invalid("POST /cards", order("\"label\":\"\xff\""), "UTF-8")},
		}},
		{"8_limits", []rule{
			{"1000_requests_per_minute", limitedTo(1000, "requests_per_minute", "GET /bins", "")},
			{"50_card_creates_per_minute", limitedTo(50, "creates_per_minute", "POST /cards", order(`"label":"x"`))},
			{"30_details_requests_per_minute", limitedTo(30, "details_per_minute", "GET /cards/CARD/details", "")},
			{"limits_are_per_key", func(s *fixture) {
				s.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
				other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key"))
				s.do("GET /bins", "").OK(200)
				s.do("GET /bins", "").OK(429)
				other.Get("/api/v1/bins").OK(200)
			}},
			{"the_caller_may_go_on_after_a_wait", func(s *fixture) {
				s.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
				s.do("GET /bins", "").OK(200)
				wait := s.do("GET /bins", "").OK(429).Header.Get("Retry-After")
				s.Advance(wait + "s")
				s.do("GET /bins", "").OK(200)
			}},
			{"initial_load_is_at_least_50", invalid("POST /cards", order(`"amount":49.99`), "50.00")},
			{"issuance_fee_is_1_on_top", func(s *fixture) {
				before := s.accountBalance("fees")
				s.Issue("50")
				if got := before + " " + s.accountBalance("fees"); got != "1.00 2.00" {
					s.T.Errorf("fees went from and to %s", got)
				}
			}},
			{"label_has_at_most_64_characters", invalid("POST /cards", order(`"label":"`+strings.Repeat("x", 65)+`"`), "label has 65")},
			{"per_page_is_at_most_100", invalid("GET /cards?per_page=101", "", "per_page")},
			{"per_page_is_25_by_default", shows("GET /cards", "", "per_page", "25")},
			{"page_is_1_by_default", shows("GET /cards", "", "page", "1")},
		}},
		{"9_versioning", []rule{
			{"v1_is_in_the_path", accepts("GET /bins", "")},
			{"there_is_no_v2", func(s *fixture) { s.Get("/api/v2/bins").Refused(404, "not_found", "") }},
		}},
	}
}

func notReady(state, code string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		waiting := s.as(s.Post("/_sandbox/accounts", `{"state":"`+state+`"}`).OK(201).Text("api_key"))
		waiting.Get("/api/v1/bins").Refused(403, code, "")
		waiting.Post("/api/v1/webhooks", hook("")).Refused(403, code, "")
	}
}

func twoFields(call, body string, status int) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		a := s.do(call, body).OK(status)
		fields(s.T, a.Body, "error", "message")
		if a.Text("error") == "" || a.Text("message") == "" {
			s.T.Errorf("a field is empty: %s", a.Raw)
		}
	}
}

// limitedTo makes a call as often as a documented limit allows, with the other
// limits out of the way, and once more.
func limitedTo(most int, name, call, body string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		others := slices.DeleteFunc([]string{"requests_per_minute", "creates_per_minute", "requests_per_hour", "details_per_minute"},
			func(other string) bool { return other == name })
		s.Call(http.MethodPut, "/_sandbox/limits", fmt.Sprintf(`{%q:0,%q:0,%q:0}`, others[0], others[1], others[2])).OK(200)
		for range most {
			accepts(call, body)(s)
		}
		refuses(call, body, 429, "rate_limited", "")(s)
		if s.do(call, body).Header.Get("Retry-After") == "" {
			s.T.Error("no Retry-After")
		}
	}
}

func eventNames() []string {
	return strings.Fields(`card.created card.frozen card.unfrozen card.terminated card.funded transaction.authorized transaction.settled
		transaction.declined transaction.refunded 3ds.challenge deposit.pending deposit.confirmed`)
}

// eventRules cause each event and wait for it at an endpoint that asked for it
// alone, beside one that asked for all.
func eventRules() []rule {
	causes := map[string]func(*fixture){
		"card.created":           func(s *fixture) { s.Issue("50") },
		"card.frozen":            func(s *fixture) { s.Freeze(s.card) },
		"card.unfrozen":          after(accepts("POST /cards/CARD/unfreeze", ""), freezes),
		"card.terminated":        accepts("DELETE /cards/CARD", ""),
		"card.funded":            accepts("POST /cards/CARD/fund", `{"amount":1}`),
		"transaction.authorized": func(s *fixture) { s.authorized(s.card, "1") },
		"transaction.settled":    func(s *fixture) { s.settled(s.authorized(s.card, "1"), "1") },
		"transaction.declined":   func(s *fixture) { s.authorize(s.card, "1000").OK(201) },
		"transaction.refunded":   func(s *fixture) { s.refunded(s.settled(s.authorized(s.card, "1"), "1"), "1") },
		"3ds.challenge":          func(s *fixture) { s.challenge(s.card).OK(201) },
		"deposit.pending":        func(s *fixture) { s.deposit("btc", "5").OK(201) },
		"deposit.confirmed":      func(s *fixture) { s.confirm(s.deposit("btc", "5").OK(201).Text("id")).OK(200) },
	}
	var rules []rule
	for _, name := range eventNames() {
		rules = append(rules, rule{name, func(s *fixture) {
			one, all := sandboxtest.NewReceiver(s.T, nil), sandboxtest.NewReceiver(s.T, nil)
			s = newFixture(s.T, func(o *sandboxtest.Options) { o.WebhookCA = append(one.CA(), all.CA()...) })
			s.subscribe(one.URL, `"`+name+`"`)
			s.subscribe(all.URL, `"*"`)
			causes[name](s)
			if payload := one.Wait(1)[0].Payload(); payload["type"] != name {
				s.T.Errorf("got %v", payload["type"])
			}
			sandboxtest.Eventually(s.T, func() bool {
				return slices.ContainsFunc(all.Events(), func(a sandboxtest.Event) bool { return a.Payload()["type"] == name })
			})
			for _, a := range one.Events() {
				if a.Payload()["type"] != name {
					s.T.Errorf("an endpoint that asked for %s got %s", name, a.Body)
				}
			}
		}})
	}
	return rules
}
