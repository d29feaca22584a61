package api_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Only a new card of this label, this load and this limit is taken, where that is
// certain: cards from before that are no longer listed leave no border between old and
// new ones, and a card with a written label could be an old one. A gateway's 404 after a
// lost response is none of the service; a refusal that speaks of the key tells of no card
// that can be seen; one that a gateway makes up hides no card that nobody else can have.
// The clock of a gateway is not the service's. What looks like the card is no duplicate
// where its request took effect once, and an interruption keeps nobody from learning what
// became of the last request.
func TestIssueCardAmongOthers(t *testing.T) {
	t.Parallel()
	with := func(change func(*api.CardListItem)) []api.CardListItem {
		card := alike()
		change(&card)
		return []api.CardListItem{card}
	}
	limit := func(amount usd.Amount) []api.CardListItem {
		return with(func(c *api.CardListItem) { c.SpendingLimit = amount })
	}
	labelled := func(label string) []api.CardListItem {
		return with(func(c *api.CardListItem) { c.Label = label })
	}
	const seventy = 70 * usd.Dollar
	const issued, none, open = "issued card_2", "unknown, 0 candidates", "unknown, 1 candidates"
	one, lost, done := []api.CardListItem{alike()}, []fault{lostForGood, works}, []fault{lostButApplied}
	many, strangers := slices.Repeat(one, 130), slices.Repeat(labelled("of somebody else"), 250)
	elsewhere := with(func(c *api.CardListItem) { c.BinID = "bin_2" })
	for name, test := range map[string]struct {
		before, meanwhile []api.CardListItem // there before, and come with the first request
		faults            []fault
		limit             usd.Amount
		ahead             time.Duration
		generated         bool
		unreadable        bool // what came cannot be read for itself
		vanish            bool // what was there before, but for a card of another label
		honoured          bool
		interrupted       bool // at the last request
		ends              string
		cards, posts      int
	}{
		"of another label": {faults: lost, meanwhile: labelled("adZ"), ends: issued, cards: 1, posts: 2},
		"in other letters": {faults: lost, meanwhile: labelled("adS"), ends: open, posts: 1},
		"of a lower limit": {
			faults: lost, limit: seventy, meanwhile: limit(60 * usd.Dollar), ends: open, posts: 1,
		},
		"that cannot be read": {faults: lost, meanwhile: slices.Repeat(one, 2), unreadable: true, ends: "unknown, 2 candidates", posts: 1},
		"of another BIN":      {faults: lost, meanwhile: elsewhere, ends: issued, cards: 1, posts: 2},
		"from before":         {faults: lost, before: one, ends: issued, cards: 1, posts: 2},
		"beside its own": {
			faults: done, limit: seventy, meanwhile: limit(seventy - usd.Cent), ends: "adopted card_2", cards: 1, posts: 1,
		},
		"from before, behind many of another BIN": {
			faults: lost, before: append(one[:1:1], slices.Repeat(elsewhere, 120)...), ends: "issued card_122", cards: 1, posts: 2,
		},
		// A label that is nobody else's tells, though the service has lowered the limit.
		"of its own label, that cannot be read": {
			faults: lost, limit: seventy, meanwhile: limit(60 * usd.Dollar), generated: true, unreadable: true, ends: "recovered card_1", posts: 1,
		},
		"behind many others":        {faults: done, before: many, meanwhile: strangers, ends: "adopted card_381", cards: 1, posts: 1},
		"all vanish":                {faults: done, before: many, vanish: true, ends: none, cards: 1, posts: 1},
		"all vanish, its own label": {faults: done, before: many, vanish: true, generated: true, ends: "recovered card_2", cards: 1, posts: 1},

		"a gateway's 404, then the card": {faults: append(done[:1:1], undone("404 <html>"), works), honoured: true, ends: "issued card_1", cards: 1, posts: 3},
		"a key that was used":            {faults: []fault{lostForGood, undone("409 duplicate_request")}, honoured: true, ends: none, posts: 2},
		"issued, and refused by 400":     {faults: []fault{{response: "400 forbidden"}}, generated: true, ends: "recovered card_1", cards: 1, posts: 1},
		"issued, and refused by 403":     {faults: []fault{{response: "403 forbidden"}}, generated: true, ends: "recovered card_1", cards: 1, posts: 1},
		"before it was asked for":        {faults: done, ahead: 15 * time.Second, ends: open, cards: 1, posts: 1},
		"beside one, refused for pace":   {faults: []fault{undone("429"), works}, meanwhile: one, ends: issued, cards: 1, posts: 2},
		"beside one, lost":               {faults: lost, honoured: true, meanwhile: one, ends: issued, cards: 1, posts: 2},
		"interrupted, answered":          {faults: []fault{works}, interrupted: true, ends: "issued card_1", cards: 1, posts: 1},
		"interrupted, lost":              {faults: done, interrupted: true, ends: "adopted card_1", cards: 1, posts: 1},
		"interrupted, not done":          {faults: lost, interrupted: true, ends: none, posts: 1},
		"interrupted, refused for pace":  {faults: []fault{undone("429")}, interrupted: true, ends: "refused", posts: 1},
		"interrupted, issued twice":      {faults: []fault{afterTheLooks, works}, interrupted: true, ends: "issued card_1, and card_2", cards: 2, posts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			service := newFakeService(slices.Clone(test.faults)...)
			if service.ahead = test.ahead; !test.honoured {
				service.idempotency = "ignored"
			}
			for _, card := range test.before {
				service.add(card)
			}
			others := 0
			service.faults[0].before = func() {
				if test.vanish {
					service.cards = service.cards[:1]
					service.cards[0].Label = "of another time"
				}
				for _, card := range test.meanwhile {
					if added := service.add(card); test.unreadable {
						service.hooks["/cards/"+added.ID] = respond(500, "")
					}
				}
				others = len(service.balances())
			}
			if arrives := service.faults[test.posts-1].before; test.interrupted {
				service.faults[test.posts-1].before = func() {
					interrupt()
					if arrives != nil {
						arrives()
					}
				}
			}
			req := request("ads")
			if req.GeneratedLabel = test.generated; test.limit > 0 {
				req.SpendingLimit = &test.limit
			}
			issuance, err := service.client(t, func(c *api.Config) { c.KeysHonoured = test.honoured }).IssueCard(ctx, req)
			card := issuance.Card
			if got := toldOf(issuance, err); got != test.ends {
				t.Errorf("%s (%v), want %s", got, err, test.ends)
			}
			if err == nil && (card.Balance != req.Amount || card.Status != api.StatusActive || card.CreatedAt == "" && !test.unreadable) {
				t.Errorf("the card is %+v", card)
			}
			cards, posts, waited := len(service.balances())-others, len(service.keys()), service.clock.total()
			if cards != test.cards || posts != test.posts || test.generated && others == 0 && waited > 0 {
				t.Errorf("%d cards after %d requests and %s, want %d after %d", cards, posts, waited, test.cards, test.posts)
			}
		})
	}
}
