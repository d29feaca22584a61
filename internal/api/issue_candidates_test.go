package api_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Only a new card of this label, this load and this limit is taken, where that is
// certain.
func TestIssueCardTakesNobodyElsesCard(t *testing.T) {
	t.Parallel()
	with := func(change func(*api.CardListItem)) []api.CardListItem {
		card := alike()
		change(&card)
		return []api.CardListItem{card}
	}
	limit := func(amount usd.Amount) []api.CardListItem {
		return with(func(c *api.CardListItem) { c.SpendingLimit = amount })
	}
	lost, refused := lostForGood, respond(500, "")
	for name, test := range map[string]struct {
		before, meanwhile []api.CardListItem
		answer            fault
		limit             usd.Amount
		generated         bool
		unreadable        bool // cards cannot be read for themselves
		ends              string
	}{
		"of another label":    {answer: lost, meanwhile: with(func(c *api.CardListItem) { c.Label = "adS" }), ends: "issued card_2"},
		"of another load":     {answer: lost, meanwhile: with(func(c *api.CardListItem) { c.Balance += usd.Cent }), ends: "issued card_2"},
		"of a higher limit":   {answer: lost, limit: 70 * usd.Dollar, meanwhile: limit(80 * usd.Dollar), ends: "issued card_2"},
		"of a lower limit":    {answer: lost, limit: 70 * usd.Dollar, meanwhile: limit(60 * usd.Dollar), ends: "unknown, 1 candidates"},
		"beside its own":      {answer: lostButApplied, limit: 70 * usd.Dollar, meanwhile: limit(70*usd.Dollar - usd.Cent), ends: "adopted card_2"},
		"that cannot be read": {answer: lost, meanwhile: []api.CardListItem{alike()}, unreadable: true, ends: "unknown, 1 candidates"},
		"of another BIN":      {answer: lost, meanwhile: with(func(c *api.CardListItem) { c.BinID = "bin_2" }), ends: "issued card_2"},
		"from before":         {answer: lost, before: []api.CardListItem{alike()}, ends: "issued card_2"},
		"from before, behind many of another BIN": {
			answer: lost, before: append([]api.CardListItem{alike()}, slices.Repeat([]api.CardListItem{{BinID: "bin_2"}}, 120)...), ends: "issued card_122",
		},
		// A label that is nobody else's tells, though the service has lowered the limit.
		"of its own label, that cannot be read": {answer: lost, limit: 70 * usd.Dollar, meanwhile: limit(60 * usd.Dollar), generated: true, unreadable: true, ends: "recovered card_1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			for _, card := range test.before {
				service.add(card)
			}
			test.answer.before = func() {
				for _, card := range test.meanwhile {
					if added := service.add(card); test.unreadable {
						service.hooks["/cards/"+added.ID] = refused
					}
				}
			}
			service.faults = []fault{test.answer, works}
			req := request("ads")
			if req.GeneratedLabel = test.generated; test.limit > 0 {
				req.SpendingLimit = &test.limit
			}
			issuance, err := service.client(t).IssueCard(t.Context(), req)
			if got := toldOf(issuance, err); got != test.ends || err == nil && (issuance.Card.Balance != req.Amount || issuance.Card.Status != api.StatusActive) {
				t.Errorf("%s (%v), want %s", got, err, test.ends)
			}
			if posts, open := len(service.keys()), fmt.Sprintf("issued card_%d", len(service.cards)); (posts == 2) != (test.ends == open) {
				t.Errorf("%d requests", posts)
			}
		})
	}
}

// Cards from before that are no longer listed leave no border between old and
// new ones, and a card with a written label could be an old one.
func TestIssueCardStopsWhenItCannotTellNewFromOld(t *testing.T) {
	t.Parallel()
	for generated, want := range map[bool]string{true: "recovered card_2", false: "unknown, 0 candidates"} {
		service := newFakeService()
		for range 130 {
			service.add(alike())
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
		if got := toldOf(issuance, err); got != want || len(service.keys()) != 1 {
			t.Errorf("generated label %t: %s (%v) after %d requests, want %s", generated, got, err, len(service.keys()), want)
		}
	}
}
