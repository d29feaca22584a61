package sandbox_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
)

// happened is what the test knows of a recorded transaction.
type happened struct {
	id, card string
	kind     transaction.Type
	at       time.Time
}

// record writes n transactions on two cards, of all types, one every ten
// minutes; once, the clock on the wall goes back.
func record(t *testing.T, s *service, n int) []happened {
	t.Helper()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	wall := at
	db, err := store.Open(t.Context(), store.Options{Path: s.path, Wall: func() time.Time { return wall }})
	if err != nil {
		t.Fatal(err)
	}
	cards := []string{s.Issue("50"), s.Issue("50")}
	kinds := []transaction.Type{transaction.Authorization, transaction.Settlement, transaction.Authorization, transaction.Decline, transaction.Refund}
	var all []happened
	for i := range n {
		wall = at.Add(time.Duration(i) * 10 * time.Minute)
		want := wall
		if i == n/2 {
			wall = wall.Add(-time.Hour)
			want = all[i-1].at // time stands still instead
		}
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			owner, _, err := account.ByKey(tx, s.Key)
			if err != nil {
				return err
			}
			on, err := card.ByPublicID(tx, owner.ID, cards[i%3%2])
			if err != nil {
				return err
			}
			shown, err := transaction.Record(tx, owner.ID, transaction.New{
				Card: on, Type: kinds[i%5], Amount: 1234, Fee: 5, Merchant: transaction.Merchant{Name: "Ads", MCC: "7311"},
			})
			all = append(all, happened{shown.ID, shown.CardID, shown.Type, want})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestListTransactions(t *testing.T) {
	t.Parallel()
	s := start(t)
	all := record(t, s, 300)
	first := s.Get("/api/v1/transactions?per_page=1").OK(200)
	fields(t, first.Data()[0], "id", "card_id", "type", "amount", "currency", "fee", "merchant", "created_at")
	for _, part := range []string{"12.34", "USD", "0.05", "map[mcc:7311 name:Ads]", "2026-03-03T01:50:00.000Z"} {
		if got := fmt.Sprint(first.Data()[0]); !strings.Contains(got, part) {
			t.Errorf("%s is missing in %s", part, got)
		}
	}
	instants := []string{
		"", "2026-02-01", "2026-03-01", "2026-03-02", "2026-03-03", "2026-04-01",
		"2026-03-01T10:00:00Z", "2026-03-01T10:00:00.001Z", "2026-03-01T12:00:00+02:00", "2026-03-02T00:49:59.9999Z",
	}
	for _, cardID := range []string{"", all[0].card, all[1].card} {
		for _, kind := range []transaction.Type{"", transaction.Authorization, transaction.Settlement, transaction.Refund, transaction.Decline} {
			for _, from := range instants {
				for _, to := range instants {
					checkPages(t, s, all, cardID, kind, from, to)
				}
			}
		}
	}
}

// checkPages compares some pages with a plain filter over everything.
func checkPages(t *testing.T, s *service, all []happened, cardID string, kind transaction.Type, from, to string) {
	t.Helper()
	low, high := bound(t, from, false), bound(t, to, true)
	if !low.IsZero() && !high.IsZero() && low.After(high) {
		return
	}
	var want []string
	for _, h := range slices.Backward(all) {
		if (cardID == "" || h.card == cardID) && (kind == "" || h.kind == kind) &&
			(low.IsZero() || !h.at.Before(low)) && (high.IsZero() || !h.at.After(high)) {
			want = append(want, h.id)
		}
	}
	query := url.Values{"per_page": {"40"}}
	for name, value := range map[string]string{"card_id": cardID, "type": string(kind), "from": from, "to": to} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for page := 1; page == 1 || (page-2)*40 < len(want); page += 1 + len(want)/80 {
		query.Set("page", fmt.Sprint(page))
		var got []string
		for _, shown := range s.Get("/api/v1/transactions?" + query.Encode()).OK(200).Data() {
			got = append(got, shown["id"].(string))
		}
		begin := min((page-1)*40, len(want))
		if expected := want[begin:min(begin+40, len(want))]; !slices.Equal(got, expected) {
			t.Errorf("%s: got %d transactions, want %d: %v, %v", query.Encode(), len(got), len(expected), got, expected)
		}
	}
}

// bound reads an instant as API §4.10 means it: a date is its whole day.
func bound(t *testing.T, text string, end bool) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		if end {
			return day.Add(24*time.Hour - time.Nanosecond)
		}
		return day
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
