package sandbox_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Lists of control calls have large pages.
func TestControlListsHavePages(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.subscribe("https://127.0.0.1:1", `"*"`)
	first := s.Issue("50")
	s.Issue("50")
	s.Issue("50")
	s.Freeze(first)
	s.play(strings.NewReplacer("FIRST", first).Replace, `
		GET /_sandbox/requests?per_page=2 → 200 "path":"/webhooks" & "path":"/cards" & "page":1,"per_page":2,"total":5 & !FIRST
		GET /_sandbox/requests?per_page=2&page=3 → 200 {"data":[{"method":"POST","path":"/cards/FIRST/freeze" & "total":5 & !"path":"/cards"
		GET /_sandbox/requests?page=9 → 200 "data":[]
		GET /_sandbox/requests?per_page=1001 → 400 "invalid_request" & per_page
		GET /_sandbox/deliveries?per_page=3 → 200 "card.created" & "page":1,"per_page":3,"total":4 & !"card.frozen"
		GET /_sandbox/deliveries?per_page=3&page=2 → 200 "card.frozen" & "total":4 & !"card.created"
		GET /_sandbox/deliveries?page=9 → 200 "data":[]
		GET /_sandbox/deliveries?per_page=1001 → 400 "invalid_request" & per_page`)
	ledger := s.Get("/_sandbox/ledger?per_page=4&page=2").OK(200)
	if accounts, _ := ledger.Body["accounts"].([]any); len(accounts) != 4 || ledger.Body["balanced"] != true {
		t.Errorf("the ledger is %s", ledger.Raw)
	}
}

// What is asked for ends at the last moment of a date, and at a time in any zone; a
// clock that was set back stands still, but holds no calls up until it has caught up.
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
	s.Put("/_sandbox/limits", `{"requests_per_minute":2}`).OK(200)
	for _, by := range []time.Duration{0, time.Hour} {
		wall.Store(int64(24*time.Hour - by))
		if read := admitted(3, func() sandboxtest.Response { return s.Get("/bins") }); read != 2 {
			t.Errorf("%v earlier, %d calls were let through", by, read)
		}
	}
}

// What modeltest's clients never send: null, an exponent, and as much as is taken; one
// more of anything is refused.
func TestIssueCard(t *testing.T) {
	t.Parallel()
	s := start(t)
	label, metadata := strings.Repeat("ü", 64), map[string]string{}
	for i := range 20 {
		metadata[fmt.Sprintf("%0512d", i)] = strings.Repeat("ü", 512)
	}
	most, err := json.Marshal(map[string]any{"bin_id": "bin_general_visa_eu", "amount": 50, "label": label, "metadata": metadata})
	if err != nil {
		t.Fatal(err)
	}
	card := s.Post("/cards", string(most)).OK(201)
	if kept, _ := card.Body["metadata"].(map[string]any); card.Text("label") != label || len(kept) != len(metadata) {
		t.Errorf("kept %s", card.Raw)
	}
	s.play(s.populate(), `
		POST /cards {BIN,"amount":1e2,"label":null,"auto_freeze_at":null} → 201 "balance":100.00 & "label":"" & "auto_freeze_at":null
		POST /cards/LAST/withdraw {} → 200 "card_balance":0.00`)
	for _, bin := range s.Get("/bins").OK(200).Data() {
		s.Post("/cards", map[string]any{"bin_id": bin["id"], "amount": 50}).OK(201)
	}
	if cached := s.Get("/cards/" + card.Text("id") + "/details").OK(200).Header.Get("Cache-Control"); cached != "no-store" {
		t.Errorf("details are for caches: %q", cached)
	}
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
	s.Balanced()
}
