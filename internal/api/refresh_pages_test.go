package api_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestPagesEndWithTheirLifeAndWithTheFirstWrite(t *testing.T) {
	t.Parallel()
	service := newFleetService(90)
	clock := newFakeClock()
	client := newClient(t, service, on(slowStart{clock}))
	refresh(t, client, service.cards, 10)
	before := service.calls()
	balance := func() usd.Amount {
		card, err := client.RefreshCard(t.Context(), "card_0", api.StatusActive, nil)
		if err != nil {
			t.Fatal(err)
		}
		return card.Balance
	}
	old := balance()
	service.cards[0].Balance = 7
	if got := balance(); got != old || service.calls() != before {
		t.Errorf("within a page's life: %s after %d more requests", got, service.calls()-before)
	}
	if err := clock.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := balance(); got != 7 {
		t.Errorf("after a page's life: %s", got)
	}
	refresh(t, client, service.cards, 10)
	if client.HasWritten() {
		t.Error("reading counts as writing")
	}
	if _, err := client.FreezeCard(t.Context(), "card_1"); err != nil || !client.HasWritten() {
		t.Fatalf("has written: %t, %v", client.HasWritten(), err)
	}
	service.cards[0].Balance = 8
	before = service.calls()
	if got := balance(); got != 8 || service.calls() != before+1 {
		t.Errorf("after a write: %s by %d requests", got, service.calls()-before)
	}
}

// The CLI comes to the last of 10,000 cards minutes after the first.
func TestPagesInUseLiveForMinutes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reads int // of other cards, one every 50 seconds
		pause time.Duration
		card  int
		old   bool
	}{
		"in use for nine minutes":         {reads: 11, card: 80, old: true},
		"in use for ten minutes":          {reads: 12, card: 80},
		"not used for a minute":           {reads: 2, pause: time.Minute, card: 80},
		"read a second time":              {reads: 2, card: 0},
		"read a second time, at once":     {reads: 1, card: 0, old: true},
		"frozen, in use for nine minutes": {reads: 11, card: 83, old: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFleetService(90)
			clock := newFakeClock()
			client := newClient(t, service, on(slowStart{clock}))
			refresh(t, client, service.cards[:20], 10)
			for i := range service.cards {
				service.cards[i].Balance = 7
			}
			pass := func(d time.Duration) {
				if err := clock.Wait(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			read := func(number int) usd.Amount {
				card, err := client.RefreshCard(t.Context(), service.cards[number].ID, service.cards[number].Status, nil)
				if err != nil {
					t.Fatal(err)
				}
				return card.Balance
			}
			for i := range test.reads {
				pass(50 * time.Second)
				read(20 + i)
			}
			pass(test.pause)
			if got := read(test.card); (got != 7) != test.old {
				t.Errorf("the balance is %s", got)
			}
		})
	}
}

// Readers who wait keep pages from growing old, but not for ever.
func TestPagesWaitedForLiveForMinutes(t *testing.T) {
	t.Parallel()
	for wait, old := range map[time.Duration]bool{9 * time.Minute: true, 11 * time.Minute: false} {
		service := newFleetService(90)
		clock := newFakeClock()
		client := newClient(t, service, on(slowStart{clock}))
		refresh(t, client, service.cards[:20], 10)
		for i := range service.cards {
			service.cards[i].Balance = 7
		}
		service.hook = func(r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/card_30") {
				_ = clock.Wait(r.Context(), wait)
			}
		}
		if _, err := client.RefreshCard(t.Context(), "card_30", "not known", nil); err != nil {
			t.Fatal(err)
		}
		card, err := client.RefreshCard(t.Context(), "card_80", api.StatusActive, nil)
		if err != nil || (card.Balance != 7) != old {
			t.Errorf("after %s the balance is %s, %v", wait, card.Balance, err)
		}
	}
}

// slowStart is a fake clock on which the batch window is real, and long
// enough for a busy machine.
type slowStart struct{ *fakeClock }

func (c slowStart) Wait(ctx context.Context, d time.Duration) error {
	if d < 100*time.Millisecond {
		time.Sleep(5 * d)
		return ctx.Err()
	}
	return c.fakeClock.Wait(ctx, d)
}

// A page that was on its way before a write must not be used after it.
func TestPageFromBeforeAWriteIsNotUsed(t *testing.T) {
	t.Parallel()
	service := newFleetService(50)
	listing, written := make(chan struct{}), make(chan struct{})
	var first sync.Once
	service.hook = func(r *http.Request) {
		if r.URL.Path == "/api/v1/cards" {
			first.Do(func() { close(listing) })
			<-written
		}
	}
	client := newClient(t, service, unlimited)
	var wg sync.WaitGroup
	for _, card := range service.cards[:3] {
		wg.Go(func() {
			if got, err := client.RefreshCard(t.Context(), card.ID, api.StatusActive, nil); err != nil || got.ID != card.ID {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	<-listing
	if _, err := client.FreezeCard(t.Context(), "card_9"); err != nil {
		t.Error(err)
	}
	close(written)
	wg.Wait()
	if len(service.gets) != 3 {
		t.Errorf("%d cards were asked for themselves, want 3", len(service.gets))
	}
}

// A page that several readers wait for is not lost with the one who started it.
func TestPageOutlastsTheReaderWhoStartedIt(t *testing.T) {
	t.Parallel()
	service := newFleetService(50)
	listing, interrupted := make(chan struct{}), make(chan struct{})
	service.hook = func(r *http.Request) {
		if r.URL.Path == "/api/v1/cards" {
			close(listing)
			<-interrupted
		}
	}
	client := newClient(t, service, unlimited)
	ctx, interrupt := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := client.RefreshCard(ctx, "card_0", api.StatusActive, nil); err == nil {
			t.Error("the interrupted read succeeded")
		}
	})
	time.Sleep(5 * time.Millisecond)
	wg.Go(func() {
		if got, err := client.RefreshCard(t.Context(), "card_1", api.StatusActive, nil); err != nil || got.ID != "card_1" {
			t.Errorf("%+v, %v", got, err)
		}
	})
	<-listing
	interrupt()
	close(interrupted)
	wg.Wait()
	if got := service.calls(); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}
