package sandbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

func accessChapters() []chapter {
	return []chapter{
		{"5_authentication", []rule{
			{"every_endpoint_needs_the_key", func(s *scene) {
				for _, call := range []string{
					"POST /cards", "GET /cards", "GET /cards/CARD", "GET /cards/CARD/details", "POST /cards/CARD/freeze", "POST /cards/CARD/unfreeze",
					"DELETE /cards/CARD", "POST /cards/CARD/fund", "POST /cards/CARD/withdraw", "GET /transactions", "GET /wallet/balance",
					"GET /wallet/deposit-address", "GET /bins", "GET /3ds", "POST /webhooks",
				} {
					s.do(call, "", "Authorization", "").refused(401, "unauthorized", "")
				}
			}},
			{"keys_begin_with_sk_live", func(s *scene) {
				if !strings.HasPrefix(s.key, "sk_live_") {
					s.t.Error("the key has another form")
				}
			}},
			{"a_missing_key_is_a_401", func(s *scene) { s.do("GET /bins", "", "Authorization", "").refused(401, "unauthorized", "") }},
			{"an_unknown_key_is_a_401", func(s *scene) {
				s.do("GET /bins", "", "Authorization", "Bearer sk_live_unknown").refused(401, "unauthorized", "")
			}},
			{"another_scheme_is_a_401", func(s *scene) {
				s.do("GET /bins", "", "Authorization", "Basic "+s.key).refused(401, "unauthorized", "")
			}},
			{"an_unconfirmed_email_is_a_403", notReady("email_unconfirmed", "onboarding_incomplete")},
			{"no_first_deposit_is_a_403", notReady("no_deposit", "onboarding_incomplete")},
			{"api_access_switched_off_is_a_403", notReady("api_not_enabled", "api_not_enabled")},
			{"a_key_moves_its_own_accounts_money_only", func(s *scene) {
				other := s.as(s.post("/_sandbox/accounts", `{"state":"ready","initial_balance":10}`).ok(201).text("api_key"))
				other.post("/api/v1/cards/"+s.card+"/withdraw", "").refused(404, "not_found", "")
				shows("GET /cards/CARD", "", "balance", "100.00")(s)
			}},
			{"deliveries_are_signed_over_the_raw_body", func(s *scene) {
				inbox := receive(s.t, nil)
				s = newScene(s.t, inbox.trusted)
				secret := s.subscribe(inbox.url, `"*"`).text("secret")
				s.freeze(s.card)
				if a := inbox.gets(1)[0]; !a.signedWith(secret) {
					s.t.Errorf("signed otherwise: %s", a.header.Get("X-Webhook-Signature"))
				}
			}},
		}},
		{"6_events", eventRules()},
		{"7_errors", []rule{
			{"400_has_two_fields", twoFields("POST /cards", `{}`, 400)},
			{"401_has_two_fields", func(s *scene) {
				fields(s.t, s.do("GET /bins", "", "Authorization", "").ok(401).body, "error", "message")
			}},
			{"403_has_two_fields", notReady("no_deposit", "onboarding_incomplete")},
			{"404_has_two_fields", twoFields("GET /cards/card_x", "", 404)},
			{"404_of_an_unknown_path_has_two_fields", twoFields("GET /nothing", "", 404)},
			{"404_of_an_unknown_method_has_two_fields", twoFields("PATCH /cards/CARD", "", 404)},
			{"429_has_two_fields", func(s *scene) {
				s.call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":1}`).ok(200)
				s.do("GET /bins", "").ok(200)
				twoFields("GET /bins", "", 429)(s)
			}},
			{"codes_are_stable", func(s *scene) {
				for _, body := range []string{`{}`, `{"amount":1}`, `[`} {
					if got := s.do("POST /cards", body).text("error"); got != "invalid_request" {
						s.t.Errorf("%s is refused with %s", body, got)
					}
				}
			}},
			{"bodies_that_are_no_json_are_a_400", invalid("POST /cards", `{`, "JSON")},
			{"names_given_twice_are_a_400", invalid("POST /cards/CARD/fund", `{"amount":1,"amount":1}`, "twice")},
			{"invalid_utf8_is_a_400", invalid("POST /cards", order("\"label\":\"\xff\""), "UTF-8")},
			{"success_is_200", answers("POST /cards/CARD/freeze", "", 200, "id", "status", "balance")},
			{"creation_is_201", answers("POST /webhooks", hook(""), 201, "id", "url", "events", "secret", "created_at")},
		}},
		{"8_limits", []rule{
			{"1000_requests_per_minute", limitedTo(1000, "requests_per_minute", "GET /bins", "")},
			{"50_card_creates_per_minute", limitedTo(50, "creates_per_minute", "POST /cards", order(`"label":"x"`))},
			{"10000_requests_per_hour", tenThousandPerHour},
			{"30_details_requests_per_minute", limitedTo(30, "details_per_minute", "GET /cards/CARD/details", "")},
			{"limits_are_per_key", func(s *scene) {
				s.call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":1}`).ok(200)
				other := s.as(s.post("/_sandbox/accounts", `{"state":"ready"}`).ok(201).text("api_key"))
				s.do("GET /bins", "").ok(200)
				s.do("GET /bins", "").ok(429)
				other.get("/api/v1/bins").ok(200)
			}},
			{"the_caller_may_go_on_after_a_wait", func(s *scene) {
				s.call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":1}`).ok(200)
				s.do("GET /bins", "").ok(200)
				wait := s.do("GET /bins", "").ok(429).header.Get("Retry-After")
				s.advance(wait + "s")
				s.do("GET /bins", "").ok(200)
			}},
			{"initial_load_is_at_least_50", invalid("POST /cards", order(`"amount":49.99`), "50.00")},
			{"issuance_fee_is_1_on_top", func(s *scene) {
				before := s.booked("fees")
				s.issue("50")
				if got := before + " " + s.booked("fees"); got != "1.00 2.00" {
					s.t.Errorf("fees went from and to %s", got)
				}
			}},
			{"label_has_at_most_64_characters", invalid("POST /cards", order(`"label":"`+strings.Repeat("x", 65)+`"`), "label has 65")},
			{"per_page_is_at_most_100", invalid("GET /cards?per_page=101", "", "per_page")},
			{"per_page_is_25_by_default", shows("GET /cards", "", "per_page", "25")},
			{"page_is_1_by_default", shows("GET /cards", "", "page", "1")},
		}},
		{"9_versioning", []rule{
			{"v1_is_in_the_path", accepts("GET /bins", "")},
			{"there_is_no_v2", func(s *scene) { s.get("/api/v2/bins").refused(404, "not_found", "") }},
		}},
	}
}

func notReady(state, code string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		waiting := s.as(s.post("/_sandbox/accounts", `{"state":"`+state+`"}`).ok(201).text("api_key"))
		waiting.get("/api/v1/bins").refused(403, code, "")
		waiting.post("/api/v1/webhooks", hook("")).refused(403, code, "")
	}
}

func twoFields(call, body string, status int) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		a := s.do(call, body).ok(status)
		fields(s.t, a.body, "error", "message")
		if a.text("error") == "" || a.text("message") == "" {
			s.t.Errorf("a field is empty: %s", a.raw)
		}
	}
}

// limitedTo makes a call as often as a documented limit allows, with the other
// limits out of the way, and once more.
func limitedTo(most int, name, call, body string) func(*scene) {
	return func(s *scene) {
		s.t.Helper()
		others := slices.DeleteFunc([]string{"requests_per_minute", "creates_per_minute", "requests_per_hour", "details_per_minute"},
			func(other string) bool { return other == name })
		s.call(http.MethodPut, "/_sandbox/limits", fmt.Sprintf(`{%q:0,%q:0,%q:0}`, others[0], others[1], others[2])).ok(200)
		for range most {
			accepts(call, body)(s)
		}
		refuses(call, body, 429, "rate_limited", "")(s)
		if s.do(call, body).header.Get("Retry-After") == "" {
			s.t.Error("no Retry-After")
		}
	}
}

func tenThousandPerHour(s *scene) {
	path := filepath.Join(s.t.TempDir(), "s.db")
	s = newScene(s.t, func(o *sandbox.Options) { o.Path = path })
	s.call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":0}`).ok(200)
	s.do("GET /bins", "").ok(200)
	// As if 9,999 more had been made at the same moment.
	run(s.t, path, `
		WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		INSERT INTO counted_calls SELECT account_id, class, i, time FROM counted_calls, n`)
	s.advance("20m")
	s.do("GET /bins", "").overLimit("2400")
	s.advance("40m")
	s.do("GET /bins", "").ok(200)
}

func eventNames() []string {
	return strings.Fields(`card.created card.frozen card.unfrozen card.terminated card.funded transaction.authorized transaction.settled
		transaction.declined transaction.refunded 3ds.challenge deposit.pending deposit.confirmed`)
}

// eventRules cause each event and wait for it at an endpoint that asked for it
// alone, beside one that asked for all.
func eventRules() []rule {
	causes := map[string]func(*scene){
		"card.created":           func(s *scene) { s.issue("50") },
		"card.frozen":            func(s *scene) { s.freeze(s.card) },
		"card.unfrozen":          after(accepts("POST /cards/CARD/unfreeze", ""), freezes),
		"card.terminated":        accepts("DELETE /cards/CARD", ""),
		"card.funded":            accepts("POST /cards/CARD/fund", `{"amount":1}`),
		"transaction.authorized": func(s *scene) { s.authorized(s.card, "1") },
		"transaction.settled":    func(s *scene) { s.settled(s.authorized(s.card, "1"), "1") },
		"transaction.declined":   func(s *scene) { s.authorize(s.card, "1000").ok(201) },
		"transaction.refunded":   func(s *scene) { s.refunded(s.settled(s.authorized(s.card, "1"), "1"), "1") },
		"3ds.challenge":          func(s *scene) { s.challenge(s.card).ok(201) },
		"deposit.pending":        func(s *scene) { s.deposit("btc", "5").ok(201) },
		"deposit.confirmed":      func(s *scene) { s.confirm(s.deposit("btc", "5").ok(201).text("id")).ok(200) },
	}
	var rules []rule
	for _, name := range eventNames() {
		rules = append(rules, rule{name, func(s *scene) {
			one, all := receive(s.t, nil), receive(s.t, nil)
			s = newScene(s.t, func(o *sandbox.Options) { o.WebhookCA = append(one.authority(), all.authority()...) })
			s.subscribe(one.url, `"`+name+`"`)
			s.subscribe(all.url, `"*"`)
			causes[name](s)
			if payload := one.gets(1)[0].payload(s.t); payload["type"] != name {
				s.t.Errorf("got %v", payload["type"])
			}
			eventually(s.t, func() bool {
				return slices.ContainsFunc(all.arrivals(), func(a arrival) bool { return a.payload(s.t)["type"] == name })
			})
			for _, a := range one.arrivals() {
				if a.payload(s.t)["type"] != name {
					s.t.Errorf("an endpoint that asked for %s got %s", name, a.body)
				}
			}
		}})
	}
	return rules
}
