package sandbox_test

import (
	"fmt"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func listSections() []section {
	currencies := strings.Fields(`btc eth sol usdt bnb trx pol ltc avax arb`)
	addresses := make([]rule, 0, len(currencies))
	for _, currency := range currencies {
		addresses = append(addresses, rule{currency + "_has_an_address", func(s *fixture) {
			if data := s.do("GET /wallet/deposit-address?currency="+currency, "").OK(200).Data(); len(data) != 1 || data[0]["currency"] != currency {
				s.T.Errorf("%s has %v", currency, data)
			}
		}})
	}
	return []section{
		{"4.10_transactions", []rule{
			{"newest_first", newestTransactionFirst},
			{"those_of_all_cards_are_listed", ofTwoCards("", 2)},
			{"card_id_filters", ofTwoCards("?card_id=CARD", 1)},
			{"card_id_of_no_card_lists_none", ofTwoCards("?card_id=card_x", 0)},
			{"type_authorization_filters", ofEachType("authorization", 2)},
			{"type_settlement_filters", ofEachType("settlement", 1)},
			{"type_refund_filters", ofEachType("refund", 1)},
			{"type_decline_filters", ofEachType("decline", 1)},
			{"another_type_is_refused", invalid("GET /transactions?type=charge", "", "type must be one of authorization, settlement, refund, decline")},
			{"from_is_a_start_date", onThreeDays("?from=2026-03-16", 2)},
			{"to_is_an_end_date", onThreeDays("?to=2026-03-16", 2)},
			{"a_date_is_its_whole_day", onThreeDays("?from=2026-03-16&to=2026-03-16", 1)},
			{"from_and_to_are_inclusive", onThreeDays("?from=2026-03-15T12:00:00Z&to=2026-03-16T12:00:00Z", 2)},
			{"from_and_to_have_zones", onThreeDays("?from=2026-03-16T13:00:00%2B01:00&to=2026-03-16T13:00:00%2B01:00", 1)},
			{"from_2026-02-30_is_refused", invalid("GET /transactions?from=2026-02-30", "", "from must be a date")},
			{"to_2026-02-30_is_refused", invalid("GET /transactions?to=2026-02-30", "", "to must be a date")},
			{"from_after_to_is_refused", invalid("GET /transactions?from=2026-03-02&to=2026-03-01", "", "from is after to")},
			{"page_defaults_to_1", shows("GET /transactions", "", "page", "1")},
			{"page_0_is_refused", invalid("GET /transactions?page=0", "", "page")},
			{"page_past_the_end_is_empty", after(contains("GET /transactions?page=2", "", `"data":[]`), authorizes)},
			{"a_page_has_25", pagesOfTransactions},
		}},
		{"4.11_wallet_balance", []rule{
			{"it_answers_200", accepts("GET /wallet/balance", "")},
			{"it_follows_funds", after(shows("GET /wallet/balance", "", "balance", "9889.00"), `POST /cards/CARD/fund {"amount":10}`)},
			{"it_follows_confirmed_deposits", func(s *fixture) {
				s.confirm(s.deposit("btc", "25").OK(201).Text("id")).OK(200)
				shows("GET /wallet/balance", "", "balance", "9924.00")(s)
				shows("GET /wallet/balance", "", "pending_deposits", "0.00")(s)
			}},
		}},
		{"4.12_deposit_address", append(addresses,
			rule{"without_currency_all_ten_are_listed", func(s *fixture) {
				var got []string
				for _, address := range s.do("GET /wallet/deposit-address", "").OK(200).Data() {
					got = append(got, address["currency"].(string))
				}
				if strings.Join(got, " ") != strings.Join(currencies, " ") {
					s.T.Errorf("listed %v", got)
				}
			}},
			rule{"another_currency_is_refused", invalid("GET /wallet/deposit-address?currency=doge", "", "currency must be one of btc")},
			rule{"currencies_are_in_lower_case", invalid("GET /wallet/deposit-address?currency=BTC", "", "currency must be one of btc")},
		)},
		{"4.14_3ds", []rule{
			{"pending_challenges_are_listed", after(shows("GET /3ds", "", "merchant", "Big Ads"), challenges)},
			{"status_pending_is_the_default", after(shows("GET /3ds?status=pending", "", "merchant", "Big Ads"), challenges)},
			{"completed_challenges_are_not_pending", func(s *fixture) {
				s.complete(s.challenge(s.card).OK(201).Text("id"), "approved").OK(200)
				contains("GET /3ds", "", `"data":[]`)(s)
			}},
			{"expired_challenges_are_not_pending", func(s *fixture) {
				s.challenge(s.card).OK(201)
				s.Advance("5m")
				contains("GET /3ds", "", `"data":[]`)(s)
			}},
			{"another_status_is_refused", invalid("GET /3ds?status=open", "", "status must be one of")},
		}},
		{"4.15_webhooks", webhookRules()},
		{"4.16_idempotency_header", []rule{
			{"it_may_be_sent", func(s *fixture) {
				s.do("POST /cards/CARD/fund", `{"amount":1}`, sandboxtest.IdempotencyKey, "k").OK(200)
			}},
			{"again_has_no_second_effect", func(s *fixture) {
				first := s.do("POST /cards/CARD/fund", `{"amount":1}`, sandboxtest.IdempotencyKey, "k").OK(200)
				if s.do("POST /cards/CARD/fund", `{"amount":1}`, sandboxtest.IdempotencyKey, "k").OK(200).Raw != first.Raw {
					s.T.Error("the second response differs")
				}
				shows("GET /cards/CARD", "", "balance", "101.00")(s)
			}},
			{"another_body_is_refused", func(s *fixture) {
				s.do("POST /cards/CARD/fund", `{"amount":1}`, sandboxtest.IdempotencyKey, "k").OK(200)
				s.do("POST /cards/CARD/fund", `{"amount":2}`, sandboxtest.IdempotencyKey, "k").Refused(400, "idempotency_key_reused", "")
			}},
			{"reads_do_not_mind_it", func(s *fixture) { s.do("GET /cards/CARD", "", sandboxtest.IdempotencyKey, "k").OK(200) }},
		}},
	}
}

func webhookRules() []rule {
	const to = `{"url":"https://127.0.0.1:1","events":`
	rules := []rule{
		{"url_is_required", invalid("POST /webhooks", `{"events":["*"]}`, "url is required")},
		{"url_is_https", invalid("POST /webhooks", `{"url":"http://example.com","events":["*"]}`, "https")},
		{"url_has_a_host", invalid("POST /webhooks", `{"url":"https:///x","events":["*"]}`, "host")},
		{"events_are_required", invalid("POST /webhooks", `{"url":"https://example.com"}`, "events is required")},
		{"events_are_an_array", invalid("POST /webhooks", to+`"*"}`, "array of strings")},
		{"events_are_not_empty", invalid("POST /webhooks", to+`[]}`, "at least one")},
		{"events_are_known", invalid("POST /webhooks", to+`["card.lost"]}`, "card.lost")},
		{"a_star_stands_for_all", accepts("POST /webhooks", to+`["*"]}`)},
		{"a_star_stands_alone", invalid("POST /webhooks", to+`["*","card.created"]}`, "stands alone")},
		{"secret_is_a_string", invalid("POST /webhooks", to+`["*"],"secret":1}`, "secret must be a string")},
		{"secrets_differ", func(s *fixture) {
			first := s.do("POST /webhooks", hook("")).Text("secret")
			if s.do("POST /webhooks", hook("")).Text("secret") == first {
				s.T.Error("two endpoints have one secret")
			}
		}},
	}
	for _, name := range eventNames() {
		rules = append(rules, rule{name + "_is_an_event", accepts("POST /webhooks", to+`["`+name+`"]}`)})
	}
	return rules
}

func newestTransactionFirst(s *fixture) {
	var want []string
	for i := range 6 {
		want = append([]string{s.authorized(s.card, fmt.Sprint(i+1))}, want...)
		if i%2 == 0 { // some at one moment
			s.Advance("1h")
		}
	}
	var got []string
	for _, shown := range s.do("GET /transactions", "").Data() {
		got = append(got, shown["id"].(string))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.T.Errorf("listed %v, want %v", got, want)
	}
}

// counts checks how many are listed.
func counts(query string, want int) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		if a := s.do("GET /transactions"+query, "").OK(200); len(a.Data()) != want {
			s.T.Errorf("%s lists %d, want %d: %s", query, len(a.Data()), want, a.Raw)
		}
	}
}

func ofTwoCards(query string, want int) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		s.authorized(s.card, "1")
		s.authorized(s.Issue("50"), "1")
		counts(query, want)(s)
	}
}

func ofEachType(kind string, want int) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		s.refunded(s.settled(s.authorized(s.card, "5"), "5"), "5")
		s.authorized(s.card, "5")
		s.authorize(s.card, "5000").OK(201)
		for _, shown := range s.do("GET /transactions?type="+kind, "").Data() {
			if shown["type"] != kind {
				s.T.Errorf("listed %v", shown)
			}
		}
		counts("?type="+kind, want)(s)
	}
}

// onThreeDays spends at noon of 15, 16 and 17 March.
func onThreeDays(query string, want int) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		for range 3 {
			s.authorized(s.card, "1")
			s.Advance("24h")
		}
		counts(query, want)(s)
	}
}

func pagesOfTransactions(s *fixture) {
	for range 30 {
		s.authorized(s.card, "1")
	}
	for query, want := range map[string]int{"": 25, "?page=2": 5, "?page=3": 0} {
		counts(query, want)(s)
	}
}
