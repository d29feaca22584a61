package sandbox_test

import (
	"fmt"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func cardSections() []section {
	keys := func(n int) string {
		pairs := make([]string, n)
		for i := range pairs {
			pairs[i] = fmt.Sprintf(`"k%d":"v"`, i)
		}
		return `"metadata":{` + strings.Join(pairs, ",") + `}`
	}
	return []section{
		{"4.1_issue_a_card", []rule{
			{"bin_id_is_required", invalid("POST /cards", `{"amount":50}`, "bin_id is required")},
			{"bin_id_is_a_string", invalid("POST /cards", `{"bin_id":1,"amount":50}`, "bin_id must be a string")},
			{"bin_id_is_in_the_catalogue", refuses("POST /cards", `{"bin_id":"bin_x","amount":50}`, 400, "bin_not_found", "bin_x")},
			{"amount_is_required", invalid("POST /cards", `{"bin_id":"`+sandboxtest.BIN+`"}`, "amount is required")},
			{"amount_is_a_number", invalid("POST /cards", order(`"amount":"50"`), "amount must be a number")},
			{"amount_has_at_most_two_decimals", invalid("POST /cards", order(`"amount":50.001`), "two decimals")},
			{"amount_50_is_enough", accepts("POST /cards", order(`"amount":50`))},
			{"amount_49_99_is_refused", invalid("POST /cards", order(`"amount":49.99`), "at least 50.00")},
			{"amount_is_taken_from_the_wallet_with_the_fee", after(shows("GET /wallet/balance", "", "balance", "9848.00"), creates)},
			{"amount_and_fee_must_be_in_the_wallet", refuses("POST /cards", order(`"amount":9898.01`), 400, "insufficient_funds", "9899.00")},
			{"amount_and_fee_may_be_all_of_the_wallet", accepts("POST /cards", order(`"amount":9898`))},
			{"label_is_optional", shows("POST /cards", order(`"amount":50`), "label", "")},
			{"label_of_64_characters_is_accepted", accepts("POST /cards", order(`"label":"`+strings.Repeat("é", 64)+`"`))},
			{"label_of_65_characters_is_refused", invalid("POST /cards", order(`"label":"`+strings.Repeat("é", 65)+`"`), "label has 65")},
			{"label_is_a_string", invalid("POST /cards", order(`"label":7`), "label must be a string")},
			{"spending_limit_defaults_to_the_bins_maximum", shows("POST /cards", `{"bin_id":"bin_general_visa_eu","amount":50}`, "spending_limit", "5000.00")},
			{"spending_limit_is_at_most_the_bins_maximum", invalid("POST /cards", order(`"spending_limit":50000.01`), "spending_limit")},
			{"spending_limit_is_above_0", invalid("POST /cards", order(`"spending_limit":0`), "spending_limit")},
			{"spending_limit_is_monthly", spendingLimitIsMonthly},
			{"allowed_categories_are_optional", contains("POST /cards", order(`"amount":50`), `"allowed_categories":[]`)},
			{"allowed_categories_decline_everything_else", categoriesDeclineEverythingElse},
			{"allowed_categories_unset_allow_everything", func(s *fixture) { s.Authorize(s.card, "1", "5411").OK(201) }},
			{"allowed_categories_are_strings", invalid("POST /cards", order(`"allowed_categories":[1]`), "array of strings")},
			{"auto_freeze_at_is_optional", contains("POST /cards", order(`"amount":50`), `"auto_freeze_at":null`)},
			{"auto_freeze_at_is_a_number", invalid("POST /cards", order(`"auto_freeze_at":"5"`), "auto_freeze_at must be a number")},
			{"metadata_is_optional", contains("POST /cards", order(`"amount":50`), `"metadata":{}`)},
			{"metadata_of_20_keys_is_accepted", accepts("POST /cards", order(keys(20)))},
			{"metadata_of_21_keys_is_refused", invalid("POST /cards", order(keys(21)), "metadata has 21 keys")},
			{"metadata_is_an_object", invalid("POST /cards", order(`"metadata":["a"]`), "metadata must be an object")},
			{"other_fields_are_refused_by_name", invalid("POST /cards", order(`"currency":"USD"`), `"currency"`)},
		}},
		{"4.2_list_cards", []rule{
			{"newest_first", after(shows("GET /cards", "", "label", "two"), creates)},
			{"newest_first_when_times_tie", newestFirst},
			{"status_active_filters", cardsWith("status=active", "one")},
			{"status_frozen_filters", cardsWith("status=frozen", "frozen")},
			{"status_terminated_filters", cardsWith("status=terminated", "ended")},
			{"without_status_all_are_listed", cardsWith("page=1", "ended frozen one")},
			{"another_status_is_refused", invalid("GET /cards?status=open", "", "status must be one of active, frozen, terminated")},
			{"bin_id_filters", after(shows("GET /cards?bin_id=bin_general_visa_eu", "", "total", "1"), `POST /cards {"bin_id":"bin_general_visa_eu","amount":50}`)},
			{"bin_id_without_cards_lists_none", shows("GET /cards?bin_id=bin_x", "", "total", "0")},
			{"filters_combine", shows("GET /cards?status=frozen&bin_id="+sandboxtest.BIN, "", "total", "0")},
			{"page_defaults_to_1", shows("GET /cards", "", "page", "1")},
			{"page_2_goes_on_where_page_1_ends", after(shows("GET /cards?per_page=1&page=2", "", "label", "one"), creates)},
			{"page_past_the_end_is_empty", contains("GET /cards?page=9", "", `"data":[]`)},
			{"page_9223372036854775807_is_empty", contains("GET /cards?page=9223372036854775807&per_page=100", "", `"data":[]`)},
			{"page_0_is_refused", invalid("GET /cards?page=0", "", "page")},
			{"page_minus_1_is_refused", invalid("GET /cards?page=-1", "", "page")},
			{"page_9223372036854775808_is_refused", invalid("GET /cards?page=9223372036854775808", "", "page")},
			{"page_x_is_refused", invalid("GET /cards?page=x", "", "page")},
			{"per_page_defaults_to_25", shows("GET /cards", "", "per_page", "25")},
			{"per_page_1_is_accepted", shows("GET /cards?per_page=1", "", "per_page", "1")},
			{"per_page_100_is_accepted", shows("GET /cards?per_page=100", "", "per_page", "100")},
			{"per_page_0_is_refused", invalid("GET /cards?per_page=0", "", "per_page")},
			{"per_page_101_is_refused", invalid("GET /cards?per_page=101", "", "1 to 100")},
			{"total_counts_all_pages", after(shows("GET /cards?per_page=1", "", "total", "2"), creates)},
			{"total_counts_what_passes_the_filter", after(shows("GET /cards?status=frozen", "", "total", "1"), creates, freezes)},
		}},
		{"4.3_card_summary", []rule{
			{"it_answers_200", accepts("GET /cards/CARD", "")},
			{"it_shows_no_number_and_no_cvv", func(s *fixture) {
				details := s.do("GET /cards/CARD/details", "")
				for field := range s.do("GET /cards/CARD", "").Body {
					if details.Body[field] != nil && field != "id" {
						s.T.Errorf("the summary shows %s", field)
					}
				}
			}},
			{"it_shows_the_card_as_it_is", after(shows("GET /cards/CARD", "", "balance", "60.00"), `POST /cards/CARD/withdraw {"amount":40}`)},
			{"it_shows_a_terminated_card", after(shows("GET /cards/CARD", "", "status", "terminated"), terminates)},
			{"an_unknown_card_is_a_404", refuses("GET /cards/card_x", "", 404, "not_found", "card_x")},
			{"an_id_of_10_kb_is_a_404", refuses("GET /cards/"+strings.Repeat("x", 10<<10), "", 404, "not_found", "")},
		}},
		{"4.4_sensitive_details", []rule{
			{"it_answers_200", shows("GET /cards/CARD/details", "", "id", "CARD")},
			{"an_unknown_card_is_a_404", refuses("GET /cards/card_x/details", "", 404, "not_found", "card_x")},
			{"the_31st_in_a_minute_is_refused", limitedTo(30, "details_per_minute", "GET /cards/CARD/details", "")},
			{"they_stay_the_same", repeats("GET /cards/CARD/details")},
			{"a_terminated_card_has_none", after(refuses("GET /cards/CARD/details", "", 400, "card_terminated", ""), terminates)},
		}},
		{"4.5_freeze", []rule{
			{"it_answers_200_with_status_frozen", shows("POST /cards/CARD/freeze", "", "status", "frozen")},
			{"it_shows_the_balance", shows("POST /cards/CARD/freeze", "", "balance", "100.00")},
			{"an_unknown_card_is_a_404", refuses("POST /cards/card_x/freeze", "", 404, "not_found", "card_x")},
			{"a_field_in_the_body_is_refused", invalid("POST /cards/CARD/freeze", `{"reason":"lost"}`, `"reason"`)},
			{"again_is_the_same", after(shows("POST /cards/CARD/freeze", "", "status", "frozen"), freezes)},
		}},
		{"4.6_unfreeze", []rule{
			{"it_answers_200_with_status_active", after(shows("POST /cards/CARD/unfreeze", "", "status", "active"), freezes)},
			{"it_shows_the_balance", after(shows("POST /cards/CARD/unfreeze", "", "balance", "100.00"), freezes)},
			{"an_unknown_card_is_a_404", refuses("POST /cards/card_x/unfreeze", "", 404, "not_found", "card_x")},
			{"a_field_in_the_body_is_refused", invalid("POST /cards/CARD/unfreeze", `{"id":"x"}`, `"id"`)},
			{"again_is_the_same", shows("POST /cards/CARD/unfreeze", "", "status", "active")},
		}},
		{"4.7_terminate", []rule{
			{"it_answers_200_with_status_terminated", shows("DELETE /cards/CARD", "", "status", "terminated")},
			{"it_shows_what_returned_to_the_wallet", shows("DELETE /cards/CARD", "", "returned_to_wallet", "100.00")},
			{"an_empty_card_returns_nothing", after(shows("DELETE /cards/CARD", "", "returned_to_wallet", "0.00"), "POST /cards/CARD/withdraw")},
			{"holds_do_not_return", after(shows("DELETE /cards/CARD", "", "returned_to_wallet", "70.00"), authorizes)},
			{"the_fee_does_not_return", after(shows("GET /wallet/balance", "", "balance", "9999.00"), terminates)},
			{"an_unknown_card_is_a_404", refuses("DELETE /cards/card_x", "", 404, "not_found", "card_x")},
			{"again_is_refused", after(refuses("DELETE /cards/CARD", "", 400, "card_terminated", "CARD"), terminates)},
		}},
		{"4.8_fund", []rule{
			{"it_answers_200_with_the_cards_balance", shows("POST /cards/CARD/fund", `{"amount":20.5}`, "card_balance", "120.50")},
			{"it_answers_the_wallets_balance", shows("POST /cards/CARD/fund", `{"amount":20.5}`, "wallet_balance", "9878.50")},
			{"it_answers_the_cards_id", shows("POST /cards/CARD/fund", `{"amount":20.5}`, "card_id", "CARD")},
			{"amount_is_required", invalid("POST /cards/CARD/fund", `{}`, "amount is required")},
			{"a_body_is_required", invalid("POST /cards/CARD/fund", ``, "amount is required")},
			{"amount_is_a_number", invalid("POST /cards/CARD/fund", `{"amount":"1"}`, "amount must be a number")},
			{"amount_is_above_0", invalid("POST /cards/CARD/fund", `{"amount":-0}`, "amount must be above 0")},
			{"amount_has_at_most_two_decimals", invalid("POST /cards/CARD/fund", `{"amount":0.001}`, "two decimals")},
			{"amount_is_in_the_wallet", refuses("POST /cards/CARD/fund", `{"amount":9899.01}`, 400, "insufficient_funds", "9899.00")},
			{"amount_is_spendable_at_once", after(func(s *fixture) { s.authorized(s.card, "150") }, `POST /cards/CARD/fund {"amount":50}`)},
			{"an_unknown_card_is_a_404", refuses("POST /cards/card_x/fund", `{"amount":1}`, 404, "not_found", "card_x")},
			{"a_terminated_card_is_refused", after(refuses("POST /cards/CARD/fund", `{"amount":1}`, 400, "card_terminated", ""), terminates)},
		}},
		{"4.9_withdraw", []rule{
			{"it_answers_200_with_the_cards_balance", shows("POST /cards/CARD/withdraw", `{"amount":20.5}`, "card_balance", "79.50")},
			{"it_answers_the_wallets_balance", shows("POST /cards/CARD/withdraw", `{"amount":20.5}`, "wallet_balance", "9919.50")},
			{"it_answers_the_cards_id", shows("POST /cards/CARD/withdraw", `{"amount":1}`, "card_id", "CARD")},
			{"without_a_body_all_is_moved", shows("POST /cards/CARD/withdraw", ``, "wallet_balance", "9999.00")},
			{"amount_is_on_the_card", refuses("POST /cards/CARD/withdraw", `{"amount":100.01}`, 400, "insufficient_card_balance", "100.00")},
			{"an_empty_card_has_nothing_to_move", after(refuses("POST /cards/CARD/withdraw", ``, 400, "insufficient_card_balance", "0.00"), "POST /cards/CARD/withdraw")},
			{"amount_is_above_0", invalid("POST /cards/CARD/withdraw", `{"amount":0}`, "amount must be above 0")},
			{"an_unknown_card_is_a_404", refuses("POST /cards/card_x/withdraw", `{"amount":1}`, 404, "not_found", "card_x")},
			{"a_terminated_card_is_refused", after(refuses("POST /cards/CARD/withdraw", ``, 400, "card_terminated", ""), terminates)},
		}},
	}
}

func spendingLimitIsMonthly(s *fixture) {
	card := s.Issue("500", `"spending_limit":100`)
	s.authorized(card, "100")
	if got := s.authorize(card, "0.01").OK(201).Body["decline_reason"]; got != "spending_limit_exceeded" {
		s.T.Errorf("declined for %v", got)
	}
	s.Advance("396h") // 1 April, 00:00 UTC
	s.authorized(card, "100")
}

func categoriesDeclineEverythingElse(s *fixture) {
	card := s.Issue("100", `"allowed_categories":["advertising"]`)
	s.authorized(card, "1")
	if got := s.Authorize(card, "1", "5411").OK(201).Body["decline_reason"]; got != "category_not_allowed" {
		s.T.Errorf("declined for %v", got)
	}
}

func newestFirst(s *fixture) {
	want := []string{"one"}
	for i := range 30 {
		label := fmt.Sprint("card ", i)
		s.Issue("50", `"label":"`+label+`"`)
		want = append([]string{label}, want...)
	}
	var got []string
	for page := 1; page <= 4; page++ {
		for _, card := range s.do(fmt.Sprintf("GET /cards?per_page=10&page=%d", page), "").Data() {
			got = append(got, card["label"].(string))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.T.Errorf("listed %v", got)
	}
}

// cardsWith lists a card in each status by their labels.
func cardsWith(query, want string) func(*fixture) {
	return func(s *fixture) {
		s.T.Helper()
		s.Freeze(s.Issue("50", `"label":"frozen"`))
		s.Terminate(s.Issue("50", `"label":"ended"`))
		var labels []string
		for _, card := range s.do("GET /cards?"+query, "").Data() {
			labels = append(labels, card["label"].(string))
		}
		if got := strings.Join(labels, " "); got != want {
			s.T.Errorf("%s lists %s, want %s", query, got, want)
		}
	}
}
