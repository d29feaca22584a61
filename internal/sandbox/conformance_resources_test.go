package sandbox_test

import (
	"strings"
)

const (
	token  = `[a-z0-9]{20,}`
	money  = `\d+\.\d\d`
	moment = `2026-03-15T12:00:00\.000Z`
)

func resourceSections() []section {
	return []section{
		{"1_conventions", []rule{
			{"paths_are_below_api_v1", func(s *fixture) {
				s.Get("/api/v1/bins").OK(200)
				s.atRoot().Get("/bins").Refused(404, "not_found", "")
			}},
			{"there_are_15_endpoints", fifteenEndpoints},
			{"a_body_needs_its_content_type", func(s *fixture) {
				s.do("POST /cards/CARD/fund", `{"amount":1}`, "Content-Type", "text/plain").Refused(400, "invalid_request", "application/json")
			}},
			{"answers_are_json", func(s *fixture) {
				for _, call := range []string{"GET /cards", "GET /nothing", "POST /cards"} {
					if got := s.do(call, "").Header.Get("Content-Type"); got != "application/json" {
						s.T.Errorf("%s answers %s", call, got)
					}
				}
			}},
			{"amounts_have_two_decimals", shows("GET /cards/CARD", "", "balance", money)},
			{"timestamps_are_utc", shows("GET /cards/CARD", "", "created_at", moment)},
			{"lists_have_pages", shows("GET /cards?page=2&per_page=1", "", "page", "2")},
		}},
		{"2.1_card", []rule{
			{"id_has_its_form", shows("POST /cards", order(`"label":"x"`), "id", "card_"+token)},
			{"bin_id_is_the_one_asked_for", shows("POST /cards", `{"bin_id":"bin_general_visa_eu","amount":50}`, "bin_id", "bin_general_visa_eu")},
			{"network_is_the_bins", shows("POST /cards", `{"bin_id":"bin_general_mastercard_us","amount":50}`, "network", "mastercard")},
			{"last4_is_four_digits", shows("POST /cards", order(`"label":"x"`), "last4", `\d{4}`)},
			{"last4_ends_the_number", func(s *fixture) {
				if pan := s.do("GET /cards/CARD/details", "").Text("pan"); !strings.HasSuffix(pan, s.do("GET /cards/CARD", "").Text("last4")) {
					s.T.Error("the number ends otherwise")
				}
			}},
			{"status_is_active_at_first", shows("POST /cards", order(`"label":"x"`), "status", "active")},
			{"balance_is_the_load", shows("POST /cards", order(`"amount":75.5`), "balance", "75.50")},
			{"spending_limit_is_the_one_asked_for", shows("POST /cards", order(`"spending_limit":300`), "spending_limit", "300.00")},
			{"label_is_the_one_asked_for", shows("POST /cards", order(`"label":"Größe <&>"`), "label", "Größe <&>")},
			{"allowed_categories_are_those_asked_for", contains("POST /cards", order(`"allowed_categories":["software","advertising"]`), `"allowed_categories":["software","advertising"]`)},
			{"auto_freeze_at_is_the_one_asked_for", shows("POST /cards", order(`"auto_freeze_at":12`), "auto_freeze_at", "12.00")},
			{"auto_freeze_at_is_null_when_unset", contains("POST /cards", order(`"label":"x"`), `"auto_freeze_at":null`)},
			{"metadata_is_the_callers", contains("POST /cards", order(`"metadata":{"team":"a","n":1.10}`), `"metadata":{"n":1.10,"team":"a"}`)},
			{"created_at_is_now", shows("POST /cards", order(`"label":"x"`), "created_at", moment)},
			{"expires_at_is_a_date", shows("POST /cards", order(`"label":"x"`), "expires_at", `2029-03-31`)},
			{"pan_is_a_full_number", func(s *fixture) {
				if pan := s.do("GET /cards/CARD/details", "").Text("pan"); len(pan) != 16 || !luhn(pan) || pan[0] != '0' {
					s.T.Error("not 16 digits from 0 that pass the Luhn check")
				}
			}},
			{"cvv_is_three_digits", shows("GET /cards/CARD/details", "", "cvv", `\d{3}`)},
			{"exp_month_agrees_with_expires_at", shows("GET /cards/CARD/details", "", "exp_month", "3")},
			{"exp_year_agrees_with_expires_at", shows("GET /cards/CARD/details", "", "exp_year", "2029")},
			{"details_are_not_cached", func(s *fixture) {
				if got := s.do("GET /cards/CARD/details", "").Header.Get("Cache-Control"); got != "no-store" {
					s.T.Errorf("Cache-Control is %q", got)
				}
			}},
			{"advertising_and_software_are_categories", accepts("POST /cards", order(`"allowed_categories":["advertising","software"]`))},
		}},
		{"2.2_transaction", []rule{
			{"id_has_its_form", after(shows("GET /transactions", "", "id", "txn_"+token), authorizes)},
			{"card_id_is_the_cards", after(shows("GET /transactions", "", "card_id", "CARD"), authorizes)},
			{"type_is_authorization", after(shows("GET /transactions", "", "type", "authorization"), authorizes)},
			{"type_is_decline", after(shows("GET /transactions", "", "type", "decline"), declines)},
			{"type_is_settlement_then_refund", func(s *fixture) {
				settled := s.settled(s.authorized(s.card, "30"), "30")
				if got := value(s.do("GET /transactions", ""), "type"); got != "settlement" {
					s.T.Errorf("a settlement is shown as %s", got)
				}
				s.refunded(settled, "30")
				if got := value(s.do("GET /transactions", ""), "type"); got != "refund" {
					s.T.Errorf("a refund is shown as %s", got)
				}
			}},
			{"amount_is_what_was_asked_for", after(shows("GET /transactions", "", "amount", "30.00"), authorizes)},
			{"currency_is_usd", after(shows("GET /transactions", "", "currency", "USD"), authorizes)},
			{"fee_is_an_amount", after(shows("GET /transactions", "", "fee", "0.00"), authorizes)},
			{"merchant_has_name_and_mcc", after(contains("GET /transactions", "", `"merchant":{"name":"Big Ads","mcc":"7311"}`), authorizes)},
			{"created_at_is_now", after(shows("GET /transactions", "", "created_at", moment), authorizes)},
		}},
		{"2.3_wallet_balance", []rule{
			{"currency_is_usdt", shows("GET /wallet/balance", "", "currency", "USDT")},
			{"pending_deposits_are_detected_ones", after(shows("GET /wallet/balance", "", "pending_deposits", "25.00"), deposits)},
			{"pending_deposits_are_not_in_the_balance", after(shows("GET /wallet/balance", "", "balance", "9899.00"), deposits)},
			{"cards_active_counts_active_cards", after(shows("GET /wallet/balance", "", "cards_active", "1"), creates, freezes)},
			{"cards_total_balance_sums_all_cards", after(shows("GET /wallet/balance", "", "cards_total_balance", "150.00"), creates, freezes)},
		}},
		{"2.4_deposit_address", []rule{
			{"currency_is_a_code", shows("GET /wallet/deposit-address?currency=eth", "", "currency", "eth")},
			{"network_is_a_label", shows("GET /wallet/deposit-address?currency=eth", "", "network", "Ethereum")},
			{"address_is_that_networks", shows("GET /wallet/deposit-address?currency=eth", "", "address", "sandbox-eth-[0-9a-f]{32}")},
			{"address_stays_the_same", repeats("GET /wallet/deposit-address")},
		}},
		{"2.5_bin", []rule{
			{"it_has_its_6_fields", func(s *fixture) {
				for _, b := range s.do("GET /bins", "").Data() {
					fields(s.T, b, "id", "network", "category", "3ds", "wallet_a_pay", "wallet_b_pay")
				}
			}},
			{"there_are_9", func(s *fixture) {
				if n := len(s.do("GET /bins", "").Data()); n != 9 {
					s.T.Errorf("%d BINs", n)
				}
			}},
			{"total_counts_them", shows("GET /bins", "", "total", "9")},
			{"ads_is_a_category", contains("GET /bins", "", `"category":"ads"`)},
			{"cards_of_every_bin_are_in_3ds", func(s *fixture) {
				for _, b := range s.do("GET /bins", "").Data() {
					if b["3ds"] != true {
						s.T.Errorf("%v", b)
					}
				}
			}},
			{"every_bin_issues_cards", func(s *fixture) {
				for _, b := range s.do("GET /bins", "").Data() {
					s.do("POST /cards", `{"bin_id":"`+b["id"].(string)+`","amount":50}`).OK(201)
				}
			}},
		}},
		{"2.6_3ds_challenge", []rule{
			{"id_has_its_form", after(shows("GET /3ds", "", "id", "3ds_"+token), challenges)},
			{"card_id_is_the_cards", after(shows("GET /3ds", "", "card_id", "CARD"), challenges)},
			{"merchant_is_a_name", after(shows("GET /3ds", "", "merchant", "Big Ads"), challenges)},
			{"amount_is_an_amount", after(shows("GET /3ds", "", "amount", "5.00"), challenges)},
			{"otp_is_a_code", after(shows("GET /3ds", "", "otp", `\d{6}`), challenges)},
			{"status_is_pending", after(shows("GET /3ds", "", "status", "pending"), challenges)},
			{"expires_at_is_a_time", after(shows("GET /3ds", "", "expires_at", `2026-03-15T12:05:00\.000Z`), challenges)},
		}},
		{"2.7_webhook_endpoint", []rule{
			{"id_has_its_form", shows("POST /webhooks", hook(""), "id", "wh_"+token)},
			{"url_is_the_one_asked_for", shows("POST /webhooks", hook(""), "url", "https://127.0.0.1:1/in")},
			{"events_are_those_asked_for", contains("POST /webhooks", hook(""), `"events":["card.created","3ds.challenge"]`)},
			{"secret_is_generated", shows("POST /webhooks", hook(""), "secret", "whsec_"+token)},
			{"secret_is_the_one_asked_for", shows("POST /webhooks", hook(`,"secret":"my own"`), "secret", "my own")},
			{"created_at_is_now", shows("POST /webhooks", hook(""), "created_at", moment)},
		}},
	}
}

// hook is the body of an endpoint's registration.
func hook(more string) string {
	return `{"url":"https://127.0.0.1:1/in","events":["card.created","3ds.challenge"]` + more + `}`
}

// contains checks that a call succeeds with a text in its response.
func contains(call, body, text string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		if a := s.do(call, body); a.Status > 201 || !strings.Contains(a.Raw, text) {
			s.T.Errorf("answered %d without %s: %s", a.Status, text, a.Raw)
		}
	}
}

// fifteenEndpoints finds each by a response that is not that of an unknown path.
func fifteenEndpoints(s *fixture) {
	known := strings.Split(`POST /cards, GET /cards, GET /cards/CARD, GET /cards/CARD/details, POST /cards/CARD/freeze, POST /cards/CARD/unfreeze,
		POST /cards/CARD/fund, POST /cards/CARD/withdraw, DELETE /cards/CARD, GET /transactions, GET /wallet/balance, GET /wallet/deposit-address,
		GET /bins, GET /3ds, POST /webhooks`, ",")
	if len(known) != 15 {
		s.T.Errorf("the test knows %d", len(known))
	}
	for _, call := range known {
		if a := s.do(strings.TrimSpace(call), ""); a.Status == 404 {
			s.T.Errorf("%s answered %s", call, a.Raw)
		}
	}
	for _, call := range []string{"PUT /cards/CARD", "PATCH /cards/CARD", "GET /webhooks", "DELETE /webhooks/wh_x", "POST /bins", "GET /wallet", "GET /transactions/txn_x"} {
		s.do(call, "").Refused(404, "not_found", "")
	}
}

func stateSections() []section {
	status := func(want string) func(*fixture) {
		return shows("GET /cards/CARD", "", "status", want)
	}
	decline := func(want string) func(*fixture) {
		return func(s *fixture) {
			s.T.Helper()
			if got := s.authorize(s.card, "30").OK(201).Body["decline_reason"]; got != want {
				s.T.Errorf("declined for %v, want %s", got, want)
			}
		}
	}
	guarded := func(check func(*fixture)) func(*fixture) {
		return func(s *fixture) {
			s.T.Helper()
			s.card = s.Issue("100", `"auto_freeze_at":70`)
			check(s)
		}
	}
	return []section{{"3_states", []rule{
		{"none_to_active_by_create", shows("POST /cards", order(`"label":"x"`), "status", "active")},
		{"create_takes_load_and_fee_from_the_wallet", after(shows("GET /wallet/balance", "", "balance", "9848.00"), creates)},
		{"active_to_frozen_by_freeze", after(status("frozen"), freezes)},
		{"freeze_keeps_the_balance", after(shows("GET /cards/CARD", "", "balance", "100.00"), freezes)},
		{"freeze_suspends_transactions", after(decline("card_frozen"), freezes)},
		{"frozen_to_active_by_unfreeze", after(status("active"), freezes, "POST /cards/CARD/unfreeze")},
		{"unfreeze_enables_transactions", after(func(s *fixture) { s.authorized(s.card, "30") }, freezes, "POST /cards/CARD/unfreeze")},
		{"active_to_frozen_below_auto_freeze_at", guarded(after(status("frozen"), `POST /cards/CARD/withdraw {"amount":30.01}`))},
		{"still_active_at_auto_freeze_at", guarded(after(status("active"), `POST /cards/CARD/withdraw {"amount":30}`))},
		{"spending_freezes_too", guarded(func(s *fixture) {
			s.authorized(s.card, "30.01")
			status("frozen")(s)
		})},
		{"still_active_when_auto_freeze_at_is_unset", after(status("active"), `POST /cards/CARD/withdraw {"amount":100}`)},
		{"active_to_terminated_by_delete", after(status("terminated"), terminates)},
		{"frozen_to_terminated_by_delete", after(status("terminated"), freezes, terminates)},
		{"delete_returns_the_balance_at_once", after(shows("GET /wallet/balance", "", "balance", "9999.00"), terminates)},
		{"terminated_is_permanent", func(s *fixture) {
			s.Terminate(s.card)
			for _, call := range []string{"POST /cards/CARD/freeze", "POST /cards/CARD/unfreeze", "DELETE /cards/CARD"} {
				s.do(call, "").Refused(400, "card_terminated", "")
			}
			status("terminated")(s)
		}},
		{"terminated_cards_are_declined", after(decline("card_terminated"), terminates)},
	}}}
}
