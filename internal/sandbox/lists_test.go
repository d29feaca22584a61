package sandbox_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

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
}

func TestBINs(t *testing.T) {
	t.Parallel()
	s := start(t)
	catalogue := s.Get("/api/v1/bins").OK(200)
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
		s.Post("/cards", map[string]any{"bin_id": b["id"], "amount": 50}).OK(201)
	}
	if len(ids) != 9 || len(categories) != 3 || !categories["ads"] {
		t.Errorf("ids %v, categories %v", ids, categories)
	}
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
	if again := s.Post("/api/v1/webhooks", `{"url":"https://example.com","events":["*"]}`).OK(201); again.Text("secret") == generated.Text("secret") {
		t.Error("two endpoints have one secret")
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

// What is asked for ends at the last moment of a date, and at a time in any zone; a
// clock that was set back stands still.
func TestPeriodsOfTransactions(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 23, 59, 59, 999e6, time.UTC)
	var wall atomic.Int64
	s := start(t, func(o *sandboxtest.Options) {
		o.Clock = func() time.Time { return begin.Add(time.Duration(wall.Load())) }
	})
	card := s.Issue("50")
	for _, at := range []time.Duration{0, time.Millisecond, -time.Hour, 24 * time.Hour} {
		wall.Store(int64(at))
		s.authorized(card, "1")
	}
	for query, want := range map[string]int{
		"": 4, "?to=2026-03-01": 1, "?from=2026-03-02": 3, "?from=2026-03-02&to=2026-03-02": 3, "?from=2026-03-03": 0,
		"?from=2026-03-01T23:59:59.999Z": 4, "?from=2026-03-01T23:59:59.9991Z": 3, "?to=2026-03-02T01:59:59.999%2B02:00": 1,
		"?from=2026-03-02T00:00:00Z&to=2026-03-02T00:00:00Z": 2, "?to=2026-03-02T00:00:00.0009Z": 3, "?page=9223372036854775807&per_page=100": 0,
		"?unknown=1": 4, "?card_id=card_x": 0, "?card_id=" + card + "&type=authorization": 4,
	} {
		if shown := s.Get("/transactions" + query).OK(200).Data(); len(shown) != want {
			t.Errorf("%s: %d transactions, want %d: %v", query, len(shown), want, shown)
		}
	}
	if page := s.Get("/cards?page=9223372036854775807&per_page=100").OK(200); len(page.Data()) != 0 || page.Text("total") != "1" {
		t.Errorf("past all ends, there is %s", page.Raw)
	}
}
