package api_test

import (
	"errors"
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
// Each verdict of the pure rules stands here once.
func TestMoveByWhatWasRead(t *testing.T) {
	t.Parallel()
	const forty = 40 * usd.Dollar
	type before func(*testing.T, *fakeService, *fakeCard, *reconcile.Record)
	come := func(amount usd.Amount) before {
		return func(_ *testing.T, b *fakeService, c *fakeCard, _ *reconcile.Record) { b.give(c, amount) }
	}
	killed := func(t *testing.T, b *fakeService, c *fakeCard, r *reconcile.Record) { // after the service made it
		t.Helper()
		if _, err := b.client(t, keysHonoured).Move(t.Context(), move(c.ID, forty, r)); err != nil {
			t.Fatal(err)
		}
		later(t, b, time.Minute)
	}
	pending := func(t *testing.T, b *fakeService, c *fakeCard, r *reconcile.Record) {
		t.Helper()
		b.faults = []fault{lostForGood, lostForGood}
		open, err := b.client(t, func(c *api.Config) { c.MaxRetries = 1 }).Move(t.Context(), move(c.ID, forty, r))
		if kindOf(err) != "unknown" {
			t.Fatal(open, err)
		}
		b.posts = nil
		*r = open.Record
	}
	unlisted := func(_ *testing.T, b *fakeService, _ *fakeCard, _ *reconcile.Record) {
		b.hooks["/transactions"] = respond(400, `{"error":"invalid_request","message":"no"}`)
	}
	all := func(events ...before) before {
		return func(t *testing.T, b *fakeService, c *fakeCard, r *reconcile.Record) {
			t.Helper()
			for _, happen := range events {
				happen(t, b, c, r)
			}
		}
	}
	spend := func(kind api.TransactionType, amount usd.Amount) before {
		return func(_ *testing.T, b *fakeService, c *fakeCard, _ *reconcile.Record) { b.spend(c, kind, amount, 0) }
	}
	lags := func(_ *testing.T, b *fakeService, c *fakeCard, _ *reconcile.Record) { b.lag(c, 10*time.Second) }
	const both, honoured, unknown = "both", "honoured", "unknown"
	for name, test := range map[string]struct {
		keys        string // that are honoured, unknown, or either
		before      before
		delta       usd.Amount // 40 where it is 0
		within      *reconcile.Range
		posts       int
		moved       usd.Amount // by this call
		waited      time.Duration
		madeBefore  bool
		unexplained usd.Amount
		stops       reconcile.Reason
		found       usd.Amount // of a stop
		fails       string     // without a stop
		again       int        // the requests of the same movement by the record of a stop
	}{
		"a quiet card":                     {keys: both, posts: 1, moved: forty},
		"a purchase":                       {keys: both, before: spend(api.TransactionAuthorization, 7*usd.Dollar), posts: 1, moved: forty},
		"killed, made":                     {keys: unknown, before: killed, waited: 30 * time.Second, madeBefore: true},
		"killed, made, by the key":         {keys: honoured, before: killed, waited: 30 * time.Second, posts: 1, madeBefore: true},
		"killed, made, and spent unlisted": {keys: honoured, before: all(killed, come(-33*usd.Dollar)), posts: 1, unexplained: 7 * usd.Dollar, stops: reconcile.LeftOver, found: 7 * usd.Dollar, waited: 30 * time.Second, again: 1},
		"as much by another hand":          {keys: honoured, before: come(forty), posts: 1, moved: forty, unexplained: forty},
		"made or not":                      {keys: unknown, before: all(come(forty), spend(api.TransactionAuthorization, forty)), waited: 30 * time.Second, stops: reconcile.LooksBoth, again: 1},
		"made, in money that nobody counts": {keys: unknown, before: all(killed, func(_ *testing.T, b *fakeService, c *fakeCard, _ *reconcile.Record) {
			b.spend(c, api.TransactionDecline, 0, 0)
			b.history[len(b.history)-1]["currency"] = "KWD"
		}), waited: 30 * time.Second, madeBefore: true},
		"an unknown type":             {keys: unknown, before: spend("chargeback", usd.Dollar), stops: reconcile.Unreadable, again: 1},
		"an unknown type, by the key": {keys: honoured, before: spend("chargeback", usd.Dollar), posts: 1, moved: forty},
		"no list":                     {keys: unknown, before: unlisted, stops: reconcile.Unreadable, again: 1},
		"a lost record":               {keys: both, before: func(_ *testing.T, _ *fakeService, _ *fakeCard, r *reconcile.Record) { *r = reconcile.Record{} }, stops: reconcile.RecordLost, again: 1},
		"less by another hand":        {keys: unknown, before: come(25 * usd.Dollar), waited: 30 * time.Second, posts: 1, moved: forty, unexplained: 25 * usd.Dollar},
		"more by another hand":        {keys: both, before: come(50 * usd.Dollar), waited: 30 * time.Second, stops: reconcile.LeftOver, found: 50 * usd.Dollar, again: 1},
		"taken by another hand":       {keys: both, before: come(-30 * usd.Dollar), waited: 30 * time.Second, posts: 1, moved: forty, unexplained: -30 * usd.Dollar},
		"a top-up that is not due":    {keys: both, before: come(10 * usd.Dollar), within: &reconcile.Range{Below: 110 * usd.Dollar, To: 150 * usd.Dollar}, stops: reconcile.NotDue, found: 10 * usd.Dollar, again: -1},
		"just moved, and shown late": {keys: both, before: func(t *testing.T, b *fakeService, c *fakeCard, r *reconcile.Record) {
			t.Helper()
			lags(t, b, c, r)
			b.give(c, step)
			r.Anchor.Balance, r.Anchor.Last, r.Anchor.At = start+step, step, b.clock.Now()
		}, waited: 10 * time.Second, posts: 1, moved: forty},
		"pending, honoured": {keys: honoured, before: pending, posts: 1, moved: forty},
		"pending, not made": {keys: unknown, before: pending, posts: 1, moved: forty},
		"pending, made":     {keys: unknown, before: all(pending, come(forty)), madeBefore: true},
		"pending, too much": {keys: unknown, before: all(pending, come(50*usd.Dollar)), waited: 15 * time.Second, fails: "unknown"},
		"not to be read": {keys: both, before: func(_ *testing.T, b *fakeService, c *fakeCard, _ *reconcile.Record) {
			b.hooks["/cards/"+c.ID] = respond(403, `{"error":"forbidden","message":"no"}`)
		}, fails: "refused"},
	} {
		for _, keys := range []string{honoured, unknown} {
			if test.keys != both && test.keys != keys {
				continue
			}
			t.Run(name+", keys "+keys, func(t *testing.T) {
				t.Parallel()
				service := newFakeService()
				card := service.add(api.CardListItem{Balance: start})
				record := service.remembered(t, card)
				if test.before != nil {
					test.before(t, service, card, record)
				}
				sent, waited, held := len(service.keys()), service.clock.total(), card.Balance
				client := service.client(t, func(c *api.Config) { c.KeysHonoured = keys == honoured })
				movement := move(card.ID, forty, kept(card.ID, *record))
				if movement.Range = test.within; test.within != nil {
					movement.Purpose = reconcile.ForTopUp
				}
				transfer, err := client.Move(t.Context(), movement)

				if posts := len(service.keys()) - sent; posts != test.posts && test.stops == 0 || service.clock.total()-waited != test.waited {
					t.Errorf("%d requests after %s, want %d after %s", posts, service.clock.total()-waited, test.posts, test.waited)
				}
				if card.Balance != held+test.moved {
					t.Errorf("the card holds %s, want %s and %s", card.Balance, held, test.moved)
				}
				after := transfer.Record
				stopped, isStopped := errors.AsType[*api.StoppedError](err)
				switch {
				case test.stops != 0:
					if !isStopped || stopped.Reason != test.stops || stopped.Found != test.found || stopped.Balance != held || (stopped.Unread != "") != (test.stops == reconcile.Unreadable) {
						t.Fatalf("%+v, %v", stopped, err)
					}
					if after.Token == record.Token || after.Anchor.Balance != held || after.Pending != nil {
						t.Errorf("remembered %+v of %+v", after, record)
					}
					if test.again >= 0 {
						sent := len(service.keys())
						movement.Record = kept(card.ID, after)
						if _, err := client.Move(t.Context(), movement); err != nil || len(service.keys())-sent != test.again || card.Balance != held+forty {
							t.Errorf("again: %v, and the card holds %s", err, card.Balance)
						}
					}
				case test.fails != "":
					if kindOf(err) != test.fails || isStopped || after.Text(card.ID) != record.Text(card.ID) {
						t.Errorf("%v, and remembered %+v of %+v", err, after, record)
					}
				case err != nil || transfer.MadeBefore != test.madeBefore || transfer.LeftOver != test.unexplained || transfer.CardBalance != card.Balance || transfer.Excess != 0:
					t.Errorf("%+v, %v", transfer, err)
				case after.Token == record.Token || after.Anchor.Balance != card.Balance || after.Pending != nil:
					t.Errorf("remembered %+v of %+v", after, record)
				case after.TopUps != record.TopUps && after.TopUps.Sum != max(0, test.unexplained):
					t.Errorf("counts %+v among what top-ups may have added", after.TopUps)
				}
				delete(service.hooks, "/cards/"+card.ID)
				checkUnlocked(t, client, card.ID)
			})
		}
	}
}

// The service may ask for patience where only the key tells whether it was made.
func TestPauseWhereTheKeyDecides(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	client := service.client(t, keysHonoured)
	if killed, err := client.Move(t.Context(), move(card.ID, step, record)); err != nil {
		t.Fatal(killed, err)
	}
	service.faults = []fault{{commit: never, response: "429"}}
	again, err := client.Move(t.Context(), move(card.ID, step, record))
	if err != nil || !again.MadeBefore || again.Delay != nil || again.LeftOver != 0 || card.Balance != start+step || len(service.keys()) != 3 {
		t.Errorf("%+v, %v, and the card holds %s", again, err, card.Balance)
	}
}

// What only the key tells is still to be told by the record's anchor when nothing
// was answered.
func TestUndecidedWhereTheKeyDecides(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	service.spend(card, api.TransactionAuthorization, step, 0)
	service.give(card, step)
	service.faults = slices.Repeat([]fault{lostForGood}, 999)
	transfer, err := service.client(t, keysHonoured).Move(t.Context(), move(card.ID, step, record))
	if after := transfer.Record; kindOf(err) != "unknown" || after.Pending == nil || len(after.Anchor.Known) != 0 || after.Token != record.Token {
		t.Errorf("%+v, %v", transfer, err)
	}
}

// One after the other, the same movements have keys of their own.
func TestMovementsThatRepeatHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	client := service.client(t, keysHonoured)
	for _, delta := range []usd.Amount{step, -step, step} {
		transfer, err := client.Move(t.Context(), move(card.ID, delta, record))
		if err != nil || transfer.MadeBefore {
			t.Fatal(transfer, err)
		}
		record = kept(card.ID, transfer.Record)
		later(t, service, time.Minute)
	}
	keys := service.keys()
	if slices.Sort(keys); len(slices.Compact(keys)) != 3 || card.Balance != start+step {
		t.Errorf("keys %q, and the card holds %s", keys, card.Balance)
	}
}

// What calls of this process move without a record is not taken for money of
// others, and counts once.
func TestOwnMovementsAreExpected(t *testing.T) {
	t.Parallel()
	const sixty = 60 * usd.Dollar
	for name, between := range map[string]func(service *fakeService, card *fakeCard, client *api.Client, record *reconcile.Record) (api.Transfer, error){
		"a movement": func(_ *fakeService, c *fakeCard, client *api.Client, r *reconcile.Record) (api.Transfer, error) {
			return client.Move(t.Context(), move(c.ID, 50*usd.Dollar, r))
		},
		"one that was made before": func(b *fakeService, c *fakeCard, client *api.Client, r *reconcile.Record) (api.Transfer, error) {
			b.give(c, 50*usd.Dollar)
			return client.Move(t.Context(), move(c.ID, 50*usd.Dollar, r))
		},
		"one that stops": func(b *fakeService, c *fakeCard, client *api.Client, r *reconcile.Record) (api.Transfer, error) {
			b.give(c, 51*usd.Dollar)
			transfer, err := client.Move(t.Context(), move(c.ID, 50*usd.Dollar, r))
			if _, ok := errors.AsType[*api.StoppedError](err); !ok {
				return transfer, fmt.Errorf("stopped as %w", err)
			}
			return transfer, nil
		},
		"one that is refused": func(b *fakeService, c *fakeCard, client *api.Client, r *reconcile.Record) (api.Transfer, error) {
			b.faults = []fault{refusal}
			transfer, err := client.Move(t.Context(), move(c.ID, 50*usd.Dollar, r))
			if kindOf(err) != "refused" {
				return transfer, fmt.Errorf("refused as %w", err)
			}
			return client.Move(t.Context(), move(c.ID, 50*usd.Dollar, kept(c.ID, transfer.Record)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			record := service.remembered(t, card)
			client := service.client(t)
			if own, err := client.Move(t.Context(), move(card.ID, sixty, nil)); err != nil || own.Record.Anchor != nil {
				t.Fatal(own, err)
			}
			transfer, err := between(service, card, client, record)
			if err != nil || transfer.LeftOver != 0 || transfer.Record.Anchor.Balance != card.Balance {
				t.Fatalf("%+v, %v, and the card holds %s", transfer, err, card.Balance)
			}
			later(t, service, time.Minute)
			held, waited := card.Balance, service.clock.total()
			last, err := client.Move(t.Context(), move(card.ID, -sixty, kept(card.ID, transfer.Record)))
			if err != nil || card.Balance != held-sixty || service.clock.total() != waited {
				t.Errorf("%+v, %v, and the card holds %s", last, err, card.Balance)
			}
		})
	}
}

// A fund of a quiet card is four calls, and one for each page that has come since,
// of which the service may have its own idea.
func TestCallsOfAMovement(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ perPage, purchases, pages int }{
		{100, 0, 1}, {100, 10, 1}, {100, 60, 2}, {100, 110, 3}, {100, 1200, 10}, {25, 20, 2}, {10, 0, 1}, {10, 7, 2}, {10, 12, 3}, {3, 2, 2},
	} {
		purchases, pages := test.purchases, test.pages
		t.Run(fmt.Sprintf("%d, pages of %d", purchases, test.perPage), func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: 10 * start})
			buy := func(times int) {
				for range times { // two transactions each
					service.spend(card, api.TransactionAuthorization, usd.Cent, 0)
					service.spend(card, api.TransactionSettlement, usd.Cent, 0)
				}
			}
			buy(150)
			record := service.remembered(t, card)
			buy(purchases)
			var calls []string
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls = append(calls, r.Method+" "+r.URL.Path)
				query := r.URL.Query()
				query.Set("per_page", fmt.Sprint(test.perPage))
				r.URL.RawQuery = query.Encode()
				service.ServeHTTP(w, r)
			}), on(service.clock))
			transfer, err := client.Move(t.Context(), move(card.ID, step, record))
			want := slices.Repeat([]string{"GET /api/v1/transactions"}, pages)
			if want = append(want, "GET /api/v1/cards/card_1"); pages < 10 {
				want = append(want, "POST /api/v1/cards/card_1/fund", "GET /api/v1/cards/card_1")
			}
			stopped, isStopped := errors.AsType[*api.StoppedError](err)
			if !slices.Equal(calls, want) || isStopped != (pages == 10) || isStopped && stopped.Reason != reconcile.Unreadable || !isStopped && err != nil {
				t.Errorf("%+v, %v after %q", transfer, err, calls)
			}
		})
	}
}

// A plan asks with one reading, and waits for nothing.
func TestForesee(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		come  usd.Amount
		fails bool
		calls int
		want  reconcile.Decision
	}{
		"as it was":  {want: reconcile.Decision{Verdict: reconcile.Send, Reason: reconcile.Explained}},
		"made":       {come: step, calls: 1, want: reconcile.Decision{Verdict: reconcile.Made, Reason: reconcile.LooksMade}},
		"left over":  {come: 2 * step, calls: 1, want: reconcile.Decision{Verdict: reconcile.Stop, Reason: reconcile.LeftOver}},
		"unreadable": {come: step, calls: 1, fails: true, want: reconcile.Decision{Verdict: reconcile.Stop, Reason: reconcile.Unreadable}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			record := service.remembered(t, card)
			calls, waited := 0, service.clock.total()
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if calls++; test.fails {
					respond(403, `{"error":"forbidden"}`)(w, r)
					return
				}
				service.ServeHTTP(w, r)
			}), on(service.clock))
			e, d := client.Foresee(t.Context(), move(card.ID, step, record), start+test.come)
			if d != test.want || calls > 0 && e.Balance != start+test.come || calls != test.calls || service.clock.total() != waited {
				t.Errorf("%+v, %+v after %d calls", e, d, calls)
			}
		})
	}
}

// While a movement is undecided, no other one is sent.
func TestMoveBesideAPendingOne(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	open := record.Undecided(reconcile.Movement{Delta: 2 * step}, record.Anchor, reconcile.Explanation{}, service.clock.Now())
	transfer, err := service.client(t).Move(t.Context(), move(card.ID, step, &open))
	if err == nil || len(service.keys()) != 0 || transfer.Record.Pending == nil {
		t.Errorf("%+v, %v after %d requests", transfer, err, len(service.keys()))
	}
}
