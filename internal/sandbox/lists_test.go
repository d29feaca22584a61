package sandbox_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestWalletBalance(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Issue("100")
	frozen, ended := s.Issue("50"), s.Issue("70")
	s.Post("/api/v1/cards/"+frozen+"/freeze", "").OK(200)
	s.Call(http.MethodDelete, "/api/v1/cards/"+ended, "").OK(200)
	balance := s.Get("/api/v1/wallet/balance").OK(200)
	fields(t, balance.Body, "balance", "currency", "pending_deposits", "cards_active", "cards_total_balance")
	for field, want := range map[string]string{
		"balance": "9847.00", "currency": "USDT", "pending_deposits": "0.00", "cards_active": "1", "cards_total_balance": "150.00",
	} {
		if got := balance.Text(field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
}

func TestDepositAddresses(t *testing.T) {
	t.Parallel()
	s := start(t)
	all := s.Get("/api/v1/wallet/deposit-address").OK(200)
	currencies := []string{"btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"}
	seen := map[any]bool{}
	for _, address := range all.Data() {
		fields(t, address, "currency", "network", "address")
		currency, text := address["currency"].(string), address["address"].(string)
		if !slices.Contains(currencies, currency) || !strings.HasPrefix(text, "sandbox-"+currency+"-") {
			t.Errorf("%s: address of the wrong form: %s", currency, text)
		}
		if seen[text] {
			t.Errorf("%s: an address of another currency", currency)
		}
		seen[text] = true
		one := s.Get("/api/v1/wallet/deposit-address?currency=" + currency).OK(200).Data()
		if len(one) != 1 || one[0]["address"] != text {
			t.Errorf("%s: asked alone, the response is %v", currency, one)
		}
	}
	if len(seen) != len(currencies) {
		t.Errorf("%d currencies, want %d", len(seen), len(currencies))
	}
	for _, currency := range []string{"doge", "BTC", ""} {
		s.Get("/api/v1/wallet/deposit-address?currency="+currency).Refused(400, "invalid_request", "currency")
	}
}

func TestBINs(t *testing.T) {
	t.Parallel()
	catalogue := start(t).Get("/api/v1/bins").OK(200)
	fields(t, catalogue.Body, "data", "total")
	if len(catalogue.Data()) != 9 || catalogue.Text("total") != "9" {
		t.Errorf("%d BINs, total %s", len(catalogue.Data()), catalogue.Text("total"))
	}
	ids, categories := map[any]bool{}, map[any]bool{}
	for _, b := range catalogue.Data() {
		fields(t, b, "id", "network", "category", "3ds", "wallet_a_pay", "wallet_b_pay")
		ids[b["id"]], categories[b["category"]] = true, true
		if b["network"] != strings.ToLower(b["network"].(string)) {
			t.Errorf("network %s is not in lower case", b["network"])
		}
	}
	if len(ids) != 9 || len(categories) != 3 || !categories["ads"] {
		t.Errorf("ids %v, categories %v", ids, categories)
	}
}

func TestEmptyLists(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("50")
	for _, query := range []string{
		"", "?page=3&per_page=100", "?card_id=" + id, "?card_id=card_x", "?type=refund", "?from=2026-01-01&to=2026-01-01",
		"?from=2026-01-01T00:00:00%2B02:00&to=2026-01-01T00:00:00.5Z",
	} {
		page := s.Get("/api/v1/transactions" + query).OK(200)
		fields(t, page.Body, "data", "page")
		if len(page.Data()) != 0 {
			t.Errorf("%s: not empty: %s", query, page.Raw)
		}
	}
	for query, text := range map[string]string{
		"type=gift": "type", "from=2026-02-30": "from", "to=yesterday": "to", "from=2026-01-01T00:00:00": "zone",
		"from=2026-02-02&to=2026-02-01": "from is after to", "page=0": "page", "per_page=101": "per_page", "card_id=": "card_id",
	} {
		s.Get("/api/v1/transactions?"+query).Refused(400, "invalid_request", text)
	}
	for _, query := range []string{"", "?status=pending", "?status=approved", "?status=failed", "?status=expired"} {
		challenges := s.Get("/api/v1/3ds" + query).OK(200)
		fields(t, challenges.Body, "data")
		if len(challenges.Data()) != 0 {
			t.Errorf("%s: not empty: %s", query, challenges.Raw)
		}
	}
	s.Get("/api/v1/3ds?status=maybe").Refused(400, "invalid_request", "status")
}

func TestRegisterWebhook(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	generated := s.Post("/api/v1/webhooks", `{"url":"https://example.com/a?b=1&c=2","events":["card.created","deposit.confirmed"]}`).OK(201)
	fields(t, generated.Body, "id", "url", "events", "secret", "created_at")
	if !strings.HasPrefix(generated.Text("id"), "wh_") || !strings.HasPrefix(generated.Text("secret"), "whsec_") ||
		generated.Text("url") != "https://example.com/a?b=1&c=2" || generated.Text("created_at") != "2026-03-15T12:00:00.000Z" {
		t.Errorf("answered %s", generated.Raw)
	}
	own := s.Post("/api/v1/webhooks", `{"url":"https://example.com","events":["*"],"secret":"my own"}`).OK(201)
	if own.Text("secret") != "my own" {
		t.Error("the caller's secret was not taken")
	}
	for body, text := range map[string]string{
		`{"events":["*"]}`: "url is required",
		`{"url":"http://example.com","events":["*"]}`:                                    "https",
		`{"url":"https://","events":["*"]}`:                                              "https",
		`{"url":"example.com","events":["*"]}`:                                           "https",
		`{"url":"https://u:p@example.com","events":["*"]}`:                               "user name",
		`{"url":"https://example.com"}`:                                                  "events is required",
		`{"url":"https://example.com","events":[]}`:                                      "at least one",
		`{"url":"https://example.com","events":["card.lost"]}`:                           "card.lost",
		`{"url":"https://example.com","events":["*","card.created"]}`:                    "stands alone",
		`{"url":"https://example.com","events":"*"}`:                                     "array of strings",
		`{"url":"https://example.com","events":["*"],"secret":""}`:                       "secret",
		`{"url":"https://example.com","events":["*"],"active":true}`:                     `"active"`,
		`{"url":"https://example.com/` + strings.Repeat("x", 2048) + `","events":["*"]}`: "2048",
	} {
		s.Post("/api/v1/webhooks", body).Refused(400, "invalid_request", text)
	}
}

// Lists of control calls have large pages.
func TestControlListsHavePages(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).OK(201)
	for range 3 {
		s.Issue("50")
	}
	for path, c := range map[string]struct{ first, total string }{
		"/_sandbox/requests": {"/webhooks", "4"}, "/_sandbox/deliveries": {"card.created", "3"},
	} {
		one := s.Get(path + "?per_page=2").OK(200)
		fields(t, one.Body, "data", "page", "per_page", "total")
		two := s.Get(path + "?per_page=2&page=2").OK(200)
		if len(one.Data()) != 2 || one.Text("total") != c.total || !strings.Contains(fmt.Sprint(one.Data()[0]), c.first) {
			t.Errorf("%s: %s", path, one.Raw)
		}
		if fmt.Sprint(len(two.Data())+2) != c.total || strings.Contains(two.Raw, fmt.Sprint(one.Data()[0]["id"])) {
			t.Errorf("%s: %s", path, two.Raw)
		}
		s.Get(path+"?per_page=1001").Refused(400, "invalid_request", "per_page")
		if rest := s.Get(path + "?page=9").OK(200).Data(); len(rest) != 0 {
			t.Errorf("%s: behind the end, there is %v", path, rest)
		}
	}
	ledger := s.Get("/_sandbox/ledger?per_page=4&page=2").OK(200)
	if accounts, _ := ledger.Body["accounts"].([]any); len(accounts) != 4 || ledger.Body["balanced"] != true {
		t.Errorf("the ledger is %s", ledger.Raw)
	}
}
