package sandbox_test

import (
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
