package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/fleet"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
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
	shuffle bool // cards are in another order in each response
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

func TestMain(m *testing.M) { sandboxtest.Run(m) }

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
	if s.shuffle {
		rand.New(rand.NewPCG(uint64(s.lists), 0)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
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

// read reads cards by so many readers, as Terraform does, which remembers a status of
// each: the card's own where there is no other.
func read(t *testing.T, f *fleet.Fleet, cards []api.CardListItem, readers int, remembered ...func(api.CardListItem) api.CardStatus) {
	t.Helper()
	sideBySide(cards, readers, func(card api.CardListItem) {
		time.Sleep(time.Millisecond) // what Terraform takes for a card, at least
		last := card.Status
		for _, of := range remembered {
			last = of(card)
		}
		if got, err := f.Read(t.Context(), card.ID, last); err != nil || got.CardListItem != card {
			t.Errorf("got %+v, %v; want %+v", got, err, card)
		}
	})
}

// sideBySide has so many readers share the cards.
func sideBySide(cards []api.CardListItem, readers int, visit func(api.CardListItem)) {
	var wg sync.WaitGroup
	for reader := range readers {
		wg.Go(func() {
			for i := reader; i < len(cards); i += readers {
				visit(cards[i])
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
		"1 card":                       {cards: 1, most: 1, took: 22 * time.Millisecond},
		"2 cards":                      {cards: 2, most: 2},
		"100 cards":                    {cards: 100, most: 3},
		"a total of the page":          {cards: 111, change: func(s *source) { s.ofPage = true }, most: 3},
		"1,000 cards":                  {cards: 1000, most: 12},
		"3,000 cards":                  {cards: 3000, most: 32},
		"10,000 cards":                 {cards: 10_000, most: 178},
		"one by one":                   {cards: 1000, readers: 1, most: 16},
		"thirty at once":               {cards: 3000, readers: 30, most: 32},
		"each second of 500":           {cards: 500, every: 2, most: 8},
		"each 50th of 500":             {cards: 500, every: 50, most: 8},
		"each 7th of 2,000":            {cards: 2000, every: 7, most: 24},
		"each 100th of 2,000":          {cards: 2000, every: 100, most: 20},
		"each 400th of 5,000":          {cards: 5000, every: 400, most: 15},
		"each 30th of 5,000":           {cards: 5000, every: 30, most: 72},
		"statuses have changed":        {cards: 400, last: wasActive, most: 8},
		"a status nobody knows":        {cards: 400, last: func(api.CardListItem) api.CardStatus { return "sleeping" }, most: 400},
		"no total":                     {cards: 400, change: func(s *source) { s.noTotal = true }, most: 402},
		"a page that repeats":          {cards: 400, change: func(s *source) { s.onePage = true }, most: 364},
		"pages of 30":                  {cards: 400, change: func(s *source) { s.cap = 30 }, most: 17},
		"pages of 25, called 100":      {cards: 400, change: func(s *source) { s.cap, s.echoes = 25, true }, most: 20},
		"no order":                     {cards: 400, change: func(s *source) { s.shuffle = true }, most: 440},
		"a total past paging":          {cards: 400, change: func(s *source) { s.counts = 600_000 }, most: 402},
		"pages that fail":              {cards: 400, change: func(s *source) { s.fails = true }, most: 440},
		"25 a minute":                  {cards: 3000, change: slow(25, 0), most: 32, took: 3 * time.Minute},
		"5 a minute":                   {cards: 3000, change: slow(5, 0), most: 32, took: 9 * time.Minute},
		"25 a minute, some terminated": {cards: 3000, change: slow(25, 30), last: wasActive, most: 66, took: 5 * time.Minute},
		"statuses are the other way": {cards: 400, most: 8, last: func(c api.CardListItem) api.CardStatus {
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
				if took := time.Since(began); test.took > 0 && took > test.took { //nolint:forbidigo // in a synctest bubble
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
				sideBySide(asked, readers, func(card api.CardListItem) {
					if _, err := f.Read(t.Context(), card.ID, api.StatusActive); transport.IsNotFound(err) {
						missing.Add(1)
					}
				})
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

// A read whose shared pages meet a bug reads the card by itself.
func TestPanicBesideARead(t *testing.T) {
	t.Parallel()
	s := newSource(1)
	s.clock = panickingClock{s.clock}
	f := fleet.New(s)
	if card, err := f.Read(t.Context(), "card_0", api.StatusActive); err != nil || card.ID != "card_0" {
		t.Errorf("read %+v, %v", card, err)
	}
	s = newSource(20)
	s.hook = func(request string) {
		if strings.Contains(request, "page") {
			panic("planted")
		}
	}
	read(t, fleet.New(s), s.cards, 10)
}

func balanceOf(t *testing.T, f *fleet.Fleet, card api.CardListItem) usd.Amount {
	t.Helper()
	return sandboxtest.Must(f.Read(t.Context(), card.ID, card.Status)).Balance
}

// The CLI comes to the last of 10,000 cards minutes after the first. Pages that are in
// use, or waited for, do not grow old, but not for ever, and end with the first write.
func TestPagesLiveForMinutes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reads       int           // of other cards, one every 50 seconds
		wait, pause time.Duration // with a reader who waits, and with nobody
		written     bool
		beside      bool // the reader still waits when the pause is over
		card        int
		old         bool
	}{
		"in use for nine minutes":         {reads: 11, card: 80, old: true},
		"in use for ten minutes":          {reads: 12, card: 80},
		"not used for a minute":           {reads: 2, pause: time.Minute, card: 80},
		"read a second time":              {reads: 2, card: 0},
		"read a second time, at once":     {reads: 1, card: 0, old: true},
		"frozen, in use for nine minutes": {reads: 11, card: 83, old: true},
		"waited for nine minutes":         {wait: 9 * time.Minute, card: 80, old: true},
		"waited for eleven minutes":       {wait: 11 * time.Minute, card: 80},
		"while another waits":             {wait: 9 * time.Minute, pause: 5 * time.Minute, beside: true, card: 80, old: true},
		"after a write":                   {written: true, card: 80},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(90)
				f := fleet.New(s)
				read(t, f, s.cards[:20], 10)
				for i := range s.cards { // from now on each has another balance than the pages show
					s.cards[i].Balance = 7
				}
				for i := range test.reads {
					time.Sleep(50 * time.Second)
					balanceOf(t, f, s.cards[20+i])
				}
				s.hook = func(request string) {
					if request == "card_30" {
						time.Sleep(test.wait)
					}
				}
				var waiting sync.WaitGroup
				if test.wait > 0 {
					waiting.Go(func() { balanceOf(t, f, api.CardListItem{ID: "card_30", Status: "not known"}) })
				}
				if !test.beside {
					waiting.Wait()
				}
				time.Sleep(test.pause)
				s.written = test.written
				before := s.calls()
				if got := balanceOf(t, f, s.cards[test.card]); (got != 7) != test.old || test.old && s.calls() != before {
					t.Errorf("the balance is %s by %d more requests", got, s.calls()-before)
				}
				waiting.Wait()
			})
		})
	}
}

// A page that was on its way before a write must not be used after it.
func TestPageFromBeforeAWriteIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource(50)
		s.hook = func(request string) {
			if strings.Contains(request, "page") {
				s.written = true
			}
		}
		read(t, fleet.New(s), s.cards[:3], 3)
		if len(s.gets) != 3 {
			t.Errorf("%d cards were asked for themselves, want 3", len(s.gets))
		}
	})
}

// A page that several readers wait for is not lost with the one who started it.
func TestPageOutlastsTheReaderWhoStartedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource(50)
		ctx, interrupt := context.WithCancel(t.Context())
		s.hook = func(string) { interrupt() }
		f := fleet.New(s)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := f.Read(ctx, "card_0", api.StatusActive); err == nil {
				t.Error("the interrupted read succeeded")
			}
		})
		time.Sleep(time.Millisecond)
		wg.Go(func() { balanceOf(t, f, s.cards[1]) })
		wg.Wait()
		if got := s.calls(); got != 1 {
			t.Errorf("%d requests, want 1", got)
		}
	})
}

// Pages that were on their way when nobody waited for them any more are asked
// for again, and those that had arrived are kept.
func TestInterruptedPagesAreAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource(2000)
		s.latency = 50 * time.Millisecond
		s.limits = ratelimit.New(s.clock, ratelimit.Limits{RequestsPerMinute: 10})
		ctx, interrupt := context.WithTimeout(t.Context(), 30*time.Second) // while pages wait for the limits
		defer interrupt()
		f := fleet.New(s)
		var wg sync.WaitGroup
		for _, card := range s.cards[1000:1010] {
			wg.Go(func() { _, _ = f.Read(ctx, card.ID, card.Status) })
		}
		wg.Wait()
		stopped := s.calls()
		if time.Sleep(10 * time.Minute); s.calls() != stopped {
			t.Errorf("%d requests are made for nobody", s.calls()-stopped)
		}
		read(t, f, s.cards, 10)
		if s.calls() > 32 {
			t.Errorf("%d requests", s.calls())
		}
	})
}
