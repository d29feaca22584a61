package api_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// newSlowService is a sandbox that shows new cards only after 20 seconds, and a
// client of it that has issued one. Both go by one clock.
func newSlowService(t *testing.T) (*sandboxtest.Server, *api.Client, *fakeClock, string) {
	t.Helper()
	clock := newFakeClock()
	s := sandboxtest.Start(t, func(o *sandboxtest.Options) { o.Path, o.Clock = ":memory:", clock.Now })
	s.AddQuirks(map[string]any{"cards_hidden_seconds": 20})
	client, err := api.New(api.Config{BaseURL: s.URL, APIKey: api.Secret(s.Key), MaxRetries: 0, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	issuance, err := client.IssueCard(t.Context(), api.IssueCardRequest{BinID: sandboxtest.BIN, Amount: 60 * usd.Dollar, Label: "ads"})
	if err != nil {
		t.Fatal(err)
	}
	return s, client, clock, issuance.Card.ID
}

// A service may show a new card only after some seconds. The process that has
// issued it knows that it is there.
func TestNewCardIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *api.Client, string) error{
		"read": func(ctx context.Context, c *api.Client, id string) error { _, err := c.GetCard(ctx, id); return err },
		"details": func(ctx context.Context, c *api.Client, id string) error {
			_, err := c.CardDetails(ctx, id)
			return err
		},
		"fund": func(ctx context.Context, c *api.Client, id string) error {
			_, err := c.Move(ctx, move(id, usd.Dollar, nil))
			return err
		},
		"freeze": func(ctx context.Context, c *api.Client, id string) error {
			_, err := c.FreezeCard(ctx, id)
			return err
		},
		"terminate": func(ctx context.Context, c *api.Client, id string) error {
			_, err := c.TerminateCard(ctx, id)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client, clock, id := newSlowService(t)
			if err := call(t.Context(), client, id); err != nil || clock.total() > 22e9 {
				t.Errorf("%v after %s", err, clock.total())
			}
		})
	}
}

// The wait ends, and no other card is waited for.
func TestOtherMissingCardsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	s, client, clock, id := newSlowService(t)
	s.AddQuirks(map[string]any{"cards_hidden_seconds": 600})
	if _, err := client.GetCard(t.Context(), "card_x"); !api.IsNotFound(err) || clock.total() > 0 {
		t.Errorf("%v after %s", err, clock.total())
	}
	if _, err := client.GetCard(t.Context(), id); !api.IsNotFound(err) || clock.total() < 30e9 || clock.total() > 70e9 {
		t.Errorf("%v after %s", err, clock.total())
	}
}

// A list that lacks a card of this run would make a configuration that counts
// on it destroy what belongs to it.
func TestNewCardIsListed(t *testing.T) {
	t.Parallel()
	s, client, clock, id := newSlowService(t)
	old := s.Issue("50")
	for filter, want := range map[api.CardFilter]int{
		{}:                         1,
		{Status: api.StatusActive}: 1,
		{Status: api.StatusFrozen}: 0,
		{BinID: sandboxtest.BIN}:   1,
		{BinID: "bin_ads_visa_eu"}: 0,
	} {
		var ids []string
		for card, err := range client.Cards(t.Context(), filter) {
			if err != nil {
				t.Fatal(err)
			}
			if card.ID != old {
				ids = append(ids, card.ID)
			}
		}
		if len(ids) != want || want == 1 && ids[0] != id {
			t.Errorf("%+v lists %q, want %d", filter, ids, want)
		}
	}
	if _, err := client.TerminateCard(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	before := clock.total()
	for card, err := range client.Cards(t.Context(), api.CardFilter{Status: api.StatusActive}) {
		if err != nil || card.ID == id {
			t.Errorf("a terminated card is listed: %+v, %v", card, err)
		}
	}
	if waited := clock.total() - before; waited > 0 {
		t.Errorf("waited %s for a terminated card", waited)
	}
}

// A new card that cannot be read ends no list, and is there as it was issued.
func TestNewCardThatCannotBeReadIsListed(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	client := service.client(t)
	if _, err := client.IssueCard(t.Context(), request("ads")); err != nil {
		t.Fatal(err)
	}
	listed := service.add(api.CardListItem{BinID: "bin_1"}).CardListItem
	reads := 0
	service.hooks["/cards/card_1"] = func(w http.ResponseWriter, _ *http.Request) {
		reads++
		w.WriteHeader(http.StatusInternalServerError)
	}
	service.hooks["/cards"] = func(w http.ResponseWriter, r *http.Request) { writePage(w, r, []any{listed}, true) }
	list := func(filter api.CardFilter) (ids []string) {
		for card, err := range client.Cards(t.Context(), filter) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, card.ID)
		}
		return ids
	}
	if ids := list(api.CardFilter{BinID: "bin_2"}); reads > 0 {
		t.Errorf("%q after %d reads of a card on another BIN", ids, reads)
	}
	if ids := list(api.CardFilter{BinID: "bin_1", Status: api.StatusActive}); !slices.Equal(ids, []string{"card_1", "card_2"}) || reads == 0 {
		t.Errorf("%q after %d reads", ids, reads)
	}
	frozen := service.cards[0].CardListItem
	frozen.Status = api.StatusFrozen
	reads = 0
	service.hooks["/cards/card_1"] = func(w http.ResponseWriter, _ *http.Request) {
		reads++
		write(w, 200, fakeCard{CardListItem: frozen, CreatedAt: "2026-03-01T12:00:00Z"})
	}
	if ids := list(api.CardFilter{Status: api.StatusActive}); !slices.Equal(ids, []string{"card_2"}) || reads != 1 {
		t.Errorf("%q after %d reads of a card that was frozen meanwhile", ids, reads)
	}
	service.hooks["/cards/card_1"] = respond(404, `{"error":"not_found","message":"no such card"}`)
	if ids := list(api.CardFilter{}); !slices.Equal(ids, []string{"card_2"}) {
		t.Errorf("%q, though card_1 is not there", ids)
	}
}

func TestListOfNewCardsEndsEarly(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	client := service.client(t)
	for range 2 {
		if _, err := client.IssueCard(t.Context(), request("ads")); err != nil {
			t.Fatal(err)
		}
	}
	service.hooks["/cards"] = func(w http.ResponseWriter, r *http.Request) {
		writePage(w, r, []any{service.cards[1].CardListItem}, true)
	}
	for card, err := range client.Cards(t.Context(), api.CardFilter{}) {
		if err != nil || card.ID != "card_2" {
			t.Errorf("%+v, %v", card, err)
		}
		break
	}
}

// What a service shows of a card may be from before the last change for some
// seconds.
func TestStaleStatusIsReadAgain(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	stale := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && stale > 0 {
			stale--
			before := *card
			before.Status = api.StatusActive
			write(w, 200, before)
			return
		}
		service.ServeHTTP(w, r)
	})
	client := newClient(t, handler, on(service.clock))
	read := func() api.CardStatus {
		shown, err := client.GetCard(t.Context(), card.ID)
		if err != nil {
			t.Fatal(err)
		}
		return shown.Status
	}
	if _, err := client.FreezeCard(t.Context(), card.ID); err != nil {
		t.Fatal(err)
	}
	for stale = 3; read() != api.StatusFrozen; {
		t.Fatal("a status from before the freeze is believed")
	}
	// A status that stays is another's doing.
	card.Status = api.StatusActive
	before := service.clock.total()
	if status := read(); status != api.StatusActive || service.clock.total()-before > 15e9 {
		t.Errorf("%s after %s", status, service.clock.total()-before)
	}
	if read(); service.clock.total()-before > 15e9 {
		t.Error("waited for the same departure again")
	}
	if _, err := client.TerminateCard(t.Context(), card.ID); err != nil {
		t.Fatal(err)
	}
	if stale = 3; read() != api.StatusTerminated {
		t.Error("a status from before the termination is believed")
	}
}
