package sandbox_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const dollar = usd.Dollar

func TestAuthorizationHoldsTheAmount(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	card := s.Issue("100")
	a := s.authorize(card, "40.5").OK(http.StatusCreated)
	fields(t, a.Body, "transaction", "decline_reason")
	shown := a.Body["transaction"].(map[string]any)
	fields(t, shown, "id", "card_id", "type", "amount", "currency", "fee", "merchant", "created_at")
	want := fmt.Sprintf("map[amount:40.50 card_id:%s created_at:2026-03-15T12:00:00.000Z currency:USD fee:0.00 id:%s "+
		"merchant:map[mcc:7311 name:Big Ads] type:authorization]", card, a.Transaction())
	if got := fmt.Sprint(shown); got != want || a.Body["decline_reason"] != nil {
		t.Errorf("answered %s, want %s", a.Raw, want)
	}
	if listed := s.Get("/api/v1/transactions?card_id=" + card).OK(200).Data(); fmt.Sprint(listed[0]) != want || len(listed) != 1 {
		t.Errorf("listed %v, want %s", listed, want)
	}
	s.expectBalances(map[string]string{card: "59.50", "holds": "40.50", "merchants": "0.00", "fees": "1.00"})
}

// declined fails the test unless a card is refused for a reason, and nothing
// but a record comes of it.
func (s *service) declined(reason string, a sandboxtest.Response) {
	s.T.Helper()
	a.OK(http.StatusCreated)
	shown := a.Body["transaction"].(map[string]any)
	if a.Body["decline_reason"] != reason || shown["type"] != "decline" || fmt.Sprint(shown["fee"]) != "0.00" {
		s.T.Errorf("answered %s, want a decline for %s", a.Raw, reason)
	}
	if listed := s.Get("/api/v1/transactions?type=decline").OK(200).Data(); fmt.Sprint(listed[0]) != fmt.Sprint(shown) {
		s.T.Errorf("listed %v, want %v first", listed, shown)
	}
}

func TestDeclines(t *testing.T) {
	t.Parallel()
	untouched := map[string]string{"card": "100.00", "holds": "0.00", "wallet": "1000.00", "fees": "1.00"}
	runScenarios(t, []scenario{
		{
			name: "a frozen card", want: untouched,
			run: func(s *service, card string) {
				s.Freeze(card)
				s.declined("card_frozen", s.authorize(card, "1"))
			},
		},
		{
			name: "a terminated card", want: map[string]string{"card": "0.00", "holds": "0.00", "wallet": "1100.00"},
			run: func(s *service, card string) {
				s.Terminate(card)
				s.declined("card_terminated", s.authorize(card, "1"))
			},
		},
		{
			name: "one cent more than the card holds", want: untouched,
			run: func(s *service, card string) { s.declined("insufficient_funds", s.authorize(card, "100.01")) },
		},
		{
			name: "all that the card holds is accepted", want: map[string]string{"card": "0.00", "holds": "100.00"},
			run: func(s *service, card string) { s.authorized(card, "100") },
		},
		{
			name: "held money is not there a second time", want: map[string]string{"card": "40.00", "holds": "60.00"},
			run: func(s *service, card string) {
				s.authorized(card, "60")
				s.declined("insufficient_funds", s.authorize(card, "40.01"))
			},
		},
		{
			name: "the amount fits but not its fee", want: untouched,
			run: func(s *service, card string) {
				s.declined("insufficient_funds", s.authorize(card, "100", `"fee":0.01`))
			},
		},
		{
			name: "a category that is not allowed", card: `"allowed_categories":["advertising","software"]`, want: untouched,
			run: func(s *service, card string) { s.declined("category_not_allowed", s.Authorize(card, "1", "5812")) },
		},
		{
			name: "an unknown code where categories are limited", card: `"allowed_categories":["food"]`, want: untouched,
			run: func(s *service, card string) { s.declined("category_not_allowed", s.Authorize(card, "1", "0001")) },
		},
		{
			name: "one cent over the monthly limit", card: `"spending_limit":50`, want: untouched,
			run: func(s *service, card string) { s.declined("spending_limit_exceeded", s.authorize(card, "50.01")) },
		},
		{
			name: "the state comes first, then funds, category and limit", want: untouched,
			card: `"allowed_categories":["food"],"spending_limit":50`,
			run: func(s *service, card string) {
				s.declined("insufficient_funds", s.authorize(card, "101"))
				s.declined("category_not_allowed", s.authorize(card, "51"))
				s.declined("spending_limit_exceeded", s.Authorize(card, "51", "5812"))
				s.Freeze(card)
				s.declined("card_frozen", s.authorize(card, "101"))
			},
		},
		{
			name: "a thawed card is accepted again", want: map[string]string{"card": "99.00", "holds": "1.00"},
			run: func(s *service, card string) {
				s.Freeze(card)
				s.Post("/api/v1/cards/"+card+"/unfreeze", "").OK(200)
				s.authorized(card, "1")
			},
		},
	})
}

func TestCategories(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	codes := map[string][]string{
		"advertising": {"7311"}, "software": {"5734", "7372", "5817", "5818"}, "travel": {"3000", "3999", "4511", "7011"},
		"retail": {"5311", "5651", "5732", "5735"}, "food": {"5411", "5812"}, "entertainment": {"5816", "7832", "7999"},
		"utilities": {"4900"}, "telecom": {"4814"}, "education": {"8220"}, "health": {"8099", "5912"}, "transport": {"4121", "5541"},
		"finance": {"6011", "6300"}, "government": {"9311"}, "other": {"0000", "0763", "9999", "5599", "4000", "6541"},
	}
	for category := range codes {
		card := s.Issue("50", `"allowed_categories":["`+category+`"]`)
		for other, merchants := range codes {
			for _, mcc := range merchants {
				if accepted := s.Authorize(card, "0.01", mcc).OK(201).Body["decline_reason"] == nil; accepted != (category == other) {
					t.Errorf("a card for %s at a merchant of %s (%s): accepted %v", category, other, mcc, accepted)
				}
			}
		}
	}
	unlimited := s.Issue("50")
	for _, merchants := range codes {
		for _, mcc := range merchants {
			if a := s.Authorize(unlimited, "0.01", mcc).OK(201); a.Body["decline_reason"] != nil {
				t.Errorf("a card for everything at %s: %s", mcc, a.Raw)
			}
		}
	}
	s.Balanced()
}

func TestSpendingLimit(t *testing.T) {
	t.Parallel()
	const limited = `"spending_limit":50`
	runScenarios(t, []scenario{
		{
			name: "held amounts count", card: limited, want: map[string]string{"card": "50.00", "holds": "50.00"},
			run: func(s *service, card string) {
				s.authorized(card, "20")
				s.authorized(card, "30")
				s.declined("spending_limit_exceeded", s.authorize(card, "0.01"))
			},
		},
		{
			name: "a settlement below the hold gives room", card: limited, want: map[string]string{"card": "50.00", "holds": "40.00"},
			run: func(s *service, card string) {
				s.settled(s.authorized(card, "50"), "10")
				s.declined("spending_limit_exceeded", s.authorize(card, "40.01"))
				s.authorized(card, "40")
			},
		},
		{
			name: "a settlement above the hold takes room", card: limited, want: map[string]string{"card": "50.00", "holds": "5.00"},
			run: func(s *service, card string) {
				s.settled(s.authorized(card, "20"), "45")
				s.declined("spending_limit_exceeded", s.authorize(card, "5.01"))
				s.authorized(card, "5")
			},
		},
		{
			name: "a settlement may itself pass the limit", card: limited, want: map[string]string{"card": "40.00", "merchants": "60.00"},
			run: func(s *service, card string) {
				s.settled(s.authorized(card, "20"), "60")
				s.declined("spending_limit_exceeded", s.authorize(card, "0.01"))
			},
		},
		{
			name: "refunds give nothing back", card: limited, want: map[string]string{"card": "100.00", "merchants": "0.00"},
			run: func(s *service, card string) {
				s.refunded(s.settled(s.authorized(card, "50"), ""), "")
				s.declined("spending_limit_exceeded", s.authorize(card, "0.01"))
			},
		},
		{
			name: "declines and fees do not count", card: limited, want: map[string]string{"card": "49.00", "fees": "2.00"},
			run: func(s *service, card string) {
				s.declined("spending_limit_exceeded", s.authorize(card, "51"))
				s.authorized(card, "50", `"fee":1`)
			},
		},
		{
			name: "it begins anew with the UTC month", card: limited, want: map[string]string{"card": "0.00", "holds": "100.00"},
			run: func(s *service, card string) {
				s.authorized(card, "50")
				s.Advance("395h59m59.999s") // 2026-03-31T23:59:59.999Z
				s.declined("spending_limit_exceeded", s.authorize(card, "50"))
				s.Advance("1ms")
				s.authorized(card, "50")
			},
		},
		{
			name: "a late settlement counts in the month of its authorization", card: limited, want: map[string]string{"card": "10.00", "holds": "50.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "20")
				s.Advance("720h") // April
				s.settled(authorization, "40")
				s.authorized(card, "50")
			},
		},
	})
}

func TestAuthorizationsRefuse(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	card := s.Issue("100")
	with := func(amount, merchant string) string {
		return fmt.Sprintf(`{"card_id":%q,"amount":%s,"merchant":%s}`, card, amount, merchant)
	}
	const merchant = `{"name":"Big Ads","mcc":"7311"}`
	for body, text := range map[string]string{
		``: "card_id is required",
		`{"card_id":"x","merchant":` + merchant + `}`:           "amount is required",
		with("0", merchant):                                     "above 0",
		with("-1", merchant):                                    "above 0",
		with("1.001", merchant):                                 "two decimals",
		with("1", merchant+`,"fee":-0.01`):                      "fee must not be negative",
		`{"card_id":"x","amount":1}`:                            "merchant is required",
		with("1", `"Big Ads"`):                                  "merchant must be an object",
		with("1", `{"mcc":"7311"}`):                             "merchant: name is required",
		with("1", `{"name":"","mcc":"7311"}`):                   "merchant: name must not be empty",
		with("1", `{"name":"Big Ads"}`):                         "merchant: mcc is required",
		with("1", `{"name":"Big Ads","mcc":7311}`):              "merchant: mcc must be a string",
		with("1", `{"name":"Big Ads","mcc":"731"}`):             "merchant: mcc must be four digits",
		with("1", `{"name":"Big Ads","mcc":"73x1"}`):            "merchant: mcc must be four digits",
		with("1", `{"name":"Big Ads","mcc":"7311","city":"X"}`): `merchant: unknown field "city"`,
		with("1", merchant+`,"currency":"EUR"`):                 `unknown field "currency"`,
		with("1e15", merchant):                                  "out of range",
	} {
		s.Post("/_sandbox/authorizations", body).Refused(400, "invalid_request", text)
	}
	s.authorize("card_x", "1").Refused(404, "not_found", "card_x")
	foreign := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":100}`).Text("api_key"))
	foreign.authorize(card, "1").Refused(404, "not_found", card)
	if left := s.Get("/api/v1/transactions").OK(200).Data(); len(left) != 0 {
		t.Errorf("recorded %v", left)
	}
	s.expectBalances(map[string]string{card: "100.00", "holds": "0.00"})
}
