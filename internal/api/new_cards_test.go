package api_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// newSlowService is a service that hides new cards for a while, and a client of it
// that has issued one.
func newSlowService(t *testing.T, hides time.Duration) (*fakeService, *api.Client) {
	t.Helper()
	service := newFakeService()
	service.hides = hides
	client := service.client(t, onlyOneTry)
	if err := try(t.Context(), client, "issue"); err != nil {
		t.Fatal(err)
	}
	return service, client
}

// listed are the ids of the cards that a client lists.
func listed(t *testing.T, client *api.Client, filter api.CardFilter) (ids []string) {
	t.Helper()
	for card, err := range client.Cards(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, card.ID)
	}
	return ids
}

// A service may show a new card only after some seconds, or not to each request. The
// process that has issued it knows that it is there.
func TestNewCardIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"read", "details", "fund", "freeze", "terminate"} {
		for hides, waits := range map[time.Duration]time.Duration{20 * time.Second: 22 * time.Second, 0: 4 * time.Second} {
			service, client := newSlowService(t, hides)
			if service.posts = nil; hides == 0 {
				service.faults = []fault{undone("404"), undone("404")}
			}
			err, posts := try(t.Context(), client, call), len(service.posts)
			if err != nil || service.clock.total() > waits || hides == 0 && posts != 0 && posts != 3 {
				t.Errorf("%s: %v after %s and %d requests", call, err, service.clock.total(), posts)
			}
		}
	}
}

// The wait ends, and no other card is waited for.
func TestOtherMissingCardsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	service, client := newSlowService(t, 10*time.Minute)
	waited := service.clock.total() // by the create, for what it shows
	if _, err := client.GetCard(t.Context(), "card_x"); !transport.IsNotFound(err) || service.clock.total() > waited {
		t.Errorf("%v after %s", err, service.clock.total())
	}
	err, waited := try(t.Context(), client, "read"), service.clock.total()
	if !transport.IsNotFound(err) || waited < 30*time.Second || waited > 70*time.Second {
		t.Errorf("%v after %s", err, waited)
	}
}

// A list that lacks a card of this run would make a configuration that counts
// on it destroy what belongs to it.
func TestNewCardIsListed(t *testing.T) {
	t.Parallel()
	service, client := newSlowService(t, 20*time.Second)
	issued := service.clock.Now()
	for filter, want := range map[api.CardFilter][]string{
		{}:                         {"card_1"},
		{Status: api.StatusActive}: {"card_1"},
		{Status: api.StatusFrozen}: nil,
		{BinID: "bin_1"}:           {"card_1"},
		{BinID: "bin_2"}:           nil,
	} {
		service.clock.now = issued // when the service does not list it yet
		if ids := listed(t, client, filter); !slices.Equal(ids, want) {
			t.Errorf("%+v lists %q, want %q", filter, ids, want)
		}
	}
	if err := try(t.Context(), client, "terminate"); err != nil {
		t.Fatal(err)
	}
	before := service.clock.total()
	if ids := listed(t, client, api.CardFilter{Status: api.StatusActive}); len(ids) > 0 || service.clock.total() > before {
		t.Errorf("%q are listed after %s, though the card is terminated", ids, service.clock.total()-before)
	}
}

// A new card that cannot be read ends no list, and is there as it was issued.
func TestNewCardThatCannotBeReadIsListed(t *testing.T) {
	t.Parallel()
	service, client := newSlowService(t, time.Second)
	other := service.add(api.CardListItem{BinID: "bin_1"}).CardListItem
	strange := service.add(api.CardListItem{BinID: "BIN_1", Status: "strange"}).CardListItem
	service.hooks["/cards"] = func(w http.ResponseWriter, r *http.Request) { // whatever is asked for
		writePage(w, r, []any{other, strange}, 0, 0, true)
	}
	frozen := *service.cards[0]
	frozen.Status = api.StatusFrozen
	active := api.CardFilter{BinID: "bin_1", Status: api.StatusActive}
	for name, test := range map[string]struct {
		shown  http.HandlerFunc // the card itself
		filter api.CardFilter
		want   []string
		read   bool
	}{
		"on another BIN":       {respond(500, ""), api.CardFilter{BinID: "bin_2"}, nil, false},
		"unreadable":           {respond(500, ""), active, []string{"card_1", "card_2", "card_3"}, true},
		"frozen meanwhile":     {func(w http.ResponseWriter, _ *http.Request) { write(w, 200, frozen) }, active, []string{"card_2", "card_3"}, true},
		"not there":            {notFound, api.CardFilter{}, []string{"card_2", "card_3"}, true},
		"among the terminated": {respond(500, ""), api.CardFilter{Status: api.StatusTerminated}, []string{"card_3"}, false},
	} {
		service.hooks["/cards/card_1"], service.reads = test.shown, nil
		ids := listed(t, client, test.filter)
		if read := slices.Contains(service.reads, "/cards/card_1"); !slices.Equal(ids, test.want) || read != test.read {
			t.Errorf("%s: %q after %q", name, ids, service.reads)
		}
		service.clock.now = service.cards[0].shown // the wait for it has not used up its time
	}
	service.hooks["/cards"] = func(w http.ResponseWriter, r *http.Request) {
		writePage(w, r, []any{other, service.cards[0].CardListItem}, 0, 0, true)
	}
	service.hooks["/cards/card_1"] = nil
	if ids := listed(t, client, active); !slices.Equal(ids, []string{"card_1", "card_2"}) {
		t.Errorf("listed behind another: %q", ids)
	}
}

func TestListOfNewCardsEndsEarly(t *testing.T) {
	t.Parallel()
	service, client := newSlowService(t, 0)
	if err := try(t.Context(), client, "issue"); err != nil {
		t.Fatal(err)
	}
	service.reads = nil
	service.hooks["/cards"] = func(w http.ResponseWriter, r *http.Request) {
		writePage(w, r, []any{service.cards[1].CardListItem}, 0, 0, true)
	}
	for card, err := range client.Cards(t.Context(), api.CardFilter{}) {
		if err != nil || card.ID != "card_2" {
			t.Errorf("%+v, %v", card, err)
		}
		break
	}
	if slices.Contains(service.reads, "/cards/card_1") {
		t.Error("a card is read after the end")
	}
}

// What a service shows of a card may be from before the last change for some
// seconds.
func TestStaleStatusIsReadAgain(t *testing.T) {
	t.Parallel()
	service, card, _ := newAccount(t)
	client := service.client(t)
	reads := func(want api.CardStatus, atMost time.Duration) {
		t.Helper()
		before := service.clock.total()
		shown, err := client.GetCard(t.Context(), card.ID)
		if waited := service.clock.total() - before; err != nil || shown.Status != want || waited > atMost {
			t.Errorf("%s after %s, %v; want %s", shown.Status, waited, err, want)
		}
	}
	changes := func(call string) {
		t.Helper()
		service.lag(card, 6*time.Second)
		if err := try(t.Context(), client, call); err != nil {
			t.Fatal(err)
		}
	}
	changes("freeze")
	reads(api.StatusFrozen, 6*time.Second)
	card.Status = api.StatusActive // for good, which is another's doing
	reads(api.StatusActive, 15*time.Second)
	reads(api.StatusActive, 0)
	changes("terminate")
	reads(api.StatusTerminated, 6*time.Second)
}
