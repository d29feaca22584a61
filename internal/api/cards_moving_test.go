package api_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// activeIDs returns the ids of the active cards, and how many requests that took.
func (s *fleetService) activeIDs(t *testing.T, client *api.Client) ([]string, int) {
	t.Helper()
	before := s.calls()
	var ids []string
	for card, err := range client.Cards(t.Context(), api.CardFilter{Status: api.StatusActive}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, card.ID)
	}
	return ids, s.calls() - before
}

// beforePage runs once, when a page is asked for.
func (s *fleetService) beforePage(number int, change func()) {
	done, earlier := false, s.hook
	s.hook = func(r *http.Request) {
		if earlier != nil {
			earlier(r)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !done && r.URL.Query().Get("page") == fmt.Sprint(number) {
			done = true
			change()
		}
	}
}

// A card that leaves the filter between two pages moves all that follow, and one
// of them to a page that was read already: a card that vanishes from a list so
// may be one that a configuration counts.
func TestCardsThatMoveBetweenPagesAreListed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		leave, arrive int
		requests      int
	}{
		"one leaves":                  {leave: 1, requests: 7},
		"a page leaves":               {leave: 100, requests: 6},
		"more than a page leaves":     {leave: 130, requests: 7},
		"one arrives":                 {arrive: 1, requests: 5},
		"one leaves and one arrives":  {leave: 1, arrive: 1, requests: 5},
		"a page arrives and one goes": {leave: 1, arrive: 100, requests: 6},
		"nothing changes":             {requests: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFleetService(0)
			for i := range 450 {
				service.cards = append(service.cards, activeCard(i))
			}
			want := service.cards[test.leave:]
			var stay []string
			for _, card := range want {
				stay = append(stay, card.ID)
			}
			service.beforePage(4, func() {
				service.cards = slices.Clone(service.cards[test.leave:])
				for i := range test.arrive {
					service.cards = slices.Insert(service.cards, 0, activeCard(1000+i))
				}
			})
			got, requests := service.activeIDs(t, newClient(t, service, unlimited))
			got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(stay, id) })
			if !slices.Equal(got, stay) {
				t.Errorf("%d of the %d cards that stay are listed, each once and in order", len(got), len(stay))
			}
			if requests > test.requests {
				t.Errorf("%d requests, want at most %d", requests, test.requests)
			}
		})
	}
}

func activeCard(i int) api.CardListItem {
	return api.CardListItem{ID: fmt.Sprintf("card_%d", i), BinID: "bin_1", Status: api.StatusActive}
}

// Whatever comes and goes between requests, a card that stays is listed.
func TestCardsThatStayAreListed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		service := newFleetService(0)
		service.cap = 1 + r.IntN(10)
		for i := range r.IntN(60) {
			service.cards = append(service.cards, activeCard(i))
		}
		all, next := slices.Clone(service.cards), 1000
		service.hook = func(*http.Request) {
			if r.IntN(3) > 0 {
				return
			}
			for range r.IntN(3) {
				service.cards = slices.Insert(slices.Clone(service.cards), 0, activeCard(next))
				next++
			}
			for range min(r.IntN(4), len(service.cards)) {
				i := r.IntN(len(service.cards))
				service.cards = slices.Delete(slices.Clone(service.cards), i, i+1)
			}
		}
		got, _ := service.activeIDs(t, newClient(t, service, unlimited))
		for _, card := range service.cards {
			if slices.Contains(all, card) && !slices.Contains(got, card.ID) {
				t.Fatalf("seed %d: %s stays and is not listed", seed, card.ID)
			}
		}
		if slices.Sort(got); len(slices.Compact(got)) != len(got) {
			t.Fatalf("seed %d: a card is listed twice", seed)
		}
	}
}

// A service may leave cards out after it has cut the pages: one that stays short
// ends no list.
func TestShortPagesInTheMiddleAreListed(t *testing.T) {
	t.Parallel()
	for _, short := range [][]int{{2}, {2, 3}, {1, 3}} {
		service := newFleetService(0)
		for i := range 450 {
			service.cards = append(service.cards, activeCard(i))
		}
		service.short = short
		got, requests := service.activeIDs(t, newClient(t, service, unlimited))
		if want := 450 - 3*len(short); len(got) != want || requests > 12 {
			t.Errorf("pages %d are short: %d cards of %d after %d requests", short, len(got), want, requests)
		}
	}
}

// A list that never holds still is an error, not a short list.
func TestCardsThatNeverHoldStill(t *testing.T) {
	t.Parallel()
	requests := 0
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		total := 10 - 5*(requests%2)
		write(w, 200, map[string]any{"data": []api.CardListItem{activeCard(requests)}, "page": 1, "per_page": 1, "total": total})
	})
	var failed error
	for _, err := range newClient(t, service, unlimited).Cards(t.Context(), api.CardFilter{}) {
		failed = err
	}
	if failed == nil || !strings.Contains(failed.Error(), "changes while it is read") {
		t.Errorf("the list ended with %v", failed)
	}
}

// A card is not gone because it moved while all cards were listed.
func TestInventoryOfMovingCards(t *testing.T) {
	t.Parallel()
	service := newFleetService(0)
	service.everyStatus = true
	for i := range 250 {
		service.cards = append(service.cards, activeCard(i))
	}
	service.beforePage(2, func() { service.cards = slices.Clone(service.cards[1:]) })
	service.beforePage(3, func() { service.cards = slices.Insert(slices.Clone(service.cards), 0, activeCard(1000)) })
	cards, err := newClient(t, service, unlimited).Inventory(t.Context(), time.Time{})
	if _, listed := cards["card_100"]; err != nil || !listed {
		t.Errorf("card_100 is listed: %t, %v", listed, err)
	}
	service.onePage = true
	clock := newFakeClock()
	if cards, err := newClient(t, service, on(clock)).Inventory(t.Context(), clock.Now().Add(-1)); err == nil || errors.Is(err, t.Context().Err()) {
		t.Errorf("a page that repeats makes an inventory of %d cards", len(cards))
	}
}

// The pages that a refresh shares may be from different moments too.
func TestRefreshOfMovingFleet(t *testing.T) {
	t.Parallel()
	service := newFleetService(1000)
	changed := slices.Clone(service.cards)
	service.beforePage(5, func() {
		changed[0].Status = api.StatusTerminated
		service.cards = changed
	})
	client := newClient(t, service, unlimited)
	refresh(t, client, service.cards[1:], 1)
	if got := service.calls(); got > 70 {
		t.Errorf("%d requests", got)
	}
}
