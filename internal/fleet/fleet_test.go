package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/fleet"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// source lists and shows cards and counts the requests.
type source struct {
	cards   []api.CardListItem // newest first
	noTotal bool
	onePage bool // knows no pages
	cap     int  // of per_page
	echoes  bool // per_page is answered as it was asked for
	fails   bool // lists, from the second page on
	latency time.Duration
	clock   api.Clock
	limits  *ratelimit.Limiter // nil: none

	mu      sync.Mutex
	lists   int
	gets    []string
	written bool
	hook    func(request string) // before each response
	patch   func(card *api.CardListItem, page int)
}

// newSource has n cards of which every tenth is frozen.
func newSource(n int) *source {
	s := &source{cap: api.MaxPerPage, clock: ratelimit.SystemClock{}, latency: time.Millisecond}
	for i := range n {
		card := api.CardListItem{ID: fmt.Sprintf("card_%d", i), BinID: "bin_1", Status: api.StatusActive, Balance: usd.Cents(int64(5000 + i))}
		if i%10 == 3 {
			card.Status = api.StatusFrozen
		}
		s.cards = append(s.cards, card)
	}
	return s
}

func (s *source) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists + len(s.gets)
}

func (s *source) HasWritten() bool { return s.written }

func (s *source) Clock() api.Clock { return s.clock }

func (s *source) ServiceTime() (time.Time, bool) { return time.Now(), true }

// request passes the limits and takes its time.
func (s *source) request(ctx context.Context, what string) error {
	if s.limits != nil {
		if err := s.limits.Acquire(ctx, ratelimit.General, time.Now().Add(time.Hour)); err != nil {
			return err
		}
		defer s.limits.Release(ratelimit.General)
	}
	time.Sleep(s.latency)
	if s.hook != nil {
		s.hook(what)
	}
	return ctx.Err()
}

func (s *source) GetCard(ctx context.Context, id string) (api.CardSummary, error) {
	if err := s.request(ctx, id); err != nil {
		return api.CardSummary{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets = append(s.gets, id)
	for _, card := range s.cards {
		if card.ID == id {
			return api.CardSummary{CardListItem: card}, nil
		}
	}
	return api.CardSummary{}, &api.Error{Status: http.StatusNotFound, Code: "not_found"}
}

func (s *source) ListCards(ctx context.Context, filter api.CardFilter, page api.Page) (api.CardPage, error) {
	err := s.request(ctx, fmt.Sprintf("%s page %d", filter.Status, page.Number))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	if err != nil || s.fails && page.Number > 1 {
		return api.CardPage{}, errors.Join(err, errors.New("no page"))
	}
	var found []api.CardListItem
	for _, card := range s.cards {
		if filter.Status == "" || card.Status == filter.Status {
			found = append(found, card)
		}
	}
	result := api.CardPage{Page: page.Number, PerPage: min(page.PerPage, s.cap)}
	number, total := page.Number, len(found)
	if s.onePage {
		number = 1
	}
	low := min((number-1)*result.PerPage, total)
	result.Data = slices.Clone(found[low:min(low+result.PerPage, total)])
	for i := range result.Data {
		if s.patch != nil {
			s.patch(&result.Data[i], number)
		}
	}
	if s.echoes {
		result.PerPage = page.PerPage
	}
	if !s.noTotal {
		result.Total = &total
	}
	return result, nil
}

// WalkCards ends with a page that is not full, or that repeats.
func (s *source) WalkCards(ctx context.Context, filter api.CardFilter, visit func(api.CardListItem) bool) (bool, error) {
	for number := 1; ; number++ {
		page, err := s.ListCards(ctx, filter, api.Page{Number: number, PerPage: api.MaxPerPage})
		if err != nil || number > 1 && s.onePage {
			return false, err
		}
		for _, card := range page.Data {
			visit(card)
		}
		if len(page.Data) < s.cap {
			return true, nil
		}
	}
}

// read reads cards by so many readers, as Terraform does.
func read(t *testing.T, f *fleet.Fleet, cards []api.CardListItem, readers int) {
	t.Helper()
	var wg sync.WaitGroup
	for reader := range readers {
		wg.Go(func() {
			for i := reader; i < len(cards); i += readers {
				time.Sleep(time.Millisecond) // what Terraform takes for a card, at least
				got, err := f.Read(t.Context(), cards[i].ID, cards[i].Status, nil)
				if err != nil || got.CardListItem != cards[i] {
					t.Errorf("got %+v, %v; want %+v", got, err, cards[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestCallsOfAFleet(t *testing.T) {
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
			synctest.Test(t, func(t *testing.T) {
				s := newSource(test.cards)
				order := slices.Clone(s.cards) // Terraform's order is not the list's
				rand.New(rand.NewPCG(1, 2)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				read(t, fleet.New(s), order, test.readers)
				if got := s.calls(); got > test.most {
					t.Errorf("%d requests, want at most %d", got, test.most)
				}
			})
		})
	}
}

// Whatever part of an account a configuration holds, a refresh costs at most
// twice the least possible and 40 more.
func TestCallsOfPartOfAFleetAreBounded(t *testing.T) {
	t.Parallel()
	for _, part := range []struct{ cards, every int }{{500, 2}, {500, 50}, {2000, 7}, {2000, 100}, {5000, 400}, {5000, 30}} {
		t.Run(fmt.Sprintf("each %dth of %d", part.every, part.cards), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(part.cards)
				var asked []api.CardListItem
				count := map[api.CardStatus][2]int{}
				for i, card := range s.cards {
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
				read(t, fleet.New(s), asked, 10)
				if got := s.calls(); got > 2*least+40 {
					t.Errorf("%d requests, want at most twice %d and 40", got, least)
				}
			})
		})
	}
}

func TestReadTellsTheTruth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*source)
		last   func(api.CardListItem) api.CardStatus
		most   int // requests
	}{
		"statuses have changed": {last: func(api.CardListItem) api.CardStatus { return api.StatusActive }, most: 20},
		"statuses are the other way": {last: func(c api.CardListItem) api.CardStatus {
			return map[bool]api.CardStatus{true: "active", false: "frozen"}[c.Status == "frozen"]
		}, most: 40},
		"a status nobody knows":   {last: func(api.CardListItem) api.CardStatus { return "sleeping" }, most: 400},
		"no total":                {change: func(s *source) { s.noTotal = true }, most: 402},
		"a page that repeats":     {change: func(s *source) { s.onePage = true }, most: 440},
		"pages of 30":             {change: func(s *source) { s.cap = 30 }, most: 50},
		"pages of 25, called 100": {change: func(s *source) { s.cap, s.echoes = 25, true }, most: 50},
		"pages that fail":         {change: func(s *source) { s.fails = true }, most: 440},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(400)
				if test.change != nil {
					test.change(s)
				}
				f := fleet.New(s)
				var wg sync.WaitGroup
				for reader := range 10 {
					wg.Go(func() {
						for i := reader; i < len(s.cards); i += 10 {
							last := s.cards[i].Status
							if test.last != nil {
								last = test.last(s.cards[i])
							}
							got, err := f.Read(t.Context(), s.cards[i].ID, last, nil)
							if err != nil || got.CardListItem != s.cards[i] {
								t.Errorf("got %+v, %v; want %+v", got, err, s.cards[i])
							}
						}
					})
				}
				wg.Wait()
				if got := s.calls(); got > test.most {
					t.Errorf("%d requests, want at most %d", got, test.most)
				}
			})
		})
	}
}

// What pages do not say for certain is asked of the card itself.
func TestReadAsksForTheCardInDoubt(t *testing.T) {
	t.Parallel()
	const subject = "card_0"
	for name, change := range map[string]func(*source){
		"seen twice, with different content": func(s *source) {
			s.patch = func(c *api.CardListItem, page int) {
				if page == 2 && c.ID == "card_150" {
					c.ID, c.Balance = subject, 1
				}
			}
		},
		"pages that repeat": func(s *source) { s.onePage = true },
		"listed as terminated": func(s *source) {
			s.patch = func(c *api.CardListItem, _ int) {
				if c.ID == subject {
					c.Status = api.StatusTerminated
				}
			}
		},
		"terminated": func(s *source) { s.cards[0].Status = api.StatusTerminated },
		"not there":  func(s *source) { s.cards[0].ID = "card_of_another" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(200)
				change(s)
				f := fleet.New(s)
				read(t, f, slices.DeleteFunc(slices.Clone(s.cards[1:]), func(c api.CardListItem) bool { return c.ID == "card_150" }), 10)
				s.gets = nil
				var unlisted bool
				got, err := f.Read(t.Context(), subject, api.StatusActive, func(_ context.Context, is bool) error { unlisted = is; return nil })
				switch {
				case !slices.Equal(s.gets, []string{subject}):
					t.Errorf("asked for %q", s.gets)
				case unlisted != (name == "terminated" || name == "not there"):
					t.Errorf("unlisted: %t", unlisted)
				case name == "not there":
					if !api.IsNotFound(err) {
						t.Errorf("%+v, %v", got, err)
					}
				case err != nil || got.CardListItem != s.cards[0]:
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// The pages that a refresh shares may be from different moments.
func TestReadOfAMovingFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource(1000)
		before, after := s.cards, slices.Clone(s.cards)
		after[0].Status = api.StatusTerminated
		s.hook = func(request string) {
			if request == "active page 5" {
				s.mu.Lock()
				s.cards = after
				s.mu.Unlock()
			}
		}
		read(t, fleet.New(s), before[1:], 1)
		if got := s.calls(); got > 70 {
			t.Errorf("%d requests", got)
		}
	})
}

// panickingClock cannot wait for others.
type panickingClock struct{ api.Clock }

func (panickingClock) Wait(context.Context, time.Duration) error { panic("planted") }

// A read whose shared pages meet a bug reads the card by itself; a list is an error.
func TestPanicBesideARead(t *testing.T) {
	t.Parallel()
	s := newSource(1)
	s.clock = panickingClock{s.clock}
	f := fleet.New(s)
	if card, err := f.Read(t.Context(), "card_0", api.StatusActive, nil); err != nil || card.ID != "card_0" {
		t.Errorf("read %+v, %v", card, err)
	}
	s.hook = func(string) { panic("planted") }
	_, err := f.All(t.Context(), time.Time{})
	if _, ok := errors.AsType[*crash.Error](err); !ok {
		t.Errorf("the list ends with %v", err)
	}
}
