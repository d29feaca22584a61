package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// movingService lists cards that come and go, and counts the requests.
type movingService struct {
	cards   []api.CardListItem // newest first
	onePage bool               // knows no pages
	cap     int                // of per_page
	short   []string           // pages that lack three cards
	lists   int
	hook    func(page string) // before each response
}

// newMovingService has n active cards.
func newMovingService(n int) *movingService {
	s := &movingService{cap: api.MaxPerPage, hook: func(string) {}}
	for i := range n {
		s.cards = append(s.cards, activeCard(i))
	}
	return s
}

func activeCard(i int) api.CardListItem {
	return api.CardListItem{ID: fmt.Sprintf("card_%d", i), BinID: "bin_1", Status: api.StatusActive}
}

func (s *movingService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lists++
	page := r.URL.Query().Get("page")
	s.hook(page)
	if s.onePage {
		r.URL.RawQuery = "page=1"
	}
	all := make([]any, len(s.cards))
	for i, card := range s.cards {
		all[i] = card
	}
	missing := 0
	if slices.Contains(s.short, page) {
		missing = 3
	}
	writePage(w, r, all, s.cap, missing, true)
}

// walk returns the ids of the cards that a client reads, and whether they seem to be all.
func walk(t *testing.T, service http.Handler) (ids []string, complete bool) {
	t.Helper()
	complete, err := newClient(t, service, unlimited).WalkCards(t.Context(), api.CardFilter{}, func(card api.CardListItem) bool {
		ids = append(ids, card.ID)
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return ids, complete
}

// A card that leaves the filter between two pages moves all that follow, and one
// of them to a page that was read already: a card that vanishes from a list so
// may be one that a configuration counts, or is taken for gone. A service may leave cards
// out after it has cut the pages: one that stays short ends no list.
func TestCardsThatMoveBetweenPagesAreListed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		leave, arrive int // before page 4, and before page 5
		short         []string
		onePage       bool
		listed        int // of those that stay
		requests      int
		incomplete    bool
	}{
		"one leaves":                  {leave: 1, listed: 449, requests: 7},
		"a page leaves":               {leave: 100, listed: 350, requests: 6},
		"more than a page leaves":     {leave: 130, listed: 320, requests: 7},
		"one arrives":                 {arrive: 1, listed: 450, requests: 5},
		"one leaves and one arrives":  {leave: 1, arrive: 1, listed: 449, requests: 7},
		"a page arrives and one goes": {leave: 1, arrive: 100, listed: 449, requests: 8},
		"nothing changes":             {listed: 450, requests: 5},
		"a short page":                {short: []string{"2"}, listed: 447, requests: 12, incomplete: true},
		"short pages":                 {short: []string{"1", "3"}, listed: 444, requests: 12, incomplete: true},
		"a page that repeats":         {onePage: true, listed: 100, requests: 12, incomplete: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newMovingService(450)
			service.short, service.onePage = test.short, test.onePage
			stay := slices.Clone(service.cards[test.leave:])
			service.hook = func(page string) {
				switch {
				case page == "4" && test.leave > 0:
					service.cards, test.leave = slices.Clone(stay), 0
				case page == "5":
					for ; test.arrive > 0; test.arrive-- {
						service.cards = slices.Insert(service.cards, 0, activeCard(1000+test.arrive))
					}
				}
			}
			ids, complete := walk(t, service)
			var want []string
			for _, card := range stay {
				if slices.Contains(ids, card.ID) {
					want = append(want, card.ID)
				}
			}
			ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(want, id) })
			if !slices.Equal(ids, want) || len(ids) != test.listed {
				t.Errorf("%d of the %d cards that stay are listed, want %d, each once and in order", len(ids), len(stay), test.listed)
			}
			if service.lists > test.requests || complete == test.incomplete {
				t.Errorf("complete: %t after %d requests, want at most %d", complete, service.lists, test.requests)
			}
		})
	}
}

// A list without a total is never known to be complete.
func TestListWithoutATotal(t *testing.T) {
	t.Parallel()
	if ids, complete := walk(t, respond(200, `{"data":[{"id":"card_9","status":"active","balance":1,"bin_id":"b","spending_limit":1}]}`)); complete {
		t.Errorf("taken for complete: %q", ids)
	}
}

// Whatever comes and goes between requests, a card that stays is listed.
func TestCardsThatStayAreListed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		service := newMovingService(r.IntN(60))
		service.cap = 1 + r.IntN(10)
		all, next := slices.Clone(service.cards), 1000
		service.hook = func(string) {
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
		got, _ := walk(t, service)
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

// A list that never holds still is an error, not a short list.
func TestCardsThatNeverHoldStill(t *testing.T) {
	t.Parallel()
	service := newMovingService(0)
	service.cap = 1
	service.hook = func(string) { service.cards = newMovingService(10 - 5*(service.lists%2)).cards }
	err := try(t.Context(), newClient(t, service, unlimited), "cards")
	if err == nil || !strings.Contains(err.Error(), "changes while it is read") {
		t.Errorf("the list ended with %v", err)
	}
}
