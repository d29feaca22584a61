package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/fleet"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// source lists and shows cards and counts the requests.
type source struct {
	cards   []api.CardListItem // newest first
	noTotal bool
	onePage bool // knows no pages
	ofPage  bool // the total is the page's own
	counts  int  // in place of the cards that are listed
	cap     int  // of per_page
	echoes  bool // per_page is answered as it was asked for
	fails   bool // lists, from the second page on
	latency time.Duration
	clock   ratelimit.Clock
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
		card := api.CardListItem{ID: fmt.Sprintf("card_%d", i), BinID: "bin_1", Status: api.StatusActive, Balance: usd.Amount(5000 + i)}
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

func (s *source) Clock() ratelimit.Clock { return s.clock }

func (s *source) ServiceTime() time.Time { return time.Now() }

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
	return api.CardSummary{}, &transport.Error{Status: http.StatusNotFound, Code: "not_found"}
}

func (s *source) ListCards(ctx context.Context, filter api.CardFilter, number, size int) (api.CardPage, error) {
	err := s.request(ctx, fmt.Sprintf("%s page %d", filter.Status, number))
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, context.Canceled) { // which was not made
		s.lists++
	}
	if err != nil || s.fails && number > 1 {
		return api.CardPage{}, errors.Join(err, errors.New("no page"))
	}
	var found []api.CardListItem
	for _, card := range s.cards {
		if filter.Status == "" || card.Status == filter.Status {
			found = append(found, card)
		}
	}
	result := api.CardPage{Page: number, PerPage: min(size, s.cap)}
	total := len(found)
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
		result.PerPage = size
	}
	if s.ofPage {
		total = len(result.Data)
	} else if s.counts > 0 {
		total = s.counts
	}
	if !s.noTotal {
		result.Total = &total
	}
	return result, nil
}

// WalkCards ends with a page that is not full, or that repeats.
func (s *source) WalkCards(ctx context.Context, filter api.CardFilter, visit func(api.CardListItem) bool) error {
	for number := 1; ; number++ {
		page, err := s.ListCards(ctx, filter, number, api.MaxPerPage)
		if err != nil || number > 1 && s.onePage {
			return err
		}
		for _, card := range page.Data {
			visit(card)
		}
		if len(page.Data) < s.cap {
			return nil
		}
	}
}

// read reads cards by so many readers, as Terraform does, which remembers a status of
// each: the card's own where there is no other.
func read(t *testing.T, f *fleet.Fleet, cards []api.CardListItem, readers int, remembered ...func(api.CardListItem) api.CardStatus) {
	t.Helper()
	var wg sync.WaitGroup
	for reader := range readers {
		wg.Go(func() {
			for i := reader; i < len(cards); i += readers {
				time.Sleep(time.Millisecond) // what Terraform takes for a card, at least
				last := cards[i].Status
				for _, of := range remembered {
					last = of(cards[i])
				}
				got, err := f.Read(t.Context(), cards[i].ID, last)
				if err != nil || got.CardListItem != cards[i] {
					t.Errorf("got %+v, %v; want %+v", got, err, cards[i])
				}
			}
		})
	}
	wg.Wait()
}

// Whatever part of an account a configuration holds, and whatever the service's pages
// are like, a refresh tells the truth, and costs little more than the least possible.
func TestRefresh(t *testing.T) {
	t.Parallel()
	wasActive := func(api.CardListItem) api.CardStatus { return api.StatusActive }
	slow := func(perMinute, gone int) func(*source) {
		return func(s *source) {
			s.latency = 50 * time.Millisecond
			s.limits = ratelimit.New(s.clock, ratelimit.Limits{RequestsPerMinute: perMinute})
			for i := range gone {
				s.cards[i*100].Status = api.StatusTerminated
			}
		}
	}
	for name, test := range map[string]struct {
		cards, every, readers int
		change                func(*source)
		last                  func(api.CardListItem) api.CardStatus
		most                  int // requests
		took                  time.Duration
	}{
		"1 card":                       {cards: 1, most: 1},
		"2 cards":                      {cards: 2, most: 3},
		"100 cards":                    {cards: 100, most: 3},
		"a total of the page":          {cards: 111, change: func(s *source) { s.ofPage = true }, most: 3},
		"1,000 cards":                  {cards: 1000, most: 12},
		"3,000 cards":                  {cards: 3000, most: 32},
		"10,000 cards":                 {cards: 10_000, most: 178},
		"one by one":                   {cards: 1000, readers: 1, most: 2*10 + 40},
		"thirty at once":               {cards: 3000, readers: 30, most: 32},
		"each second of 500":           {cards: 500, every: 2, most: 2*5 + 40},
		"each 50th of 500":             {cards: 500, every: 50, most: 2*5 + 40},
		"each 7th of 2,000":            {cards: 2000, every: 7, most: 2*20 + 40},
		"each 100th of 2,000":          {cards: 2000, every: 100, most: 2*18 + 40},
		"each 400th of 5,000":          {cards: 5000, every: 400, most: 2*13 + 40},
		"each 30th of 5,000":           {cards: 5000, every: 30, most: 2*45 + 40},
		"statuses have changed":        {cards: 400, last: wasActive, most: 20},
		"a status nobody knows":        {cards: 400, last: func(api.CardListItem) api.CardStatus { return "sleeping" }, most: 400},
		"no total":                     {cards: 400, change: func(s *source) { s.noTotal = true }, most: 402},
		"a page that repeats":          {cards: 400, change: func(s *source) { s.onePage = true }, most: 440},
		"pages of 30":                  {cards: 400, change: func(s *source) { s.cap = 30 }, most: 50},
		"pages of 25, called 100":      {cards: 400, change: func(s *source) { s.cap, s.echoes = 25, true }, most: 50},
		"pages that fail":              {cards: 400, change: func(s *source) { s.fails = true }, most: 440},
		"25 a minute":                  {cards: 3000, change: slow(25, 0), most: 32, took: 3 * time.Minute},
		"5 a minute":                   {cards: 3000, change: slow(5, 0), most: 32, took: 9 * time.Minute},
		"25 a minute, some terminated": {cards: 3000, change: slow(25, 30), last: wasActive, most: 66, took: 5 * time.Minute},
		"statuses are the other way": {cards: 400, most: 40, last: func(c api.CardListItem) api.CardStatus {
			return map[bool]api.CardStatus{true: "active", false: "frozen"}[c.Status == "frozen"]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(test.cards)
				if test.change != nil {
					test.change(s)
				}
				var asked []api.CardListItem
				for i := 0; i < len(s.cards); i += cmp.Or(test.every, 1) {
					asked = append(asked, s.cards[i])
				}
				// Terraform's order is not the list's.
				rand.New(rand.NewPCG(1, 2)).Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
				began := time.Now()
				if test.last == nil {
					test.last = func(card api.CardListItem) api.CardStatus { return card.Status }
				}
				read(t, fleet.New(s), asked, cmp.Or(test.readers, 10), test.last)
				if got := s.calls(); got > test.most {
					t.Errorf("%d requests, want at most %d", got, test.most)
				}
				if took := time.Since(began); test.took > 0 && took > test.took {
					t.Errorf("it took %s, want at most %s", took, test.took)
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
				got, err := f.Read(t.Context(), subject, api.StatusActive)
				switch {
				case !slices.Equal(s.gets, []string{subject}):
					t.Errorf("asked for %q", s.gets)
				case name == "not there":
					if !transport.IsNotFound(err) {
						t.Errorf("%+v, %v", got, err)
					}
				case err != nil || got.CardListItem != s.cards[0]:
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// Where lists have none of the cards, as of another account, the first that the service
// does not know is asked for alone. One that is there makes each of them its own case.
func TestReadOfCardsThatNoListHas(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		own  int // cards that are there, before 30 that are not
		gets int
	}{
		"none": {gets: 1},
		"one":  {own: 1, gets: 30},
	} {
		for _, readers := range []int{10, 1} {
			synctest.Test(t, func(t *testing.T) {
				s := newSource(40)
				asked := append(slices.Clone(s.cards[:test.own]), newSource(30).cards...)
				for i := range asked[test.own:] {
					asked[test.own+i].ID = fmt.Sprintf("card_of_another_%d", i)
				}
				f := fleet.New(s)
				var missing atomic.Int32
				var wg sync.WaitGroup
				for reader := range readers {
					wg.Go(func() {
						for i := reader; i < len(asked); i += readers {
							if _, err := f.Read(t.Context(), asked[i].ID, api.StatusActive); transport.IsNotFound(err) {
								missing.Add(1)
							}
						}
					})
				}
				wg.Wait()
				alone := 0 // what a single reader asks for first has no company
				if readers == 1 {
					alone = 2
				}
				if got := len(s.gets); missing.Load() != 30 || got < test.gets || got > test.gets+alone || f.HasFound() != (test.own > 0) {
					t.Errorf("%s, %d readers: %d are missing after %d requests, want 30 after %d", name, readers, missing.Load(), got, test.gets)
				}
			})
		}
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
type panickingClock struct{ ratelimit.Clock }

func (panickingClock) Wait(context.Context, time.Duration) error { panic("planted") }

// A read whose shared pages meet a bug reads the card by itself; a list is an error.
func TestPanicBesideARead(t *testing.T) {
	t.Parallel()
	s := newSource(1)
	s.clock = panickingClock{s.clock}
	f := fleet.New(s)
	if card, err := f.Read(t.Context(), "card_0", api.StatusActive); err != nil || card.ID != "card_0" {
		t.Errorf("read %+v, %v", card, err)
	}
	s.hook = func(string) { panic("planted") }
	_, err := f.Labelled(t.Context(), "ads")
	if _, ok := errors.AsType[*crash.Error](err); !ok {
		t.Errorf("the list ends with %v", err)
	}
}
