package fleet_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/fleet"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func balanceOf(t *testing.T, f *fleet.Fleet, card api.CardListItem) usd.Amount {
	t.Helper()
	got, err := f.Read(t.Context(), card.ID, card.Status)
	if err != nil {
		t.Fatal(err)
	}
	return got.Balance
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

// The cards with a label are read once for all who ask, by the pages that a refresh
// has left out.
func TestLabelled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*source)
		fails  bool // at first
		read   bool // before
		lists  int  // besides
		most   int  // where it is chance which page comes first
	}{
		"nothing is read yet": {lists: 4},
		"after a refresh":     {read: true},
		"after a failure":     {fails: true, lists: 4},
		"no total":            {change: func(s *source) { s.noTotal = true }, lists: 6},
		"a total of the page": {change: func(s *source) { s.ofPage = true }, lists: 6},
		"a total of more":     {change: func(s *source) { s.counts = 10_000 }, lists: 2 + 2*16, most: 2 + 4*16},
		"a total past paging": {change: func(s *source) { s.counts = 200_000 }, lists: 6},
		"no pages":            {change: func(s *source) { s.onePage = true }, lists: 6},
		"a refresh without":   {change: func(s *source) { s.onePage = true }, read: true, lists: 1, most: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(320)
				of := transport.Label{}.Of
				s.cards[3].Label, s.cards[5].Label, s.cards[200].Label, s.cards[201].Label = of(" ads"), of("ads"), of("ads"), of("other")
				if test.change != nil {
					test.change(s)
				}
				f := fleet.New(s)
				if test.fails { // and is asked for again by the next one
					s.fails = true
					if cards, err := f.Labelled(t.Context(), "ads"); err == nil {
						t.Errorf("pages that fail show %v", cards)
					}
					s.fails = false
				}
				if test.read {
					read(t, f, s.cards, 10)
				}
				before := s.calls()
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() {
						cards, err := f.Labelled(t.Context(), "ads ")
						want := []api.CardListItem{s.cards[5], s.cards[200], s.cards[3]}
						if s.onePage {
							want = slices.Delete(want, 1, 2) // as far as such a service shows cards
						}
						if err != nil || !slices.Equal(cards, want) {
							t.Errorf("%+v, %v", cards, err)
						}
					})
				}
				wg.Wait()
				if got := s.calls() - before; got < test.lists || got > max(test.lists, test.most) {
					t.Errorf("%d more requests, want %d", got, test.lists)
				}
			})
		})
	}
}
