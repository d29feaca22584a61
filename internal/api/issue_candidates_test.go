package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Only a new card of this label and this load is taken.
func TestIssueCardTakesNobodyElsesCard(t *testing.T) {
	t.Parallel()
	ours := api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar}
	with := func(change func(*api.CardListItem)) []api.CardListItem {
		card := ours
		change(&card)
		return []api.CardListItem{card}
	}
	for name, test := range map[string]struct {
		before, meanwhile []api.CardListItem
		limit             usd.Amount
		unreadable        bool // cards cannot be read for themselves
		undecided         bool
	}{
		"of another label":                        {meanwhile: with(func(c *api.CardListItem) { c.Label = "adS" })},
		"of another load":                         {meanwhile: with(func(c *api.CardListItem) { c.Balance++ })},
		"of a higher limit":                       {limit: 70 * usd.Dollar, meanwhile: with(func(c *api.CardListItem) { c.SpendingLimit = 80 * usd.Dollar })},
		"of a lower limit":                        {limit: 70 * usd.Dollar, meanwhile: with(func(c *api.CardListItem) { c.SpendingLimit = 60 * usd.Dollar }), undecided: true},
		"that cannot be read":                     {meanwhile: []api.CardListItem{ours}, unreadable: true, undecided: true},
		"of another BIN":                          {meanwhile: with(func(c *api.CardListItem) { c.BinID = "bin_2" })},
		"from before":                             {before: []api.CardListItem{ours}},
		"from before, behind many of another BIN": {before: append([]api.CardListItem{ours}, slices.Repeat([]api.CardListItem{{BinID: "bin_2"}}, 120)...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			for _, card := range test.before {
				service.add(card)
			}
			lost := lostForGood
			lost.before = func() {
				for _, card := range test.meanwhile {
					added := service.add(card)
					if test.unreadable {
						service.hooks["/cards/"+added.ID] = respond(500, "")
					}
				}
			}
			service.faults = []fault{lost, works}
			req := request("ads")
			if test.limit > 0 {
				req.SpendingLimit = &test.limit
			}
			issuance, err := service.client(t).IssueCard(t.Context(), req)
			if unknown, ok := errors.AsType[*api.UndecidedError](err); test.undecided {
				if !ok || len(unknown.Candidates) != 1 || len(service.keys()) != 1 {
					t.Errorf("%v after %d requests", err, len(service.keys()))
				}
				return
			}
			own := fmt.Sprintf("card_%d", len(test.before)+len(test.meanwhile)+1)
			if err != nil || issuance.Recovered || issuance.Card.ID != own || len(issuance.PossibleDuplicates) > 0 {
				t.Errorf("%+v, %v", issuance, err)
			}
		})
	}
}

// A card that seems to be issued before this one was asked for, and is listed later,
// may be this one or not.
func TestIssueCardTakesNoEarlierCard(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]struct{ id, fails string }{
		10 * time.Second: {id: "card_1"}, // clocks and roundings differ
		11 * time.Second: {fails: "unknown"},
		2 * time.Minute:  {fails: "unknown"},
		25 * time.Hour:   {fails: "unknown"}, // or the clock is
	} {
		t.Run(age.String(), func(t *testing.T) {
			t.Parallel()
			service := newFakeService(lostForGood, works)
			service.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
			later(t, service, age)
			service.hooks["/cards"] = func(w http.ResponseWriter, r *http.Request) { // not listed yet
				service.mu.Lock()
				defer service.mu.Unlock()
				delete(service.hooks, "/cards")
				writePage(w, r, nil, true)
			}
			issuance, err := service.client(t).IssueCard(t.Context(), request("ads"))
			if issuance.Card.ID != want.id || issuance.Recovered != (want.id == "card_1") || kindOf(err) != want.fails || len(service.keys()) != 1 {
				t.Errorf("%+v, %v after %d requests", issuance, err, len(service.keys()))
			}
		})
	}
}

// Of two cards that look alike, the one of the limit that was asked for is ours.
func TestIssueCardTakesTheLimitThatItAskedFor(t *testing.T) {
	t.Parallel()
	limit := 70 * usd.Dollar
	service := newFakeService()
	service.faults = []fault{{response: "drop", before: func() {
		service.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar, SpendingLimit: limit - 1})
	}}}
	req := request("ads")
	req.SpendingLimit = &limit
	issuance, err := service.client(t).IssueCard(t.Context(), req)
	if err != nil || !issuance.Recovered || issuance.Card.ID != "card_2" {
		t.Errorf("%+v, %v", issuance, err)
	}
}

// A card that was found in the list is kept though it cannot be read, and though
// the service has made its limit lower: the label is nobody else's.
func TestIssueCardKeepsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	service.faults = []fault{{commit: never, response: "drop", before: func() {
		service.add(api.CardListItem{BinID: "bin_1", Label: "tf-1", Balance: 50 * usd.Dollar, SpendingLimit: 60 * usd.Dollar})
	}}}
	service.hooks["/cards/card_1"] = respond(500, "")
	req := request("tf-1")
	req.GeneratedLabel = true
	limit := 70 * usd.Dollar
	req.SpendingLimit = &limit
	issuance, err := service.client(t).IssueCard(t.Context(), req)
	if card := issuance.Card; err != nil || !issuance.Recovered || card.ID != "card_1" || card.Balance != req.Amount || card.Status != api.StatusActive {
		t.Errorf("%+v, %v", issuance, err)
	}
}

// Cards from before that are no longer listed leave no border between old and
// new ones, and a card with a written label could be an old one.
func TestIssueCardStopsWhenItCannotTellNewFromOld(t *testing.T) {
	t.Parallel()
	for _, generated := range []bool{false, true} {
		service := newFakeService()
		for range 130 {
			service.add(api.CardListItem{BinID: "bin_1", Label: "ads", Balance: 50 * usd.Dollar})
		}
		service.faults = []fault{{response: "drop", before: func() {
			service.mu.Lock()
			defer service.mu.Unlock()
			service.cards = service.cards[:1]
			service.cards[0].Label = "of another time"
		}}, works}
		req := request("ads")
		req.GeneratedLabel = generated
		issuance, err := service.client(t).IssueCard(t.Context(), req)
		if generated != (err == nil && issuance.Recovered) || !generated && kindOf(err) != "unknown" || len(service.keys()) != 1 {
			t.Errorf("generated label %t: %+v, %v after %d requests", generated, issuance, err, len(service.keys()))
		}
	}
}

func TestIssueCardReadsTheNewestCardsOnce(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	reads := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			reads++
		}
		service.ServeHTTP(w, r)
	})
	client := newClient(t, handler)
	for range 3 {
		if _, err := client.IssueCard(t.Context(), request("ads")); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 {
		t.Errorf("%d reads for three cards, want 1", reads)
	}
}
