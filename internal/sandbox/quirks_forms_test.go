package sandbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestQuirkTransactionsPerPageRefused(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"transactions_per_page":"ignored"}`)
	s.Get("/api/v1/transactions?per_page=x").OK(200)
	s.Quirks(map[string]any{"transactions_per_page": "refused"})
	s.Get("/api/v1/transactions?per_page=100").Refused(400, "invalid_request", "per_page")
	s.Get("/api/v1/transactions?page=2").OK(200)
}

func TestQuirkTransactionPeriod(t *testing.T) {
	t.Parallel()
	s := start(t, sandboxtest.Stopped(time.Date(2026, 3, 31, 15, 0, 0, 0, time.UTC)))
	s.authorized(s.Issue("50"), "1")
	for period, queries := range map[string]map[string]int{
		"days":       {"?to=2026-03-31": 1, "?to=2026-03-30": 0, "?from=2026-04-01": 0, "?to=2026-03-31T15:00:00Z": 1},
		"midnights":  {"?to=2026-03-31": 0, "?to=2026-04-01": 1, "?from=2026-03-31": 1, "?to=2026-03-31T15:00:00Z": 1},
		"dates_only": {"?to=2026-03-31": 1, "?to=2026-03-30": 0, "?from=2026-03-31T15:00:00Z": -1, "?to=2026-03-31T15:00:00Z": -1},
	} {
		s.Quirks(map[string]any{"transaction_period": period})
		for query, want := range queries {
			switch page := s.Get("/api/v1/transactions" + query); {
			case want < 0:
				page.Refused(400, "invalid_request", "must be a date")
			case len(page.OK(200).Data()) != want:
				t.Errorf("%s, %s: %s", period, query, page.Raw)
			}
		}
	}
}

func TestQuirkTransactionSigns(t *testing.T) {
	t.Parallel()
	s := start(t)
	settled := s.Settle(s.Authorize(s.Issue("50"), "20", "7311", `"fee":0.30`).Transaction(), "").Transaction()
	s.Refund(settled, "5")
	for signs, want := range map[string]string{"unsigned": "5.00 20.00 20.00 0.30", "refunds": "-5.00 20.00 20.00 0.30", "spending": "5.00 -20.00 -20.00 -0.30"} {
		s.Quirks(map[string]any{"transaction_signs": signs})
		data := s.Get("/api/v1/transactions").Data()
		if got := fmt.Sprintf("%v %v %v %v", data[0]["amount"], data[1]["amount"], data[2]["amount"], data[2]["fee"]); got != want {
			t.Errorf("%s: refund, settlement, authorization and fee are %s, want %s", signs, got, want)
		}
	}
}

func TestQuirkChallengeStatus(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"challenge_status":"ignored"}`)
	body := `{"card_id":"` + s.Issue("50") + `","merchant":"Ads","amount":9}`
	done := s.Post("/_sandbox/3ds-challenges", body).OK(201).Text("id")
	s.Post("/_sandbox/3ds-challenges/"+done+"/complete", `{"outcome":"approved"}`).OK(200)
	s.Post("/_sandbox/3ds-challenges", body).OK(201)
	listed := s.Get("/api/v1/3ds?status=pending").OK(200).Data()
	if len(listed) != 2 {
		t.Fatalf("%d are listed", len(listed))
	}
	for _, ch := range listed {
		if isDone := ch["id"] == done; isDone != (ch["otp"] == nil) || isDone != (ch["status"] == "approved") {
			t.Errorf("listed as %v", ch)
		}
	}
}

func TestQuirkWalletDecimals(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"wallet_decimals":6}`)
	id := s.Issue("50")
	wallet := s.Get("/api/v1/wallet/balance")
	if wallet.Text("balance") != "9949.001234" || wallet.Text("pending_deposits") != "0.001234" || wallet.Text("cards_total_balance") != "50.00" {
		t.Errorf("the wallet is %s", wallet.Raw)
	}
	if funded := s.Post("/api/v1/cards/"+id+"/fund", `{"amount":1}`); funded.Text("wallet_balance") != "9948.001234" || funded.Text("card_balance") != "51.00" {
		t.Errorf("a fund answers %s", funded.Raw)
	}
}

func TestQuirkForms(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"timestamps":"bare","empty_metadata":"array","exp_year_digits":2,"error_body":"nested"}`)
	card := s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50,"label":"created_at"}`).OK(201)
	if at := card.Text("created_at"); strings.HasSuffix(at, "Z") || len(at) != len("2006-01-02T15:04:05.000") || !strings.Contains(card.Raw, `"metadata":[]`) {
		t.Errorf("issued as %s", card.Raw)
	}
	with := s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50,"metadata":{"created_at":"2026-01-01T00:00:00Z"}}`)
	if !strings.Contains(with.Raw, `"metadata":{"created_at":"2026-01-01T00:00:00Z"}`) {
		t.Errorf("metadata comes back as %s", with.Raw)
	}
	if year := s.Get("/api/v1/cards/" + card.Text("id") + "/details").Text("exp_year"); len(year) != 2 {
		t.Errorf("the year is %s", year)
	}
	for quirk, form := range map[string]string{`"empty_metadata":"array"`: `"metadata":[]`, `"timestamps":"bare"`: `"metadata":{}`} {
		s.Put("/_sandbox/quirks", "{"+quirk+"}").OK(200)
		alone := s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`).OK(201)
		if !strings.Contains(alone.Raw, form) || strings.HasSuffix(alone.Text("created_at"), "Z") != (form == `"metadata":[]`) {
			t.Errorf("with %s alone, issued as %s", quirk, alone.Raw)
		}
	}
	s.Put("/_sandbox/quirks", `{"error_body":"nested"}`).OK(200)
	nested, _ := s.Get("/api/v1/cards/card_x").OK(404).Body["error"].(map[string]any)
	fields(t, nested, "code", "message")
}
