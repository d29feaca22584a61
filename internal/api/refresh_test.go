package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// fleetService lists and shows cards and counts the requests.
type fleetService struct {
	cards       []api.CardListItem // newest first
	noTotal     bool
	onePage     bool  // knows no pages
	cap         int   // of per_page
	echoes      bool  // per_page is answered as it was asked for
	everyStatus bool  // lists take no filter
	short       []int // pages that lack three cards
	latency     time.Duration
	failures    atomic.Int32 // list requests from the second page on that fail

	mu    sync.Mutex
	lists int
	gets  []string
	hook  func(r *http.Request) // before each response
	patch func(card *api.CardListItem, page int)
}

// newFleetService has n cards of which every tenth is frozen.
func newFleetService(n int) *fleetService {
	s := &fleetService{cap: 100}
	for i := range n {
		card := api.CardListItem{ID: fmt.Sprintf("card_%d", i), BinID: "bin_1", Status: api.StatusActive, Balance: usd.Cents(int64(5000 + i))}
		if i%10 == 3 {
			card.Status = api.StatusFrozen
		}
		s.cards = append(s.cards, card)
	}
	return s
}

func (s *fleetService) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists + len(s.gets)
}

func (s *fleetService) snapshot() []api.CardListItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cards)
}

func (s *fleetService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.latency)
	if s.hook != nil {
		s.hook(r)
	}
	id := strings.TrimPrefix(r.URL.Path, "/api/v1/cards/")
	if id != r.URL.Path && r.Method == http.MethodGet {
		s.mu.Lock()
		s.gets = append(s.gets, id)
		s.mu.Unlock()
		for _, card := range s.snapshot() {
			if card.ID == id {
				write(w, 200, card)
				return
			}
		}
		write(w, 404, map[string]string{"error": "not_found", "message": ""})
		return
	}
	if r.Method != http.MethodGet {
		write(w, 200, map[string]any{"id": strings.Split(id, "/")[0], "status": "frozen", "balance": 1})
		return
	}
	s.list(w, r)
}

func (s *fleetService) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.lists++
	s.mu.Unlock()
	query := r.URL.Query()
	number, _ := strconv.Atoi(query.Get("page"))
	if number > 1 && s.failures.Add(-1) >= 0 {
		w.WriteHeader(500)
		return
	}
	size, _ := strconv.Atoi(query.Get("per_page"))
	size = min(size, s.cap)
	found := []api.CardListItem{}
	for _, card := range s.snapshot() {
		if s.everyStatus || string(card.Status) == query.Get("status") {
			found = append(found, card)
		}
	}
	shown := number
	if s.onePage {
		number = 1
	}
	low := min((number-1)*size, len(found))
	data := slices.Clone(found[low:min(low+size, len(found))])
	if slices.Contains(s.short, number) {
		data = data[3:]
	}
	for i := range data {
		if s.patch != nil {
			s.patch(&data[i], number)
		}
	}
	body := map[string]any{"data": data, "page": shown, "per_page": size, "total": len(found)}
	if s.echoes {
		body["per_page"], _ = strconv.Atoi(query.Get("per_page"))
	}
	if s.noTotal {
		delete(body, "total")
	}
	write(w, 200, body)
}

// refresh reads cards by ten readers, as Terraform does.
func refresh(t *testing.T, client *api.Client, cards []api.CardListItem, readers int) {
	t.Helper()
	work := make(chan api.CardListItem)
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for card := range work {
				got, err := client.RefreshCard(t.Context(), card.ID, card.Status, nil)
				if err != nil || got.CardListItem != card {
					t.Errorf("got %+v, %v; want %+v", got, err, card)
				}
			}
		})
	}
	for _, card := range cards {
		work <- card
	}
	close(work)
	wg.Wait()
}

func unlimited(c *api.Config) {
	c.Limits = api.Limits{RequestsPerMinute: 1 << 20, RequestsPerHour: 1 << 20}
	c.Clock = slowStart{newFakeClock()}
}

func TestRefreshOfFleet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ cards, most, readers int }{
		{1, 1, 10},
		{2, 3, 10},
		{100, 3, 10},
		{1000, 12, 10},
		{3000, 32, 10},
		{10000, 178, 10},
		{1000, 2*10 + 40, 1},
		{3000, 32, 30},
	} {
		t.Run(fmt.Sprintf("%d cards by %d", test.cards, test.readers), func(t *testing.T) {
			t.Parallel()
			service := newFleetService(test.cards)
			service.latency = time.Millisecond
			client := newClient(t, service, unlimited)
			order := slices.Clone(service.cards) // Terraform's order is not the list's
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			refresh(t, client, order, test.readers)
			t.Logf("%d requests (%d lists)", service.calls(), service.lists)
			if got := service.calls(); got > test.most {
				t.Errorf("%d requests, want at most %d", got, test.most)
			}
		})
	}
}

// Whatever part of an account a configuration holds, a refresh costs at most
// twice the least possible and 40 more.
func TestRefreshOfPartOfFleetIsBounded(t *testing.T) {
	t.Parallel()
	for _, part := range []struct{ cards, every int }{{500, 2}, {500, 50}, {2000, 7}, {2000, 100}, {5000, 400}, {5000, 30}} {
		t.Run(fmt.Sprintf("each %dth of %d", part.every, part.cards), func(t *testing.T) {
			t.Parallel()
			service := newFleetService(part.cards)
			var asked []api.CardListItem
			count := map[api.CardStatus][2]int{}
			for i, card := range service.cards {
				n := count[card.Status]
				n[0]++
				if i%part.every == 0 {
					asked = append(asked, card)
					n[1]++
				}
				count[card.Status] = n
			}
			least := 0
			for _, n := range count {
				least += min(n[1], (n[0]+99)/100)
			}
			refresh(t, newClient(t, service, unlimited), asked, 10)
			if got := service.calls(); got > 2*least+40 {
				t.Errorf("%d requests, want at most twice %d and 40", got, least)
			}
		})
	}
}

func TestRefreshTellsTheTruth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*fleetService)
		last   func(api.CardListItem) api.CardStatus
		most   int // requests
	}{
		"statuses have changed": {last: func(api.CardListItem) api.CardStatus { return api.StatusActive }, most: 20},
		"statuses are the other way": {last: func(c api.CardListItem) api.CardStatus {
			return map[bool]api.CardStatus{true: "active", false: "frozen"}[c.Status == "frozen"]
		}, most: 40},
		"a status nobody knows":        {last: func(api.CardListItem) api.CardStatus { return "sleeping" }, most: 400},
		"no total":                     {change: func(s *fleetService) { s.noTotal = true }, most: 402},
		"a page that repeats":          {change: func(s *fleetService) { s.onePage = true }, most: 440},
		"pages of 30":                  {change: func(s *fleetService) { s.cap = 30 }, most: 50},
		"pages of 25, called 100":      {change: func(s *fleetService) { s.cap, s.echoes = 25, true }, most: 50},
		"a page that fails":            {change: func(s *fleetService) { s.failures.Store(1000) }, most: 440},
		"a page that fails for a time": {change: func(s *fleetService) { s.failures.Store(1) }, most: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFleetService(400)
			if test.change != nil {
				test.change(service)
			}
			asked := slices.Clone(service.cards)
			last := test.last
			if last == nil {
				last = func(c api.CardListItem) api.CardStatus { return c.Status }
			}
			client := newClient(t, service, unlimited, func(c *api.Config) { c.MaxRetries = 1 })
			var wg sync.WaitGroup
			for reader := range 10 {
				wg.Go(func() {
					for i := reader; i < len(asked); i += 10 {
						got, err := client.RefreshCard(t.Context(), asked[i].ID, last(asked[i]), nil)
						if err != nil || got.CardListItem != asked[i] {
							t.Errorf("got %+v, %v; want %+v", got, err, asked[i])
						}
					}
				})
			}
			wg.Wait()
			if got := service.calls(); got > test.most {
				t.Errorf("%d requests, want at most %d", got, test.most)
			}
		})
	}
}

// What pages do not say for certain is asked of the card itself.
func TestRefreshAsksForTheCardInDoubt(t *testing.T) {
	t.Parallel()
	const subject = "card_0"
	for name, change := range map[string]func(*fleetService){
		"seen twice, with different content": func(s *fleetService) {
			s.patch = func(c *api.CardListItem, page int) {
				if page == 2 && c.ID == "card_150" {
					c.ID, c.Balance = subject, 1
				}
			}
		},
		"pages that repeat": func(s *fleetService) { s.onePage = true },
		"listed as terminated": func(s *fleetService) {
			s.patch = func(c *api.CardListItem, _ int) {
				if c.ID == subject {
					c.Status = api.StatusTerminated
				}
			}
		},
		"terminated": func(s *fleetService) { s.cards[0].Status = api.StatusTerminated },
		"not there":  func(s *fleetService) { s.cards[0].ID = "card_of_another" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFleetService(200)
			change(service)
			client := newClient(t, service, unlimited)
			refresh(t, client, slices.DeleteFunc(slices.Clone(service.cards[1:]), func(c api.CardListItem) bool { return c.ID == "card_150" }), 10)
			service.mu.Lock()
			service.gets = nil
			service.mu.Unlock()
			got, err := client.RefreshCard(t.Context(), subject, api.StatusActive, nil)
			switch {
			case !slices.Equal(service.gets, []string{subject}):
				t.Errorf("asked for %q", service.gets)
			case name == "not there":
				if !api.IsNotFound(err) {
					t.Errorf("%+v, %v", got, err)
				}
			case err != nil || got.CardListItem != service.cards[0]:
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
