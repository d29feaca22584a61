package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Creates that look alike in a list end with a card each, whatever is lost.
func TestIssueCardsThatLookAlike(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fault{
		"one lost":         {works, works, works, lostButApplied},
		"many lost":        {lostButApplied, lostForGood, lostButApplied, lostForGood, lostButApplied, works, beforeTheWait},
		"the first, late":  {afterTheLooks},
		"all are lost":     slices.Repeat([]fault{lostButApplied}, 8),
		"half never comes": slices.Repeat([]fault{lostForGood, works}, 4),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(faults...)
			service.add(alike())
			client := service.client(t)
			ids := make([]string, 8)
			var wg sync.WaitGroup
			for i := range ids {
				wg.Go(func() {
					issuance, err := client.IssueCard(t.Context(), request("ads"))
					if err != nil || len(issuance.PossibleDuplicates) > 0 {
						t.Errorf("%+v, %v", issuance, err)
					}
					ids[i] = issuance.Card.ID
				})
			}
			wg.Wait()
			want := []string{"card_2", "card_3", "card_4", "card_5", "card_6", "card_7", "card_8", "card_9"}
			if slices.Sort(ids); !slices.Equal(ids, want) || len(service.balances()) != 9 {
				t.Errorf("of %d cards the creates ended with %q", len(service.balances()), ids)
			}
		})
	}
}

// Creates of one label are told by their loads. Where a card does not hold its load, one
// may end unknown; never is there a card for which nobody has asked.
func TestIssueCardsOfOneLabelAndOtherLoads(t *testing.T) {
	t.Parallel()
	done, not := lostButApplied, lostForGood
	for _, lost := range [][]fault{{done, done}, {done, not}, {not, done}, {not, not}} {
		for _, fee := range []usd.Amount{0, usd.Dollar, 20 * usd.Dollar} { // the last leaves one with the load of the other
			for _, books := range []time.Duration{0, 45 * time.Second, 75 * time.Second} {
				var both sync.WaitGroup
				both.Add(2)
				service := newFakeService(slices.Clone(lost)...)
				service.idempotency, service.fee, service.books = "ignored", fee, books
				for i := range lost {
					service.faults[i].before = func() { both.Done(); both.Wait() }
				}
				ends := issueTogether(t, service.client(t), "a", "rich")
				cards, isExact := service.balances(), fee == 0 && books == 0
				text := fmt.Sprintf("%d cards, %q, of %+v with a fee of %s, booked after %s", len(cards), ends, lost, fee, books)
				if len(cards) > 2 || ends[0] == ends[1] && strings.Contains(text, "card_") {
					t.Error(text)
				}
				for i, load := range []usd.Amount{50 * usd.Dollar, 70 * usd.Dollar} {
					if _, id, _ := strings.Cut(ends[i], " "); isExact && cards[id] != load {
						t.Error(text)
					}
				}
			}
		}
	}
}

// issueTogether issues a card for each owner at the same time, for a rich one with more.
func issueTogether(t *testing.T, client *api.Client, owners ...string) []string {
	t.Helper()
	ends := make([]string, len(owners))
	var wg sync.WaitGroup
	for i, owner := range owners {
		wg.Go(func() {
			req := request("ads")
			if req.Metadata = map[string]string{"owner": owner}; owner == "rich" {
				req.Amount = 70 * usd.Dollar
			}
			ends[i] = toldOf(client.IssueCard(t.Context(), req))
		})
	}
	wg.Wait()
	return ends
}

// Cards that look alike in a list but were asked for with other properties must
// not be taken for one another.
func TestIssueCardStopsBetweenDifferentCardsThatLookAlike(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	all.Add(2)
	together := func() { all.Done(); all.Wait() }
	service := newFakeService(fault{response: "drop", before: together}, fault{commit: never, response: "drop", before: together})
	ends := issueTogether(t, service.client(t), "a", "b")
	same(t, "both", []any{ends, len(service.keys()), len(service.balances())}, "[[unknown, 1 candidates unknown, 1 candidates] 2 1]")
}

// A card that comes late may be that of an issuance that is still reconciled,
// so only the last of them names what is left over.
func TestIssueCardNamesNoRivalsCardAsDuplicate(t *testing.T) {
	t.Parallel()
	for name, owners := range map[string][]string{"alike": {"a", "a"}, "with other properties": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Both are on their way together, and the late one is lost before the other.
			second, lost := make(chan struct{}), make(chan struct{})
			var isLost sync.Once
			late := fault{commit: 140 * time.Second, response: "drop", before: func() { <-second }}
			other := undone("drop")
			other.before = func() { close(second); <-lost }
			service := newFakeService(late, other)
			service.idempotency = "ignored"
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					defer isLost.Do(func() { close(lost) })
				}
				service.ServeHTTP(w, r)
			}), on(service.clock))
			text := strings.Join(issueTogether(t, client, owners...), ", ")
			for _, id := range []string{"card_1", "card_2", "card_3"} {
				if strings.Count(text, id) != 1 || strings.Contains(text, "unknown") {
					t.Errorf("got %s, want each of three cards once", text)
				}
			}
		})
	}
}

// Nor does one name a card that may be of an issuance with another load, which is unknown.
func TestIssueCardNamesNoCardOfAnUnknownIssuance(t *testing.T) {
	t.Parallel()
	service := newFakeService(append(slices.Repeat([]fault{lostForGood}, 6), works)...)
	rich := alike()
	rich.Balance = 70 * usd.Dollar
	service.faults[6].before = func() { service.add(rich); service.add(alike()) }
	client := service.client(t)
	ends := append(issueTogether(t, client, "rich"), issueTogether(t, client, "a")...)
	same(t, "both", ends, "[unknown, 0 candidates issued card_3, and card_2]")
}

// After a first 201 nothing is sent again, also where it is about the card of another create
// with the same label, and the own one is listed late. After a lost attempt, of which the
// other create has taken the card, it is sent again under another key, but not for ever.
func TestIssueCardAfterAResponseAboutARival(t *testing.T) {
	t.Parallel()
	const rivals = `201 {"id":"card_1","bin_id":"bin_1","status":"active","balance":50,"spending_limit":5000,"label":"ads"}`
	for name, test := range map[string]struct {
		faults []fault
		posts  int
		ends   string
	}{
		"at once":             {[]fault{{response: rivals}}, 1, "unknown, 0 candidates"},
		"after a lost one":    {[]fault{lostForGood, undone(rivals)}, 3, "issued card_2"},
		"after two lost ones": {[]fault{lostForGood, undone(rivals), lostForGood, undone(rivals)}, 4, "unknown, 0 candidates"},
	} {
		service := newFakeService()
		client := service.client(t, func(c *api.Config) { c.MaxRetries = 1 })
		if first := toldOf(client.IssueCard(t.Context(), request("ads"))); first != "issued card_1" {
			t.Fatal(first)
		}
		service.hides, service.faults = time.Hour, test.faults
		got := toldOf(client.IssueCard(t.Context(), request("ads")))
		if keys := service.keys()[1:]; got != test.ends || len(keys) != test.posts || len(slices.Compact(keys)) != (test.posts+1)/2 {
			t.Errorf("%s: %s after requests with %q; the cards hold %v", name, got, keys, service.balances())
		}
	}
}
