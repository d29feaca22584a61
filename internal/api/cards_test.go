package api_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// movingCards is a list of cards that come and go, and counts the requests.
type movingCards struct {
	sandboxtest.List[api.CardListItem]

	cards []api.CardListItem // newest first
	lists int
	hook  func(page string) // before each response
}

// newMovingCards has n active cards.
func newMovingCards(n int) *movingCards {
	l := &movingCards{hook: func(string) {}}
	l.PerPage = api.MaxPerPage
	l.Entries = func(*http.Request) []api.CardListItem { return l.cards }
	for i := range n {
		l.cards = append(l.cards, activeCard(i))
	}
	return l
}

func activeCard(i int) api.CardListItem {
	return api.CardListItem{ID: fmt.Sprintf("card_%d", i), BinID: "bin_1", Status: api.StatusActive}
}

func (l *movingCards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.lists++
	l.hook(r.URL.Query().Get("page"))
	l.List.ServeHTTP(w, r)
}

// walk returns the ids of the cards that a client reads.
func walk(t *testing.T, service http.Handler) (ids []string) {
	t.Helper()
	for card, err := range newClient(t, service, unlimited).ListedCards(t.Context(), api.CardFilter{}) {
		if err != nil {
			t.Error(err)
			break
		}
		ids = append(ids, card.ID)
	}
	return ids
}

// A card that leaves the filter between two pages moves all that follow, and one
// of them to a page that was read already: a card that vanishes from a list so
// may be one that a configuration counts, or is taken for gone. A service may leave cards
// out after it has cut the pages: one that stays short ends no list. Nor does a total
// that the pages contradict, or that may be a page's own.
func TestCardsThatMoveBetweenPagesAreListed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cards         int // 450 where it is zero
		leave, arrive int // before page 4, and before page 5
		short         []string
		total         string
		refused       string
		onePage       bool
		listed        int // of those that stay
		requests      int
	}{
		"one leaves":                   {leave: 1, listed: 449, requests: 9},
		"a page leaves":                {leave: 100, listed: 350, requests: 8},
		"more than a page leaves":      {leave: 130, listed: 320, requests: 8},
		"one arrives":                  {arrive: 1, listed: 450, requests: 5},
		"one leaves and one arrives":   {leave: 1, arrive: 1, listed: 449, requests: 9},
		"a page arrives and one goes":  {leave: 1, arrive: 100, listed: 449, requests: 10},
		"nothing changes":              {listed: 450, requests: 5},
		"a short page":                 {short: []string{"2"}, listed: 447, requests: 6},
		"short pages":                  {short: []string{"1", "3"}, listed: 444, requests: 6},
		"no total":                     {total: "null", listed: 450, requests: 6},
		"no total, one page":           {total: "null", onePage: true, listed: 100, requests: 2},
		"a total with a point":         {total: "450.0", listed: 450, requests: 5},
		"counts as strings":            {total: `"450","per_page":"100","page":"1"`, listed: 450, requests: 5},
		"a total of nothing":           {total: "0", listed: 450, requests: 6},
		"a total below zero":           {total: "-1", listed: 450, requests: 6},
		"a total of the page":          {total: "PAGE", listed: 450, requests: 6},
		"a total and a size of a page": {total: `PAGE,"per_page":4e15`, listed: 450, requests: 6},
		"a total beyond all paging":    {total: "9223372036854775807", listed: 450, requests: 6},
		"a total of less, at the end":  {total: "420", listed: 450, requests: 6},
		"full pages":                   {cards: 400, listed: 400, requests: 5},
		"full pages, no page after":    {cards: 400, refused: "5", listed: 400, requests: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newMovingCards(cmp.Or(test.cards, 450))
			service.Short, service.OnePage, service.Total, service.Refused = test.short, test.onePage, test.total, test.refused
			stay := slices.Clone(service.cards[test.leave:])
			service.hook = func(page string) {
				switch {
				case page == "4" && test.leave > 0:
					service.cards, test.leave = slices.Clone(stay), 0
				case page == "5":
					for ; test.arrive > 0; test.arrive-- {
						service.cards = slices.Insert(service.cards, 0, activeCard(1000+test.arrive))
					}
				}
			}
			ids := walk(t, service)
			var want []string
			for _, card := range stay {
				if slices.Contains(ids, card.ID) {
					want = append(want, card.ID)
				}
			}
			ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(want, id) })
			if !slices.Equal(ids, want) || len(ids) != test.listed {
				t.Errorf("%d of the %d cards that stay are listed, want %d, each once and in order", len(ids), len(stay), test.listed)
			}
			if service.lists > test.requests {
				t.Errorf("%d requests, want at most %d", service.lists, test.requests)
			}
		})
	}
}

// Whatever comes and goes between requests, before it comes to rest, a card that stays is listed.
func TestCardsThatStayAreListed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		service := newMovingCards(r.IntN(60))
		service.PerPage = 1 + r.IntN(10)
		all, next := slices.Clone(service.cards), 1000
		service.hook = func(string) {
			if service.lists > 20 || r.IntN(3) > 0 {
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
		got := walk(t, service)
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

// Pages of a list without a fixed order repeat cards and lack others. It is read again until
// as many different cards were shown as the service counts.
func TestCardsInNoOrderAreListed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		service := newMovingCards(250)
		all := slices.Clone(service.cards)
		service.hook = func(string) {
			r.Shuffle(len(service.cards), func(i, j int) {
				service.cards[i], service.cards[j] = service.cards[j], service.cards[i]
			})
		}
		ids := walk(t, service)
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) != len(all) {
			t.Errorf("seed %d: %d of the %d cards are listed, after %d requests", seed, len(ids), len(all), service.lists)
		}
	}
}

// As many cards are read as the service counts, be they more than 1,000 pages have.
func TestManyCardsAreListed(t *testing.T) {
	t.Parallel()
	many, requests := 120_000, 1_201
	if testing.Short() {
		many, requests = 12_000, 121
	}
	service := newMovingCards(many)
	if ids := walk(t, service); len(ids) != many || service.lists != requests {
		t.Errorf("%d cards are listed, after %d requests", len(ids), service.lists)
	}
}

// A list of more cards than are documented is refused as that.
func TestTooManyCards(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it reads half a million cards")
	}
	service := newMovingCards(api.MaxListedCards + 1)
	service.PerPage = 50_000
	err := try(t.Context(), newClient(t, service, unlimited), "cards")
	if err == nil || !strings.Contains(err.Error(), "more than 500000 cards") {
		t.Errorf("after %d requests the list ended with %v", service.lists, err)
	}
}

// A list that repeats cards and never shows as many as the service counts is an error, not
// a short list. One that is given up early is not checked.
func TestListOfFewerCardsThanAreCounted(t *testing.T) {
	t.Parallel()
	service := newMovingCards(450)
	service.OnePage = true
	client := newClient(t, service, unlimited)
	err := try(t.Context(), client, "cards")
	if err == nil || !strings.Contains(err.Error(), "counts 450 cards") || !strings.Contains(err.Error(), "only 100") {
		t.Errorf("after %d requests the list ended with %v", service.lists, err)
	}
	read := 0
	for _, err := range client.Cards(t.Context(), api.CardFilter{}) {
		if read++; err != nil {
			t.Error(err)
		}
		if read == 100 {
			break
		}
	}
}

// A list that never holds still is an error, not a short list. So is one that a refused
// page cuts off.
func TestCardsThatNeverHoldStill(t *testing.T) {
	t.Parallel()
	service := newMovingCards(0)
	service.PerPage = 1
	service.hook = func(string) { service.cards = newMovingCards(10 - 5*(service.lists%2)).cards }
	err := try(t.Context(), newClient(t, service, unlimited), "cards")
	if err == nil || !strings.Contains(err.Error(), "keeps changing while it is read") || service.lists != 21 {
		t.Errorf("after %d requests the list ended with %v", service.lists, err)
	}
	service = newMovingCards(450)
	service.Total, service.Refused = "PAGE", "3"
	if err := try(t.Context(), newClient(t, service, unlimited), "cards"); !transport.IsNotFound(err) {
		t.Errorf("without its third page, the list ended with %v", err)
	}
}

// newSlowService is a service that hides new cards for a while, and a client of it
// that has issued one.
func newSlowService(t *testing.T, hides time.Duration) (*service, *api.Client) {
	t.Helper()
	service := newService(t)
	service.hide(hides)
	client := service.client(t, onlyOneTry)
	must(t, client, "issue")
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
	must(t, client, "terminate")
	before := service.clock.total()
	if ids := listed(t, client, api.CardFilter{Status: api.StatusActive}); len(ids) > 0 || service.clock.total() > before {
		t.Errorf("%q are listed after %s, though the card is terminated", ids, service.clock.total()-before)
	}
}

// A new card that cannot be read ends no list, and is there as it was issued.
func TestNewCardThatCannotBeReadIsListed(t *testing.T) {
	t.Parallel()
	service, client := newSlowService(t, time.Second)
	other, strange := activeCard(2), activeCard(3)
	strange.BinID, strange.Status = "BIN_1", "strange"
	service.hooks["/cards"] = listOf(other, strange) // whatever is asked for
	frozen := service.card("card_1")
	frozen.Status = api.StatusFrozen
	issued := service.clock.Now()
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
		service.clock.now = issued.Add(time.Second) // the wait for it has not used up its time
	}
	service.hooks["/cards"] = listOf(other, service.card("card_1").CardListItem)
	service.hooks["/cards/card_1"] = nil
	if ids := listed(t, client, active); !slices.Equal(ids, []string{"card_1", "card_2"}) {
		t.Errorf("listed behind another: %q", ids)
	}
}

// listOf lists these cards.
func listOf(cards ...api.CardListItem) http.HandlerFunc {
	list := sandboxtest.List[api.CardListItem]{Entries: func(*http.Request) []api.CardListItem { return cards }}
	return list.ServeHTTP
}

func TestListOfNewCardsEndsEarly(t *testing.T) {
	t.Parallel()
	service, client := newSlowService(t, 0)
	must(t, client, "issue")
	service.reads = nil
	service.hooks["/cards"] = listOf(service.card("card_2").CardListItem)
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
		shown, err := client.GetCard(t.Context(), card)
		if waited := service.clock.total() - before; err != nil || shown.Status != want || waited > atMost {
			t.Errorf("%s after %s, %v; want %s", shown.Status, waited, err, want)
		}
	}
	changes := func(call string) {
		t.Helper()
		service.lag(card, 6*time.Second)
		must(t, client, call)
	}
	changes("freeze")
	reads(api.StatusFrozen, 6*time.Second)
	service.sandbox.Post("/cards/"+service.names.IDs(card)+"/unfreeze", nil).OK(200) // for good, by someone else
	reads(api.StatusActive, 15*time.Second)
	reads(api.StatusActive, 0)
	changes("terminate")
	reads(api.StatusTerminated, 6*time.Second)
}

// Another process has issued its cards before this one started, so a service that does not show them
// some time after the start does not have them: however many they are, they share one wait.
func TestCardsOfOthersAreAwaitedFromTheStart(t *testing.T) {
	t.Parallel()
	const within = 30 * time.Second
	clock := newFakeClock()
	service := steps(notFound)
	client := newClient(t, service, on(clock))

	_, err := client.AwaitCard(t.Context(), "card_1", within)
	waited := clock.total()
	if !transport.IsNotFound(err) || len(service.requests()) < 2 || waited < within-5*time.Second || waited > within+5*time.Second {
		t.Errorf("the first card: %v after %s and %d requests", err, waited, len(service.requests()))
	}

	service.then(notFound)
	_, err = client.AwaitCard(t.Context(), "card_2", within)
	if !transport.IsNotFound(err) || len(service.requests()) != 1 || clock.total() != waited {
		t.Errorf("the second card: %v after %s more and %d requests", err, clock.total()-waited, len(service.requests()))
	}
}

// A card of another process that is shown only after a while is found.
func TestCardOfAnotherProcessIsFoundLate(t *testing.T) {
	t.Parallel()
	service := steps(notFound, notFound, respond(200, cardBody))
	client := newClient(t, service)
	card, err := client.AwaitCard(t.Context(), "card_1", 30*time.Second)
	if err != nil || card.ID != "card_1" {
		t.Errorf("got %v, %v", card.ID, err)
	}
}
