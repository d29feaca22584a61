package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// movingService lists cards that come and go, and counts the requests.
type movingService struct {
	cards   []api.CardListItem // newest first
	onePage bool               // knows no pages
	cap     int                // of per_page
	short   []int              // pages that lack three cards
	lists   int
	hook    func(r *http.Request) // before each response
}

// newMovingService has n active cards.
func newMovingService(n int) *movingService {
	s := &movingService{cap: api.MaxPerPage}
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
	if s.hook != nil {
		s.hook(r)
	}
	shown, _ := strconv.Atoi(r.URL.Query().Get("page"))
	number := shown
	if s.onePage {
		number = 1
	}
	low := min((number-1)*s.cap, len(s.cards))
	data := s.cards[low:min(low+s.cap, len(s.cards))]
	if slices.Contains(s.short, number) {
		data = data[3:]
	}
	write(w, 200, map[string]any{"data": data, "page": shown, "per_page": s.cap, "total": len(s.cards)})
}

// activeIDs returns the ids of the active cards, and how many requests that took.
func (s *movingService) activeIDs(t *testing.T) ([]string, int) {
	t.Helper()
	var ids []string
	for card, err := range newClient(t, s, unlimited).Cards(t.Context(), api.CardFilter{Status: api.StatusActive}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, card.ID)
	}
	return ids, s.lists
}

// beforePage runs once, when a page is asked for.
func (s *movingService) beforePage(number int, change func()) {
	done, earlier := false, s.hook
	s.hook = func(r *http.Request) {
		if earlier != nil {
			earlier(r)
		}
		if !done && r.URL.Query().Get("page") == fmt.Sprint(number) {
			done = true
			change()
		}
	}
}

func unlimited(c *api.Config) {
	c.Limits = api.Limits{RequestsPerMinute: 1 << 20, RequestsPerHour: 1 << 20}
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
			service := newMovingService(450)
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
			got, requests := service.activeIDs(t)
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

// Whatever comes and goes between requests, a card that stays is listed.
func TestCardsThatStayAreListed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		service := newMovingService(r.IntN(60))
		service.cap = 1 + r.IntN(10)
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
		got, _ := service.activeIDs(t)
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
		service := newMovingService(450)
		service.short = short
		got, requests := service.activeIDs(t)
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

// A card is not gone because it moved while all cards were listed. A listing that
// repeats its first page is not complete.
func TestWalkOfMovingCards(t *testing.T) {
	t.Parallel()
	walk := func(service http.Handler, filter api.CardFilter) (ids []string, complete bool) {
		complete, err := newClient(t, service, unlimited).WalkCards(t.Context(), filter, func(card api.CardListItem) bool {
			ids = append(ids, card.ID)
			return true
		})
		if err != nil {
			t.Error(err)
		}
		return ids, complete
	}
	service := newMovingService(250)
	service.beforePage(2, func() { service.cards = service.cards[1:] })
	service.beforePage(3, func() { service.cards = slices.Insert(slices.Clone(service.cards), 0, activeCard(1000)) })
	if ids, complete := walk(service, api.CardFilter{}); !complete || !slices.Contains(ids, "card_100") {
		t.Errorf("complete: %t, and card_100 is listed: %t", complete, slices.Contains(ids, "card_100"))
	}
	service.onePage = true
	if ids, complete := walk(service, api.CardFilter{}); complete {
		t.Errorf("a page that repeats makes a list of %d cards", len(ids))
	}
	unpaged := respond(200, `{"data":[{"id":"card_9","status":"active","balance":1,"bin_id":"b","spending_limit":1}]}`)
	if ids, complete := walk(unpaged, api.CardFilter{}); complete {
		t.Errorf("taken for complete: %q", ids)
	}
}
