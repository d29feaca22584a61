package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What was read decides what is sent, how long is waited, and what is remembered.
// Each verdict of the pure rules stands here once. What calls of this process have
// moved without a record is not taken for money of others, and counts once.
func TestMoveByWhatWasRead(t *testing.T) {
	t.Parallel()
	const forty = 40 * usd.Dollar
	type before func(*testing.T, *fakeService, *fakeCard, *reconcile.Record)
	events := func(all ...spends) before {
		return func(_ *testing.T, b *fakeService, c *fakeCard, _ *reconcile.Record) {
			for _, happen := range all {
				happen(b, c)
			}
		}
	}
	killed := func(more ...spends) before { // after the service made it
		return func(t *testing.T, b *fakeService, c *fakeCard, r *reconcile.Record) {
			t.Helper()
			if _, err := b.client(t, keysHonoured).Move(t.Context(), move(c.ID, forty, r)); err != nil {
				t.Fatal(err)
			}
			b.later(time.Minute)
			events(more...)(t, b, c, r)
		}
	}
	pending := func(more ...spends) before {
		return func(t *testing.T, b *fakeService, c *fakeCard, r *reconcile.Record) {
			t.Helper()
			b.faults = []fault{lostForGood}
			open, err := b.client(t, onlyOneTry).Move(t.Context(), move(c.ID, forty, r))
			if kindOf(err) != "unknown" {
				t.Fatal(open, err)
			}
			*r = open.Record
			events(more...)(t, b, c, r)
		}
	}
	hidden := func(path string, status int) spends {
		return func(b *fakeService, _ *fakeCard) {
			b.hooks[path] = respond(status, `{"error":"forbidden","message":"no"}`)
		}
	}
	buy := spend(api.TransactionAuthorization, usd.Dollar)
	oldestFirst := func(perPage int) spends {
		return func(b *fakeService, _ *fakeCard) {
			slices.Reverse(b.history)
			b.perPage, b.idempotency = perPage, "ignored"
		}
	}
	undone := func(_ *testing.T, b *fakeService, c *fakeCard, r *reconcile.Record) {
		r.Anchor.Balance, r.Anchor.Last = start+forty, forty // and 40 USD were taken back
	}
	const either, honoured, unknown = "either", "honoured", "unknown"
	for name, test := range map[string]struct {
		keys   string // that are honoured, unknown, or either
		own    bool   // a movement of this process came first
		before before
		within *reconcile.Range
		ends   string
		posts  int
		waited time.Duration
		again  string // how the same movement ends by the record of this one
	}{
		"a quiet card":                      {keys: either, ends: "moved", posts: 1},
		"a purchase":                        {keys: either, before: events(spend(api.TransactionAuthorization, 7*usd.Dollar)), ends: "moved", posts: 1},
		"killed, made":                      {keys: either, before: killed(), ends: "made before", waited: 30 * time.Second},
		"killed, made, and bought as much":  {keys: honoured, before: killed(spend(api.TransactionAuthorization, forty)), ends: "made before", posts: 1, waited: 30 * time.Second},
		"as much by another hand":           {keys: either, before: events(come(forty)), ends: "made before", waited: 30 * time.Second},
		"an older fund and another hand's":  {keys: either, before: undone, ends: "stops, behind the last -40.00", waited: 30 * time.Second, again: "moved"},
		"made or not":                       {keys: unknown, before: events(come(forty), spend(api.TransactionAuthorization, forty)), ends: "stops, looks either", waited: 30 * time.Second, again: "moved"},
		"made, in money that nobody counts": {keys: unknown, before: killed(spend(api.TransactionDecline, 0), func(b *fakeService, _ *fakeCard) { b.odd("currency", "KWD") }), ends: "made before", waited: 30 * time.Second},
		"an unknown type":                   {keys: either, before: events(spend("chargeback", usd.Dollar)), ends: "stops, unreadable", again: "moved"},
		"no list":                           {keys: either, before: events(hidden("/transactions", 400)), ends: "stops, unreadable", again: "moved"},
		"the newest without a date":         {keys: unknown, before: events(oddly("created_at", "today")), ends: "moved", posts: 1},
		"a lost record":                     {keys: either, before: func(_ *testing.T, _ *fakeService, _ *fakeCard, r *reconcile.Record) { *r = reconcile.Record{} }, ends: "stops, unreadable", again: "moved"},
		"less by another hand":              {keys: either, before: events(come(19 * usd.Dollar)), ends: "moved, left over 19.00", posts: 1, waited: 30 * time.Second},
		"made, less a fee":                  {keys: either, before: events(come(20 * usd.Dollar)), ends: "stops, left over 20.00", waited: 30 * time.Second, again: "moved"},
		"more by another hand":              {keys: either, before: events(come(50 * usd.Dollar)), ends: "stops, left over 50.00", waited: 30 * time.Second, again: "moved"},
		"taken by another hand":             {keys: either, before: events(come(-30 * usd.Dollar)), ends: "moved, left over -30.00", posts: 1, waited: 30 * time.Second},
		"a top-up that is not due":          {keys: either, before: events(come(10 * usd.Dollar)), within: &reconcile.Range{Below: 110 * usd.Dollar, To: 150 * usd.Dollar}, ends: "stops, not due 10.00"},
		"just moved, and shown late": {keys: either, before: func(_ *testing.T, b *fakeService, c *fakeCard, r *reconcile.Record) {
			b.lag(c, 10*time.Second)
			b.give(c, step)
			r.Anchor.Balance, r.Anchor.Last, r.Anchor.At = start+step, step, b.clock.Now()
		}, ends: "moved", posts: 1, waited: 10 * time.Second},
		"behind its own":            {keys: unknown, own: true, ends: "moved", posts: 1, again: "moved"},
		"behind its own, made":      {keys: unknown, own: true, before: events(come(forty)), ends: "made before", waited: 30 * time.Second, again: "moved"},
		"behind its own, left over": {keys: unknown, own: true, before: events(come(50 * usd.Dollar)), ends: "stops, left over 50.00", waited: 30 * time.Second, again: "moved"},
		"behind its own, refused":   {keys: unknown, own: true, before: events(func(b *fakeService, _ *fakeCard) { b.faults = []fault{refusal} }), ends: "refused", posts: 1, again: "moved"},
		"pending, honoured":         {keys: honoured, before: pending(), ends: "moved", posts: 1},
		"pending, not made":         {keys: unknown, before: pending(), ends: "moved", posts: 1},
		"pending, made":             {keys: unknown, before: pending(come(forty)), ends: "made before"},
		"pending, too much":         {keys: unknown, before: pending(come(50 * usd.Dollar)), ends: "unknown", waited: 15 * time.Second},
		"not to be read":            {keys: either, before: events(hidden("/cards/card_1", 403)), ends: "refused"},
		"all listed oldest first, and again": {
			keys: unknown, before: killed(buy, spend(api.TransactionAuthorization, forty), oldestFirst(25), func(b *fakeService, _ *fakeCard) { b.repeats = true }),
			ends: "stops, looks either -1.00", waited: 30 * time.Second, again: "moved",
		},
		"all listed oldest first": {
			keys: unknown, before: killed(buy, spend(api.TransactionAuthorization, forty), oldestFirst(25)),
			ends: "stops, looks either -1.00", waited: 30 * time.Second, again: "moved",
		},
		"listed oldest first": {
			keys: unknown, before: killed(buy, buy, spend(api.TransactionAuthorization, forty), oldestFirst(3)),
			ends: "stops, unreadable -2.00", again: "moved",
		},
		"one listed late": {
			keys: unknown, before: events(buy, oddly("created_at", "2020-01-01T00:00:00Z")),
			ends: "moved", posts: 1,
		},
		"listed one at a time": {
			keys: unknown, before: events(buy, oldestFirst(1)),
			ends: "moved, left over -1.00", posts: 1, waited: 30 * time.Second,
		},
	} {
		for _, keys := range []string{honoured, unknown} {
			if test.keys != either && test.keys != keys {
				continue
			}
			t.Run(name+", keys "+keys, func(t *testing.T) {
				t.Parallel()
				service, card, record := newAccount(t)
				client := service.client(t, func(c *api.Config) { c.KeysHonoured = keys == honoured })
				if test.own {
					if own, err := client.Move(t.Context(), move(card.ID, 60*usd.Dollar, nil)); err != nil || own.Record.Anchor != nil {
						t.Fatal(own, err)
					}
				}
				if test.before != nil {
					test.before(t, service, card, record)
				}
				service.posts = nil
				waited, held := service.clock.total(), card.Balance
				movement := move(card.ID, forty, kept(card.ID, *record))
				if movement.Range = test.within; test.within != nil {
					movement.Purpose = reconcile.ForTopUp
				}
				transfer, err := client.Move(t.Context(), movement)
				if got := told(transfer, err); got != test.ends {
					t.Fatalf("%s (%v), want %s", got, err, test.ends)
				}
				if waited = service.clock.total() - waited; len(service.keys()) != test.posts || waited != test.waited {
					t.Errorf("%d requests after %s, want %d after %s", len(service.keys()), waited, test.posts, test.waited)
				}
				moved := usd.Amount(0)
				if test.ends[:5] == "moved" {
					moved = forty
				}
				if card.Balance != held+moved {
					t.Errorf("the card holds %s, want %s and %s", card.Balance, held, moved)
				}
				after := transfer.Record
				if kind := kindOf(err); test.posts == 0 && (kind == "unknown" || test.ends == "refused") {
					if after.Text(card.ID) != record.Text(card.ID) {
						t.Errorf("remembered %+v of %+v", after, record)
					}
				} else if after.Seed == record.Seed || after.Anchor.Balance != card.Balance && test.ends != "refused" || after.Pending != nil {
					t.Errorf("remembered %+v of %+v", after, record)
				}
				if err == nil && transfer.CardBalance != card.Balance {
					t.Errorf("%+v, and the card holds %s", transfer, card.Balance)
				}
				if err == nil && after.TopUps != record.TopUps && after.TopUps.Sum != max(0, transfer.LeftOver) {
					t.Errorf("counts %+v among what top-ups may have added", after.TopUps)
				}
				if test.again != "" {
					movement.Record, held = kept(card.ID, after), card.Balance
					if again, err := client.Move(t.Context(), movement); told(again, err) != test.again || card.Balance != held+forty {
						t.Errorf("again: %+v, %v, and the card holds %s", again, err, card.Balance)
					}
				}
			})
		}
	}
}

// What an action of this process moved too much is its own as well, for the next movement.
func TestOwnExcessIsKnown(t *testing.T) {
	t.Parallel()
	service, card, record := newAccount(t, fault{before: func() {}})
	service.faults[0].before = func() {
		service.later(6 * time.Second)
		service.give(card, step) // as by a network that repeats
	}
	client := service.client(t)
	own, err := client.Move(t.Context(), move(card.ID, step, nil))
	next, failed := client.Move(t.Context(), move(card.ID, 8*step, record))
	same(t, "two movements", []any{told(own, err), told(next, failed), card.Balance}, fmt.Sprintf("[moved, excess 5.00 moved %s]", start+10*step))
}

// What takes back a movement that was waited for is no reading from before that.
func TestMovementAfterAnAwaitedOne(t *testing.T) {
	t.Parallel()
	service, card, record := newAccount(t)
	client, anchor := service.client(t), *record.Anchor
	anchor.Balance, anchor.Last, anchor.At = start+step, step, service.clock.Now()
	service.give(card, step)
	_, err := client.AwaitCard(t.Context(), card.ID, &anchor)
	moved, failed := client.Move(t.Context(), move(card.ID, -step, nil))
	same(t, "moved", []any{err, told(moved, failed), moved.CardBalance, service.clock.total()}, fmt.Sprintf("[<nil> moved %s 0s]", start))
}

// A page that is full may have another one behind it.
func TestFullPageMayNotBeTheLast(t *testing.T) {
	t.Parallel()
	for transactions, more := range map[int]bool{24: false, 25: true} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		for range transactions {
			service.spend(card, api.TransactionDecline, usd.Cent, 0)
		}
		if s, _, err := service.client(t).ReadSnapshot(t.Context(), card.ID, nil); err != nil || s.More != more {
			t.Errorf("%d transactions: %+v, %v", transactions, s, err)
		}
	}
}

// A history of which each page takes minutes is read for the operation's time, and then unclear.
func TestSlowHistoryIsUnclear(t *testing.T) {
	t.Parallel()
	service, pages := newFakeService(), 0
	card := service.add(api.CardListItem{Balance: start})
	service.hooks["/transactions"] = func(w http.ResponseWriter, _ *http.Request) {
		pages++
		service.later(10 * time.Minute)
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"txn_%d","type":"decline","amount":1,"created_at":"2026-03-01T12:00:00Z"}]}`, pages)
	}
	anchor := &reconcile.Anchor{At: service.clock.Now().Add(-time.Hour)}
	if s, _, err := service.client(t).ReadSnapshot(t.Context(), card.ID, anchor); err != nil || s.Unclear == "" || pages > 8 {
		t.Errorf("%q after %d pages, %v", s.Unclear, pages, err)
	}
}

// A fund of a quiet card is four calls, and one for each page that has come since,
// of which the service may have its own idea.
func TestCallsOfAMovement(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ perPage, purchases, pages int }{
		{100, 0, 1}, {100, 10, 1}, {100, 60, 2}, {100, 110, 3}, {100, 1200, 25}, {3, 500, 200}, {25, 20, 2}, {10, 0, 1}, {10, 7, 2}, {10, 12, 3}, {3, 2, 2},
	} {
		t.Run(fmt.Sprintf("%d, pages of %d", test.purchases, test.perPage), func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			service.perPage = test.perPage
			card := service.add(api.CardListItem{Balance: 10 * start})
			buy := func(times int) {
				for range times { // two transactions each
					service.spend(card, api.TransactionAuthorization, usd.Cent, 0)
					service.spend(card, api.TransactionSettlement, usd.Cent, 0)
				}
			}
			buy(150)
			record := service.remembered(t, card)
			buy(test.purchases)
			service.reads = nil
			transfer, err := service.client(t).Move(t.Context(), move(card.ID, step, record))
			ends, posts := "moved", 1
			want := append(slices.Repeat([]string{"/transactions"}, test.pages), "/cards/card_1")
			if test.pages == 200 {
				ends, posts = "stops, unreadable -2.00", 0
			} else {
				want = append(want, "/cards/card_1")
			}
			if got := told(transfer, err); got != ends || !slices.Equal(service.reads, want) || len(service.keys()) != posts {
				t.Errorf("%s (%v) after %q, want %s", got, err, service.reads, ends)
			}
		})
	}
}
