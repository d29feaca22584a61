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

// source is a fake of the client. It counts the requests.
type source struct {
	cards          []api.CardListItem // newest first
	noTotal        bool               // responses have no total
	firstPageOnly  bool               // each response contains the first page
	pageTotal      bool               // the total is the number of cards on the page
	fixedTotal     int                // the total in responses; 0 for the number of cards
	maxPerPage     int
	echoesPerPage  bool // responses contain the requested per_page, even above maxPerPage
	shuffles       bool // each response has the cards in a different order
	failsLaterList bool // each list page but the first fails
	latency        time.Duration
	clock          ratelimit.Clock
	limits         *ratelimit.Limiter // nil for no limits

	mu      sync.Mutex
	lists   int      // the number of requests for pages
	gets    []string // the ids of requested cards
	written bool
	hook    func(request string)                   // called before each response with the card's id, or with the status and page
	patch   func(card *api.CardListItem, page int) // changes the cards of a page
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// newSource returns a source of n cards. One of ten is frozen.
func newSource(n int) *source {
	s := &source{maxPerPage: api.MaxPerPage, clock: ratelimit.SystemClock{}, latency: time.Millisecond}
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

// request waits for the limits and for the latency, and calls the hook.
func (s *source) request(ctx context.Context, name string) error {
	if s.limits != nil {
		if err := s.limits.Acquire(ctx, ratelimit.General, time.Now().Add(time.Hour)); err != nil {
			return err
		}
		defer s.limits.Release(ratelimit.General)
	}
	time.Sleep(s.latency)
	if s.hook != nil {
		s.hook(name)
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
	if !errors.Is(err, context.Canceled) { // a cancelled request was not made
		s.lists++
	}
	if err != nil {
		return api.CardPage{}, err
	}
	if s.failsLaterList && number > 1 {
		return api.CardPage{}, errors.New("no page")
	}
	var found []api.CardListItem
	for _, card := range s.cards {
		if filter.Status == "" || card.Status == filter.Status {
			found = append(found, card)
		}
	}
	if s.shuffles {
		rand.New(rand.NewPCG(uint64(s.lists), 0)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	}
	result := api.CardPage{Page: number, PerPage: min(size, s.maxPerPage)}
	total := len(found)
	if s.firstPageOnly {
		number = 1
	}
	low := min((number-1)*result.PerPage, total)
	result.Data = slices.Clone(found[low:min(low+result.PerPage, total)])
	for i := range result.Data {
		if s.patch != nil {
			s.patch(&result.Data[i], number)
		}
	}
	if s.echoesPerPage {
		result.PerPage = size
	}
	if s.pageTotal {
		total = len(result.Data)
	} else if s.fixedTotal > 0 {
		total = s.fixedTotal
	}
	if !s.noTotal {
		result.Total = &total
	}
	return result, nil
}

func unchangedStatus(card api.CardListItem) api.CardStatus { return card.Status }

// read reads cards with several concurrent readers, as Terraform does. lastStatus returns the status of a card at the
// last read.
func read(t *testing.T, f *fleet.Fleet, cards []api.CardListItem, readers int, lastStatus func(api.CardListItem) api.CardStatus) {
	t.Helper()
	visitConcurrently(cards, readers, func(card api.CardListItem) {
		time.Sleep(time.Millisecond) // Terraform needs at least this long for a card
		got, err := f.Read(t.Context(), card.ID, lastStatus(card))
		if err != nil || got.CardListItem != card {
			t.Errorf("got %+v, %v; want %+v", got, err, card)
		}
	})
}

// visitConcurrently divides the cards among several goroutines.
func visitConcurrently(cards []api.CardListItem, readers int, visit func(api.CardListItem)) {
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

// A refresh returns the right cards with few requests, whichever part of an account is configured, and however the
// service pages its list.
func TestRefresh(t *testing.T) {
	t.Parallel()
	wasActive := func(api.CardListItem) api.CardStatus { return api.StatusActive }
	slow := func(perMinute, terminated int) func(*source) {
		return func(s *source) {
			s.latency = 50 * time.Millisecond
			s.limits = ratelimit.New(s.clock, ratelimit.Limits{RequestsPerMinute: perMinute})
			for i := range terminated {
				s.cards[i*100].Status = api.StatusTerminated
			}
		}
	}
	for name, test := range map[string]struct {
		cards       int // in the account
		every       int // every n-th card is configured; 0 for all
		readers     int // 0 for 10
		change      func(*source)
		lastStatus  func(api.CardListItem) api.CardStatus // nil for unchangedStatus
		maxRequests int
		maxDuration time.Duration // 0 for no limit
	}{
		"1 card":                        {cards: 1, maxRequests: 1, maxDuration: 22 * time.Millisecond},
		"2 cards":                       {cards: 2, maxRequests: 2},
		"100 cards":                     {cards: 100, maxRequests: 3},
		"the total is that of the page": {cards: 111, change: func(s *source) { s.pageTotal = true }, maxRequests: 3},
		"1,000 cards":                   {cards: 1000, maxRequests: 12},
		"3,000 cards":                   {cards: 3000, maxRequests: 32},
		"10,000 cards":                  {cards: 10_000, maxRequests: 178},
		"one reader":                    {cards: 1000, readers: 1, maxRequests: 16},
		"thirty readers":                {cards: 3000, readers: 30, maxRequests: 32},
		"every 2nd of 500":              {cards: 500, every: 2, maxRequests: 8},
		"every 50th of 500":             {cards: 500, every: 50, maxRequests: 8},
		"every 7th of 2,000":            {cards: 2000, every: 7, maxRequests: 24},
		"every 100th of 2,000":          {cards: 2000, every: 100, maxRequests: 20},
		"every 400th of 5,000":          {cards: 5000, every: 400, maxRequests: 15},
		"every 30th of 5,000":           {cards: 5000, every: 30, maxRequests: 72},
		"statuses have changed":         {cards: 400, lastStatus: wasActive, maxRequests: 8},
		"unknown status":                {cards: 400, lastStatus: func(api.CardListItem) api.CardStatus { return "sleeping" }, maxRequests: 400},
		"no total":                      {cards: 400, change: func(s *source) { s.noTotal = true }, maxRequests: 402},
		"the same page again":           {cards: 400, change: func(s *source) { s.firstPageOnly = true }, maxRequests: 364},
		"pages of 30":                   {cards: 400, change: func(s *source) { s.maxPerPage = 30 }, maxRequests: 17},
		"pages of 25 with per_page 100": {cards: 400, change: func(s *source) {
			s.maxPerPage = 25
			s.echoesPerPage = true
		}, maxRequests: 20},
		"no fixed order":               {cards: 400, change: func(s *source) { s.shuffles = true }, maxRequests: 440},
		"a total that is too large":    {cards: 400, change: func(s *source) { s.fixedTotal = 600_000 }, maxRequests: 402},
		"failing pages":                {cards: 400, change: func(s *source) { s.failsLaterList = true }, maxRequests: 440},
		"25 a minute":                  {cards: 3000, change: slow(25, 0), maxRequests: 32, maxDuration: 3 * time.Minute},
		"5 a minute":                   {cards: 3000, change: slow(5, 0), maxRequests: 32, maxDuration: 9 * time.Minute},
		"25 a minute, some terminated": {cards: 3000, change: slow(25, 30), lastStatus: wasActive, maxRequests: 66, maxDuration: 5 * time.Minute},
		"statuses are swapped": {cards: 400, maxRequests: 8, lastStatus: func(card api.CardListItem) api.CardStatus {
			if card.Status == api.StatusFrozen {
				return api.StatusActive
			}
			return api.StatusFrozen
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(test.cards)
				if test.change != nil {
					test.change(s)
				}
				var configured []api.CardListItem
				for i := 0; i < len(s.cards); i += cmp.Or(test.every, 1) {
					configured = append(configured, s.cards[i])
				}
				// Terraform does not read the cards in the order of the list.
				rand.New(rand.NewPCG(1, 2)).Shuffle(len(configured), func(i, j int) { configured[i], configured[j] = configured[j], configured[i] })
				lastStatus := test.lastStatus
				if lastStatus == nil {
					lastStatus = unchangedStatus
				}
				start := time.Now()
				read(t, fleet.New(s), configured, cmp.Or(test.readers, 10), lastStatus)
				if got := s.calls(); got > test.maxRequests {
					t.Errorf("%d requests, want at most %d", got, test.maxRequests)
				}
				duration := time.Since(start) //nolint:forbidigo // in a synctest bubble
				if test.maxDuration > 0 && duration > test.maxDuration {
					t.Errorf("it took %s, want at most %s", duration, test.maxDuration)
				}
			})
		})
	}
}

// A card that the pages do not show reliably is requested by its id.
func TestReadAsksForTheCardInDoubt(t *testing.T) {
	t.Parallel()
	const subject = "card_0"
	for name, change := range map[string]func(*source){
		"listed twice with different values": func(s *source) {
			s.patch = func(c *api.CardListItem, page int) {
				if page == 2 && c.ID == "card_150" {
					c.ID = subject
					c.Balance = 1
				}
			}
		},
		"the same page again": func(s *source) { s.firstPageOnly = true },
		"listed as terminated": func(s *source) {
			s.patch = func(c *api.CardListItem, _ int) {
				if c.ID == subject {
					c.Status = api.StatusTerminated
				}
			}
		},
		"terminated": func(s *source) { s.cards[0].Status = api.StatusTerminated },
		"not found":  func(s *source) { s.cards[0].ID = "card_other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(200)
				change(s)
				f := fleet.New(s)
				others := slices.DeleteFunc(slices.Clone(s.cards[1:]), func(c api.CardListItem) bool { return c.ID == "card_150" })
				read(t, f, others, 10, unchangedStatus)
				s.gets = nil
				got, err := f.Read(t.Context(), subject, api.StatusActive)
				if !slices.Equal(s.gets, []string{subject}) {
					t.Errorf("requested %q, want %q", s.gets, subject)
				}
				if name == "not found" {
					if !transport.IsNotFound(err) {
						t.Errorf("got %+v, %v; want not found", got, err)
					}
				} else if err != nil || got.CardListItem != s.cards[0] {
					t.Errorf("got %+v, %v; want %+v", got, err, s.cards[0])
				}
			})
		})
	}
}

// If no configured card exists, for example because the account is a different one, only the first missing card is
// requested. If one exists, each missing card is requested.
func TestReadOfCardsThatNoListHas(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		existing int // cards that exist, besides 30 that do not
		wantGets int
	}{
		"none": {wantGets: 1},
		"one":  {existing: 1, wantGets: 30},
	} {
		for _, readers := range []int{10, 1} {
			synctest.Test(t, func(t *testing.T) {
				s := newSource(40)
				missingCards := newSource(30).cards
				for i := range missingCards {
					missingCards[i].ID = fmt.Sprintf("card_other_%d", i)
				}
				configured := append(slices.Clone(s.cards[:test.existing]), missingCards...)
				f := fleet.New(s)
				var missing atomic.Int32
				visitConcurrently(configured, readers, func(card api.CardListItem) {
					if _, err := f.Read(t.Context(), card.ID, api.StatusActive); transport.IsNotFound(err) {
						missing.Add(1)
					}
				})
				maxGets := test.wantGets
				if readers == 1 {
					maxGets += 2 // the first cards of a single reader are requested before the lists are complete
				}
				if missing.Load() != 30 {
					t.Errorf("%s, %d readers: %d cards are missing, want 30", name, readers, missing.Load())
				}
				if got := len(s.gets); got < test.wantGets || got > maxGets {
					t.Errorf("%s, %d readers: %d cards requested, want %d to %d", name, readers, got, test.wantGets, maxGets)
				}
				if f.HasFound() != (test.existing > 0) {
					t.Errorf("%s, %d readers: HasFound is %t", name, readers, f.HasFound())
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
		before := s.cards
		after := slices.Clone(s.cards)
		after[0].Status = api.StatusTerminated
		s.hook = func(request string) {
			if request == "active page 5" {
				s.mu.Lock()
				s.cards = after
				s.mu.Unlock()
			}
		}
		read(t, fleet.New(s), before[1:], 1, unchangedStatus)
		if got := s.calls(); got > 70 {
			t.Errorf("%d requests, want at most 70", got)
		}
	})
}

// panickingClock panics when the first reader waits for others.
type panickingClock struct{ ratelimit.Clock }

func (panickingClock) Wait(context.Context, time.Duration) error { panic("planted") }

// If fetching pages panics, Read requests the card itself.
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
	read(t, fleet.New(s), s.cards, 10, unchangedStatus)
}

func balanceOf(t *testing.T, f *fleet.Fleet, card api.CardListItem) usd.Amount {
	t.Helper()
	return sandboxtest.Must(f.Read(t.Context(), card.ID, card.Status)).Balance
}

// A CLI reads the last of 10,000 cards minutes after the first. Pages are kept for up to ten minutes while they are used
// or a reader waits, and are not used after the first write.
func TestPagesLiveForMinutes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reads       int           // of other cards, one every 50 seconds
		wait        time.Duration // how long a reader then waits for a response
		pause       time.Duration // how long the test then sleeps
		duringWait  bool          // the pause starts together with the wait
		written     bool
		card        int  // the index of the card that is read last
		wantOldPage bool // whether that read uses the old page
	}{
		"in use for nine minutes":         {reads: 11, card: 80, wantOldPage: true},
		"in use for ten minutes":          {reads: 12, card: 80},
		"unused for a minute":             {reads: 2, pause: time.Minute, card: 80},
		"read again after 100 seconds":    {reads: 2, card: 0},
		"read again after 50 seconds":     {reads: 1, card: 0, wantOldPage: true},
		"frozen, in use for nine minutes": {reads: 11, card: 83, wantOldPage: true},
		"waited for nine minutes":         {wait: 9 * time.Minute, card: 80, wantOldPage: true},
		"waited for eleven minutes":       {wait: 11 * time.Minute, card: 80},
		"while another reader waits":      {wait: 9 * time.Minute, pause: 5 * time.Minute, duringWait: true, card: 80, wantOldPage: true},
		"after a write":                   {written: true, card: 80},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(90)
				f := fleet.New(s)
				read(t, f, s.cards[:20], 10, unchangedStatus)
				const newBalance usd.Amount = 7 // not the balance on the pages that have arrived
				for i := range s.cards {
					s.cards[i].Balance = newBalance
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
				if !test.duringWait {
					waiting.Wait()
				}
				time.Sleep(test.pause)
				s.written = test.written
				before := s.calls()
				got := balanceOf(t, f, s.cards[test.card])
				requests := s.calls() - before
				usedOldPage := got != newBalance
				if usedOldPage != test.wantOldPage {
					t.Errorf("the balance is %s; used the old page: %t", got, usedOldPage)
				}
				if test.wantOldPage && requests > 0 {
					t.Errorf("%d more requests", requests)
				}
				waiting.Wait()
			})
		})
	}
}

// A page that was requested before a write must not be used after the write.
func TestPageFromBeforeAWriteIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource(50)
		s.hook = func(request string) {
			if strings.Contains(request, "page") {
				s.written = true
			}
		}
		read(t, fleet.New(s), s.cards[:3], 3, unchangedStatus)
		if len(s.gets) != 3 {
			t.Errorf("%d cards were requested by id, want 3", len(s.gets))
		}
	})
}

// If the reader that started a fetch leaves, the others still get the page.
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

// If all readers leave, the requests for pages stop. A later reader requests the missing pages, and pages that have
// arrived are kept.
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
		time.Sleep(10 * time.Minute)
		if s.calls() != stopped {
			t.Errorf("%d requests after all readers have left", s.calls()-stopped)
		}
		read(t, f, s.cards, 10, unchangedStatus)
		if s.calls() > 32 {
			t.Errorf("%d requests, want at most 32", s.calls())
		}
	})
}
