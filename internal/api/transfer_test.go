package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	start = 100 * usd.Dollar
	step  = 5 * usd.Dollar
)

// move is a movement by what is remembered of a card, nil for nothing.
func move(card string, delta usd.Amount, record *reconcile.Record) api.Movement {
	return api.Movement{CardID: card, Record: record, Movement: reconcile.Movement{Delta: delta}}
}

// kept is a record as the state keeps it.
func kept(card string, record reconcile.Record) *reconcile.Record {
	read := reconcile.ParseRecord(card, record.Text(card))
	return &read
}

// told says in the words of the tables how a movement ended.
func told(transfer api.Transfer, err error) string {
	text := "moved"
	stopped, isStopped := errors.AsType[*api.StoppedError](err)
	switch {
	case isStopped:
		text = "stops, " + map[reconcile.Reason]string{
			reconcile.BehindLast: "behind the last", reconcile.NotDue: "not due", reconcile.Unreadable: "unreadable",
			reconcile.LooksEither: "looks either", reconcile.LeftOver: "left over", reconcile.NotShown: "not shown",
		}[stopped.Reason]
		if stopped.Found != 0 {
			text += " " + stopped.Found.String()
		}
	case err != nil:
		text = kindOf(err)
	case transfer.MadeBefore:
		text = "made before"
	case transfer.Recovered:
		text = "recovered"
	}
	if transfer.LeftOver != 0 {
		text += ", left over " + transfer.LeftOver.String()
	}
	if transfer.Excess != 0 {
		text += ", excess " + transfer.Excess.String()
	}
	return text
}

// spends is what becomes of a card meanwhile.
type spends func(*fakeService, *fakeCard)

func spend(kind api.TransactionType, amount usd.Amount) spends {
	return func(b *fakeService, c *fakeCard) { b.spend(c, kind, amount, 0) }
}

func come(amount usd.Amount) spends { return func(b *fakeService, c *fakeCard) { b.give(c, amount) } }

// oddly spends, and lists that in another form.
func oddly(field string, value any) spends {
	return func(b *fakeService, c *fakeCard) {
		b.spend(c, api.TransactionAuthorization, 0, 0)
		b.odd(field, value)
	}
}

func TestMoveAcrossFailures(t *testing.T) {
	t.Parallel()
	authorize := spend(api.TransactionAuthorization, 7*usd.Dollar)
	type row struct {
		faults      []fault
		idempotency string
		interrupted bool       // when the first try arrives
		meanwhile   spends     // while that is on its way
		spent       usd.Amount // by that
		moved       bool
		posts       int
		ends        string
		resolved    string // what becomes of an unknown outcome later: "" where it was not made
	}
	tests := map[string]row{
		"it works":                       {faults: []fault{works}, moved: true, posts: 1, ends: "moved"},
		"not done, a gateway's 404":      {faults: []fault{undone("404 <html>"), works}, moved: true, posts: 2, ends: "moved"},
		"a gateway that stays":           {faults: []fault{undone("404 <html>").forEver()}, posts: 5, ends: "unknown"},
		"refused for its rate":           {faults: []fault{undone("429"), works}, moved: true, posts: 2, ends: "moved"},
		"done a little later":            {faults: []fault{beforeTheWait}, moved: true, posts: 1, ends: "recovered"},
		"not done, twice":                {faults: []fault{lostForGood, undone("503"), works}, moved: true, posts: 3, ends: "moved"},
		"not done, then done, lost":      {faults: []fault{lostForGood, lostButApplied}, moved: true, posts: 2, ends: "recovered"},
		"refused":                        {faults: []fault{refusal}, posts: 1, ends: "refused"},
		"refused by 402":                 {faults: []fault{undone("402 insufficient_funds")}, posts: 1, ends: "refused"},
		"refused by 409":                 {faults: []fault{undone("409 insufficient_funds")}, posts: 1, ends: "refused"},
		"lost, then refused":             {faults: []fault{lostForGood, refusal}, posts: 2, ends: "refused"},
		"done, lost, then refused":       {faults: []fault{afterTheWait, refusal}, moved: true, posts: 2, ends: "recovered"},
		"conflict that passes":           {faults: []fault{undone("409"), works}, moved: true, posts: 2, ends: "moved"},
		"conflict that stays":            {faults: []fault{undone("409"), undone("409")}, posts: 2, ends: "refused"},
		"after the wait, honoured":       {faults: []fault{afterTheWait, works}, idempotency: "honoured", moved: true, posts: 2, ends: "moved"},
		"after the wait, conflict":       {faults: []fault{afterTheWait}, idempotency: "conflict", moved: true, posts: 2, ends: "recovered"},
		"conflicts, with a loss between": {faults: []fault{undone("409"), lostForGood, undone("409"), works}, moved: true, posts: 4, ends: "moved"},
		"never done":                     {faults: []fault{lostForGood.forEver()}, posts: 5, ends: "unknown"},
		"done, spent meanwhile":          {faults: []fault{lostButApplied}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 1, ends: "recovered"},
		"not done, spent meanwhile":      {faults: []fault{lostForGood, works}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 2, ends: "moved"},
		"done, declined meanwhile":       {faults: []fault{lostButApplied}, meanwhile: spend(api.TransactionDecline, 7*usd.Dollar), moved: true, posts: 1, ends: "recovered"},
		"not done, refunded":             {faults: []fault{lostForGood, works}, meanwhile: spend(api.TransactionRefund, step), spent: -step, moved: true, posts: 2, ends: "moved"},
		"a settlement came between":      {faults: []fault{lostButApplied}, meanwhile: spend(api.TransactionSettlement, 7*usd.Dollar), moved: true, posts: 1, ends: "recovered"},
		"an unknown type":                {faults: []fault{lostButApplied}, meanwhile: spend("chargeback", 7*usd.Dollar), moved: true, posts: 1, ends: "unknown", resolved: "unknown"},
		"in other money":                 {faults: []fault{lostButApplied}, meanwhile: oddly("currency", "EUR"), moved: true, posts: 1, ends: "unknown", resolved: "unknown"},
		"an amount of no number":         {faults: []fault{lostButApplied}, meanwhile: oddly("amount", "much"), moved: true, posts: 1, ends: "unknown", resolved: "unknown"},
		"the history was cut":            {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, _ *fakeCard) { b.history = nil }, moved: true, posts: 1, ends: "unknown", resolved: "unknown"},
		"somebody else took a little":    {faults: []fault{lostForGood}, meanwhile: come(-3 * usd.Cent), spent: 3 * usd.Cent, posts: 1, ends: "unknown", resolved: "unknown"},
		"interrupted, answered":          {faults: []fault{works}, interrupted: true, moved: true, posts: 1, ends: "moved"},
		"interrupted after a purchase":   {faults: []fault{works}, interrupted: true, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 1, ends: "moved"},
		"interrupted, done, lost":        {faults: []fault{lostButApplied}, interrupted: true, moved: true, posts: 1, ends: "recovered"},
		"interrupted, not done":          {faults: []fault{lostForGood}, interrupted: true, posts: 1, ends: "unknown"},
	}
	// A success that does not say what a success says, and a conflict with nothing but
	// itself, which may be the request's own first attempt, leave it open.
	for _, response := range []string{
		"drop", "reset", "truncate", "502", "403 <html>", "404 <html>", "429 <html>", "200 <html>log in</html>", "200 {}", `200 {"card_id":"card_1"}`,
		`200 {"card_id":"card_2","card_balance":105.00}`, "409 <html>", "409 Conflict", "409 idempotency_key_in_use", "409 still_processing", "409 concurrent_request",
	} {
		tests["done, "+response] = row{faults: []fault{{response: response}}, moved: true, posts: 1, ends: "recovered"}
	}
	for name, test := range tests {
		modes := []string{"honoured", "ignored"}
		if test.idempotency != "" {
			modes = []string{test.idempotency}
		}
		for _, mode := range modes {
			for _, delta := range []usd.Amount{step, -step} {
				t.Run(fmt.Sprintf("%s, %s, key %s", name, delta, mode), func(t *testing.T) {
					t.Parallel()
					ctx, interrupt := context.WithCancel(t.Context())
					defer interrupt()
					service, card, record := newAccount(t)
					service.idempotency, service.faults = mode, slices.Clone(test.faults)
					service.faults[0].before = func() {
						if test.interrupted {
							interrupt()
						}
						if test.meanwhile != nil {
							service.later(6 * time.Second)
							test.meanwhile(service, card)
						}
					}
					client := service.client(t)
					transfer, err := client.Move(ctx, move(card.ID, delta, record))

					want := start - test.spent
					if test.moved {
						want += delta
					}
					same(t, "on the card", service.balances()[card.ID], want.String())
					key := record.Key(card.ID, reconcile.Movement{Delta: delta})
					if keys := service.keys(); !slices.Equal(keys, slices.Repeat([]string{key}, test.posts)) {
						t.Errorf("requests with keys %q, want %d with %s", keys, test.posts, key)
					}
					if got := told(transfer, err); got != test.ends {
						t.Fatalf("%s (%v), want %s", got, err, test.ends)
					}
					after := kept(card.ID, transfer.Record)
					isRenewed, pending := after.Seed != record.Seed, after.Pending
					switch test.ends {
					case "unknown":
						if pending == nil {
							t.Fatalf("remembered %+v of %+v", after, record)
						}
						same(t, "remembered", []any{isRenewed, pending.Delta, after.Anchor.Balance}, fmt.Sprintf("[false %s 100.00]", delta))
						if sent := service.posted; pending.SentAt.Before(sent.Truncate(time.Second)) || pending.SentAt.After(sent.Add(time.Second)) {
							t.Errorf("sent at %s, and the last request was made at %s", pending.SentAt, sent)
						}
						resolved, err := service.client(t).ResolvePending(t.Context(), card.ID, *after)
						if kindOf(err) != test.resolved || resolved.MadeBefore || (resolved.Record.Pending == nil) != (err == nil) {
							t.Errorf("resolved as %+v, %v; want %q", resolved, err, test.resolved)
						}
					case "refused":
						refused, ok := errors.AsType[*transport.Error](err)
						isAtOnce := test.posts == 1 // else an attempt was lost
						same(t, "final, with a new token", []any{ok && refused.IsFinal(), isRenewed, service.clock.total() == 0}, fmt.Sprint([]any{isAtOnce, isAtOnce, isAtOnce}))
						same(t, "remembered", []any{pending == nil, after.Anchor.Balance}, "[true 100.00]")
					default:
						same(t, "on the card and in the wallet", []any{transfer.CardBalance, transfer.WalletBalance}, fmt.Sprintf("[%s %s]", want, service.wallet))
						same(t, "remembered", []any{isRenewed, pending == nil, after.Anchor.Balance, after.Anchor.Last}, fmt.Sprintf("[true true %s %s]", start+delta, delta))
					}
				})
			}
		}
	}
}

// Nothing is no movement. What is pending is given its time, keeps other movements
// from being sent, and is pending no more once it is refused, after one more lost
// response, under its key.
func TestPendingMovement(t *testing.T) {
	t.Parallel()
	service, card, record := newAccount(t, lostForGood, refusal)
	open := *record
	open.Pending = &reconcile.Pending{Delta: step, SentAt: service.clock.Now().Add(-10 * time.Second)}
	client := service.client(t)
	if nothing, err := client.Move(t.Context(), move(card.ID, 0, nil)); err == nil || client.HasWritten() {
		t.Errorf("nothing is moved as %+v", nothing)
	}
	other, err := client.Move(t.Context(), move(card.ID, 2*step, &open))
	same(t, "beside it", []any{told(other, err), other.Record.Pending != nil, len(service.keys())}, "[refused true 0]")
	resolved, err := client.ResolvePending(t.Context(), card.ID, open)
	after := resolved.Record
	same(t, "resolved", []any{told(resolved, err), after.Pending != nil, after.Seed == open.Seed, service.clock.total()}, "[moved false true 20s]")
	ahead := open // by a clock that was put right since
	ahead.Pending = &reconcile.Pending{Delta: step, SentAt: service.clock.Now().Add(24 * time.Hour)}
	resolved, err = client.ResolvePending(t.Context(), card.ID, ahead)
	same(t, "resolved, and sent tomorrow", []any{told(resolved, err), service.clock.total()}, "[moved 50s]")
	refused, err := client.Move(t.Context(), move(card.ID, step, &open))
	after = refused.Record
	same(t, "refused", []any{told(refused, err), after.Pending != nil, after.Seed == open.Seed, len(service.keys())}, "[refused false true 2]")
	for _, test := range []struct {
		answer fault
		ends   string
	}{{works, "[moved 20s true false]"}, {refusal, "[refused 50s true true]"}} {
		service, card, record = newAccount(t, test.answer)
		record.Pending = &reconcile.Pending{Delta: step, SentAt: service.clock.Now().Add(-10 * time.Second)}
		service.hooks["/bins"] = respond(503, "")
		client = service.client(t, onlyOneTry)
		if _, isOut := outageOf(try(t.Context(), client, "bins")); !isOut { // which keeps nobody from finding out
			t.Error("there is no outage")
		}
		soon, err := client.Move(t.Context(), move(card.ID, step, record))
		after = soon.Record
		same(t, "soon after it", []any{told(soon, err), service.clock.total(), after.Pending == nil, after.Seed == record.Seed}, test.ends)
	}
}

// Two failures of any kinds, one after the other, move money once or not at all, and say
// which; what may still be on its way is never said to be refused for good.
func TestPairsOfFailures(t *testing.T) {
	t.Parallel()
	kinds := map[string]fault{
		"lost": lostForGood, "made, lost": lostButApplied, "made late": beforeTheWait, "refused": refusal, "a conflict": undone("409"),
		"too fast": undone("429"), "a gateway": undone("403 <html>"), "made, a gateway": {response: "403 <html>"}, "unavailable": undone("503"),
		"nothing": undone("200 {}"), "half a response": {response: "truncate"},
	}
	for first, one := range kinds {
		for second, two := range kinds {
			for _, mode := range []string{"honoured", "ignored"} {
				service, card, record := newAccount(t, one, two)
				service.idempotency = mode
				transfer, err := service.client(t, func(c *api.Config) { c.KeysHonoured = mode == "honoured" }).Move(t.Context(), move(card.ID, step, record))
				moved := service.balances()[card.ID] - start
				if moved != 0 && moved != step {
					t.Errorf("%s, then %s, keys %s: %s moved", first, second, mode, moved)
				}
				refused, isRefused := errors.AsType[*transport.Error](err)
				mayBe := slices.ContainsFunc([]fault{one, two}[:min(2, len(service.keys()))], func(f fault) bool { return f.commit > 0 || f.response == "drop" })
				switch {
				case err == nil && moved != step, isRefused && moved != 0, transfer.Record.Pending == nil && kindOf(err) == "unknown":
					t.Errorf("%s, then %s, keys %s: %s moved, %v", first, second, mode, moved, err)
				case isRefused && refused.IsFinal() && mayBe:
					t.Errorf("%s, then %s, keys %s: final, and the first may be on its way: %v", first, second, mode, err)
				}
			}
		}
	}
}

func TestMovementsOnOneCardWaitForEachOther(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card, other := service.add(api.CardListItem{Balance: start}), service.add(api.CardListItem{Balance: start})
	var onCard, most atomic.Int32
	entered := make(chan struct{})
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
		case strings.Contains(r.URL.Path, other.ID):
			close(entered)
		default:
			most.Store(max(most.Load(), onCard.Add(1)))
			defer onCard.Add(-1)
			<-entered // the other card is not held up
		}
		service.ServeHTTP(w, r)
	}))
	var wg sync.WaitGroup
	begin := func(card *fakeCard, delta usd.Amount) {
		wg.Go(func() {
			if _, err := client.Move(t.Context(), move(card.ID, delta, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		begin(card, step)
		begin(card, -step)
	}
	begin(other, step)
	wg.Wait()
	if most.Load() != 1 || service.balances()[card.ID] != start {
		t.Errorf("%d at once, %s on the card", most.Load(), service.balances()[card.ID])
	}
}
