package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	start = 100 * usd.Dollar
	step  = 5 * usd.Dollar
)

// by is a movement of delta: a fund above zero, a withdrawal below.
func by(delta usd.Amount) reconcile.Movement { return reconcile.Movement{Delta: delta} }

// kept is a record as the state keeps it.
func kept(card string, record reconcile.Record) *reconcile.Record {
	read := reconcile.ParseRecord(card, record.Text(card))
	return &read
}

// told says in the words of the tables how a movement ended.
func told(moved transfer.Transfer, err error) string {
	text := "moved"
	stopped, isStopped := errors.AsType[*transfer.StoppedError](err)
	switch {
	case isStopped:
		text = "stops, " + map[reconcile.Reason]string{
			reconcile.BehindLast: "behind the last", reconcile.NotDue: "not due", reconcile.Unreadable: "unreadable",
			reconcile.LooksEither: "looks either", reconcile.LeftOver: "left over", reconcile.NotShown: "not shown",
		}[stopped.Reason]
		if stopped.Unexplained != 0 {
			text += " " + stopped.Unexplained.String()
		}
	case err != nil:
		text = kindOf(err)
	case moved.How == api.AlreadyDone:
		text = "made before"
	case moved.How == api.Found:
		text = "recovered"
	}
	if moved.LeftOver != 0 {
		text += ", left over " + moved.LeftOver.String()
	}
	if moved.Excess != 0 {
		text += ", excess " + moved.Excess.String()
	}
	return text
}

// spends is what becomes of a card meanwhile.
type spends func(*service, string)

func spend(kind api.TransactionType, amount usd.Amount) spends {
	return func(s *service, card string) { s.spend(card, kind, amount) }
}

func come(amount usd.Amount) spends {
	return func(s *service, card string) { s.give(card, amount) }
}

// oddly spends, and lists that in another form.
func oddly(field string, value any) spends {
	return func(s *service, card string) {
		s.spend(card, api.TransactionDecline, usd.Cent)
		s.odd("type", api.TransactionAuthorization)
		s.odd("amount", 0)
		s.odd(field, value)
	}
}

func reversed(all []map[string]any) []map[string]any {
	slices.Reverse(all)
	return all
}

func TestMoveAcrossFailures(t *testing.T) {
	t.Parallel()
	authorize := spend(api.TransactionAuthorization, 7*usd.Dollar)
	cut := func(s *service, _ string) { s.hooks["/transactions"] = respond(200, `{"data":[]}`) }
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
		"the history was cut":            {faults: []fault{lostButApplied}, meanwhile: cut, moved: true, posts: 1, ends: "unknown", resolved: "unknown"},
		"somebody else took a little":    {faults: []fault{lostForGood}, meanwhile: come(-3 * usd.Cent), spent: 3 * usd.Cent, posts: 1, ends: "unknown", resolved: "unknown"},
		"interrupted, answered":          {faults: []fault{works}, interrupted: true, moved: true, posts: 1, ends: "moved"},
		"interrupted after a purchase":   {faults: []fault{works}, interrupted: true, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 1, ends: "moved"},
		"interrupted, done, lost":        {faults: []fault{lostButApplied}, interrupted: true, moved: true, posts: 1, ends: "recovered"},
		"interrupted, not done":          {faults: []fault{lostForGood}, interrupted: true, posts: 1, ends: "unknown"},
	}
	// A success that does not say what a success says, and a conflict with nothing but
	// itself, which may be the request's own first attempt, leave it open.
	for _, response := range []string{
		"200 <html>log in</html>", "200 {}", `200 {"card_id":"card_1"}`, `200 {"card_id":"card_2","card_balance":105.00}`, "202 {}", "204", "truncate",
	} {
		tests["done, "+response] = row{faults: []fault{{response: response}}, moved: true, posts: 1, ends: "moved"}
	}
	for _, response := range []string{
		"drop", "reset", "502", "403 <html>", "404 <html>", "429 <html>", "409 <html>", "409 Conflict", "409 idempotency_key_in_use", "409 still_processing", "409 concurrent_request",
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
					service.idempotency(mode)
					service.faults = slices.Clone(test.faults)
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
					moved, err := mover(client).Move(ctx, card, by(delta), record)

					want := start - test.spent
					if test.moved {
						want += delta
					}
					same(t, "on the card", service.balance(card), want.String())
					key := record.Key(card, reconcile.Movement{Delta: delta})
					if keys := service.keys(); !slices.Equal(keys, slices.Repeat([]string{key}, test.posts)) {
						t.Errorf("requests with keys %q, want %d with %s", keys, test.posts, key)
					}
					if got := told(moved, err); got != test.ends {
						t.Fatalf("%s (%v), want %s", got, err, test.ends)
					}
					after := kept(card, moved.Record)
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
						resolved, err := mover(service.client(t)).Resolve(t.Context(), card, *after)
						if kindOf(err) != test.resolved || resolved.How == api.AlreadyDone || (resolved.Record.Pending == nil) != (err == nil) {
							t.Errorf("resolved as %+v, %v; want %q", resolved, err, test.resolved)
						}
					case "refused":
						refused, ok := errors.AsType[*transport.Error](err)
						isAtOnce := test.posts == 1 // else an attempt was lost
						same(t, "final, with a new token", []any{ok && refused.IsFinal(), isRenewed, service.clock.total() == 0}, fmt.Sprint([]any{isAtOnce, isAtOnce, isAtOnce}))
						same(t, "remembered", []any{pending == nil, after.Anchor.Balance}, "[true 100.00]")
					default:
						same(t, "on the card and in the wallet", []any{moved.CardBalance, moved.WalletBalance}, fmt.Sprintf("[%s %s]", want, service.sandbox.Wallet()))
						same(t, "remembered", []any{isRenewed, pending == nil, after.Anchor.Balance, after.Anchor.Last}, fmt.Sprintf("[true true %s %s]", start+delta, delta))
					}
				})
			}
		}
	}
}

// A movement that was answered with a 2xx is never sent again, whatever the response says and
// however late it is booked, with either setting: not in this run, and not in later ones.
func TestMoveAfterA2xxThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, response := range []string{`202 {"status":"processing"}`, "204", `200 {"status":"ok"}`, "truncate"} {
		for _, books := range []time.Duration{never, 40 * time.Second, 70 * time.Second} {
			for _, honoured := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, booked after %s, keys honoured %t", response, books, honoured), func(t *testing.T) {
					t.Parallel()
					service, card, record := newAccount(t, fault{commit: books, response: response})
					service.idempotency("ignored")
					client := service.client(t, func(c *api.Config) { c.KeysHonoured = honoured })
					first, err := mover(client).Move(t.Context(), card, by(step), record)
					after := kept(card, first.Record)
					if got := told(first, err); got != "stops, not shown" || after.Pending == nil || !after.Pending.Answered {
						t.Fatalf("%s, %v, remembered %+v", got, err, after)
					}
					service.later(2 * time.Minute)
					second, err := mover(service.client(t, func(c *api.Config) { c.KeysHonoured = honoured })).Move(t.Context(), card, by(step), after)
					want := "made before"
					if books == never {
						want = "unknown"
					}
					if got := told(second, err); got != want || len(service.keys()) != 1 {
						t.Errorf("then %s, %v, after %d requests; want %s", got, err, len(service.keys()), want)
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
	if nothing, err := mover(client).Move(t.Context(), card, by(0), nil); err == nil || client.HasWritten() {
		t.Errorf("nothing is moved as %+v", nothing)
	}
	other, err := mover(client).Move(t.Context(), card, by(2*step), &open)
	same(t, "beside it", []any{told(other, err), other.Record.Pending != nil, len(service.keys())}, "[refused true 0]")
	resolved, err := mover(client).Resolve(t.Context(), card, open)
	after := resolved.Record
	same(t, "resolved", []any{told(resolved, err), after.Pending != nil, after.Seed == open.Seed, service.clock.total()}, "[moved false true 20s]")
	ahead := open // by a clock that was put right since
	ahead.Pending = &reconcile.Pending{Delta: step, SentAt: service.clock.Now().Add(24 * time.Hour)}
	resolved, err = mover(client).Resolve(t.Context(), card, ahead)
	same(t, "resolved, and sent tomorrow", []any{told(resolved, err), service.clock.total()}, "[moved 50s]")
	refused, err := mover(client).Move(t.Context(), card, by(step), &open)
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
		soon, err := mover(client).Move(t.Context(), card, by(step), record)
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
				t.Run(fmt.Sprintf("%s, then %s, keys %s", first, second, mode), func(t *testing.T) {
					t.Parallel()
					service, card, record := newAccount(t, one, two)
					service.idempotency(mode)
					client := service.client(t, func(c *api.Config) { c.KeysHonoured = mode == "honoured" })
					result, err := mover(client).Move(t.Context(), card, by(step), record)
					moved := service.balance(card) - start
					if moved != 0 && moved != step {
						t.Errorf("%s moved", moved)
					}
					refused, isRefused := errors.AsType[*transport.Error](err)
					mayBe := slices.ContainsFunc([]fault{one, two}[:min(2, len(service.keys()))], func(f fault) bool { return f.commit > 0 || f.response == "drop" })
					switch {
					case err == nil && moved != step, isRefused && moved != 0, result.Record.Pending == nil && kindOf(err) == "unknown":
						t.Errorf("%s moved, %v", moved, err)
					case isRefused && refused.IsFinal() && mayBe:
						t.Errorf("final, and the first may be on its way: %v", err)
					}
				})
			}
		}
	}
}

func TestMovementsOnOneCardWaitForEachOther(t *testing.T) {
	t.Parallel()
	service := newService(t)
	card, other := service.add(api.CardListItem{Balance: start}), service.add(api.CardListItem{Balance: start})
	var onCard, most atomic.Int32
	entered := make(chan struct{})
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
		case strings.Contains(r.URL.Path, other):
			close(entered)
		default:
			most.Store(max(most.Load(), onCard.Add(1)))
			defer onCard.Add(-1)
			<-entered // the other card is not held up
		}
		service.ServeHTTP(w, r)
	}), service.withKey)
	var wg sync.WaitGroup
	begin := func(card string, delta usd.Amount) {
		wg.Go(func() {
			if _, err := mover(client).Move(t.Context(), card, by(delta), nil); err != nil {
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
	if most.Load() != 1 || service.balance(card) != start {
		t.Errorf("%d at once, %s on the card", most.Load(), service.balance(card))
	}
}

// What was read decides what is sent, how long is waited, and what is remembered.
// Each verdict of the pure rules stands here once. What calls of this process have
// moved without a record is not taken for money of others, and counts once.
func TestMoveByWhatWasRead(t *testing.T) {
	t.Parallel()
	const forty = 40 * usd.Dollar
	type before func(*testing.T, *service, string, *reconcile.Record)
	events := func(all ...spends) before {
		return func(_ *testing.T, s *service, card string, _ *reconcile.Record) {
			for _, happen := range all {
				happen(s, card)
			}
		}
	}
	killed := func(more ...spends) before { // after the service made it
		return func(t *testing.T, s *service, card string, r *reconcile.Record) {
			t.Helper()
			if _, err := mover(s.client(t, keysHonoured)).Move(t.Context(), card, by(forty), r); err != nil {
				t.Fatal(err)
			}
			s.later(time.Minute)
			events(more...)(t, s, card, r)
		}
	}
	pending := func(more ...spends) before {
		return func(t *testing.T, s *service, card string, r *reconcile.Record) {
			t.Helper()
			s.faults = []fault{lostForGood}
			open, err := mover(s.client(t, onlyOneTry)).Move(t.Context(), card, by(forty), r)
			if kindOf(err) != "unknown" {
				t.Fatal(open, err)
			}
			*r = open.Record
			events(more...)(t, s, card, r)
		}
	}
	hidden := func(path string, status int) spends {
		return func(s *service, _ string) {
			s.hooks[path] = respond(status, `{"error":"forbidden","message":"no"}`)
		}
	}
	buy := spend(api.TransactionAuthorization, usd.Dollar)
	oldestFirst := func(perPage int) spends {
		return func(s *service, _ string) {
			s.idempotency("ignored")
			s.front = sandboxtest.EditList(s.front, "/transactions", reversed)
			s.front = sandboxtest.Query(s.front, "/transactions", "per_page", strconv.Itoa(perPage))
		}
	}
	firstPageAlways := func(s *service, _ string) { s.front = sandboxtest.Query(s.front, "/transactions", "page", "") }
	spacedRefund := func(s *service, card string) { // of the card, under an id that is no valid one
		s.spend(card, api.TransactionDecline, forty)
		s.odd("type", "refund")
		s.odd("card_id", card+" ")
	}
	refundOfOtherCard := func(s *service, _ string) { // of as much, in a list that ignores card_id
		other := s.add(api.CardListItem{Balance: start})
		s.spend(other, api.TransactionDecline, forty)
		s.odd("type", "refund")
		s.front = sandboxtest.Query(s.front, "/transactions", "card_id", "")
	}
	undone := func(_ *testing.T, _ *service, _ string, r *reconcile.Record) {
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
		"killed, made, and another card's":  {keys: unknown, before: killed(refundOfOtherCard), ends: "made before", waited: 30 * time.Second},
		"a refund under an invalid id":      {keys: unknown, before: events(come(forty), spacedRefund), ends: "stops, unreadable 40.00", again: "moved"},
		"as much by another hand":           {keys: either, before: events(come(forty)), ends: "made before", waited: 30 * time.Second},
		"an older fund and another hand's":  {keys: either, before: undone, ends: "stops, behind the last -40.00", waited: 30 * time.Second, again: "moved"},
		"made or not":                       {keys: unknown, before: events(come(forty), spend(api.TransactionAuthorization, forty)), ends: "stops, looks either", waited: 30 * time.Second, again: "moved"},
		"made, in money that nobody counts": {keys: unknown, before: killed(spend(api.TransactionDecline, usd.Cent), func(s *service, _ string) { s.odd("currency", "KWD") }), ends: "made before", waited: 30 * time.Second},
		"an unknown type":                   {keys: either, before: events(spend("chargeback", usd.Dollar)), ends: "stops, unreadable", again: "moved"},
		"no list":                           {keys: either, before: events(hidden("/transactions", 400)), ends: "stops, unreadable", again: "moved"},
		"the newest without a date":         {keys: unknown, before: events(oddly("created_at", "today")), ends: "moved", posts: 1},
		"a damaged record":                  {keys: either, before: func(_ *testing.T, _ *service, _ string, r *reconcile.Record) { *r = reconcile.Record{} }, ends: "stops, unreadable", again: "moved"},
		"less by another hand":              {keys: either, before: events(come(19 * usd.Dollar)), ends: "moved, left over 19.00", posts: 1, waited: 30 * time.Second},
		"made, less a fee":                  {keys: either, before: events(come(20 * usd.Dollar)), ends: "stops, left over 20.00", waited: 30 * time.Second, again: "moved"},
		"more by another hand":              {keys: either, before: events(come(50 * usd.Dollar)), ends: "stops, left over 50.00", waited: 30 * time.Second, again: "moved"},
		"taken by another hand":             {keys: either, before: events(come(-30 * usd.Dollar)), ends: "moved, left over -30.00", posts: 1, waited: 30 * time.Second},
		"a top-up that is not due":          {keys: either, before: events(come(10 * usd.Dollar)), within: &reconcile.Range{Below: 110 * usd.Dollar, To: 150 * usd.Dollar}, ends: "stops, not due 10.00"},
		"just moved, and shown late": {keys: either, before: func(_ *testing.T, s *service, card string, r *reconcile.Record) {
			s.lag(card, 10*time.Second)
			s.give(card, step)
			r.Anchor.Balance, r.Anchor.Last, r.Anchor.At = start+step, step, s.clock.Now()
		}, ends: "moved", posts: 1, waited: 10 * time.Second},
		"behind its own":            {keys: unknown, own: true, ends: "moved", posts: 1, again: "moved"},
		"behind its own, made":      {keys: unknown, own: true, before: events(come(forty)), ends: "made before", waited: 30 * time.Second, again: "moved"},
		"behind its own, left over": {keys: unknown, own: true, before: events(come(50 * usd.Dollar)), ends: "stops, left over 50.00", waited: 30 * time.Second, again: "moved"},
		"behind its own, refused":   {keys: unknown, own: true, before: events(func(s *service, _ string) { s.faults = []fault{refusal} }), ends: "refused", posts: 1, again: "moved"},
		"pending, honoured":         {keys: honoured, before: pending(), ends: "moved", posts: 1},
		"pending, not made":         {keys: unknown, before: pending(), ends: "moved", posts: 1},
		"pending, made":             {keys: unknown, before: pending(come(forty)), ends: "made before"},
		"pending, too much":         {keys: unknown, before: pending(come(50 * usd.Dollar)), ends: "unknown", waited: 15 * time.Second},
		"not to be read":            {keys: either, before: events(hidden("/cards/card_1", 403)), ends: "refused"},
		"all listed oldest first, and again": {
			keys: unknown, before: killed(buy, spend(api.TransactionAuthorization, forty), oldestFirst(25), firstPageAlways),
			ends: "stops, looks either -1.00", waited: 30 * time.Second, again: "moved",
		},
		"all listed oldest first": {
			keys: unknown, before: killed(buy, spend(api.TransactionAuthorization, forty), oldestFirst(25)),
			ends: "stops, looks either -1.00", waited: 30 * time.Second, again: "moved",
		},
		"listed oldest first": {
			keys: unknown, before: killed(buy, buy, spend(api.TransactionAuthorization, forty), oldestFirst(5)),
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
					if own, err := mover(client).Move(t.Context(), card, by(60*usd.Dollar), nil); err != nil || own.Record.Anchor != nil {
						t.Fatal(own, err)
					}
				}
				if test.before != nil {
					test.before(t, service, card, record)
				}
				service.posts = nil
				waited, held := service.clock.total(), service.balance(card)
				movement := by(forty)
				if movement.Range = test.within; test.within != nil {
					movement.Purpose = reconcile.ForTopUp
				}
				moved, err := mover(client).Move(t.Context(), card, movement, kept(card, *record))
				if got := told(moved, err); got != test.ends {
					t.Fatalf("%s (%v), want %s", got, err, test.ends)
				}
				if waited = service.clock.total() - waited; len(service.keys()) != test.posts || waited != test.waited {
					t.Errorf("%d requests after %s, want %d after %s", len(service.keys()), waited, test.posts, test.waited)
				}
				came := usd.Amount(0)
				if test.ends[:5] == "moved" {
					came = forty
				}
				holds := service.balance(card)
				if holds != held+came {
					t.Errorf("the card holds %s, want %s and %s", holds, held, came)
				}
				after := moved.Record
				if kind := kindOf(err); test.posts == 0 && (kind == "unknown" || test.ends == "refused") {
					if after.Text(card) != record.Text(card) {
						t.Errorf("remembered %+v of %+v", after, record)
					}
				} else if after.Seed == record.Seed || after.Anchor.Balance != holds && test.ends != "refused" || after.Pending != nil {
					t.Errorf("remembered %+v of %+v", after, record)
				}
				if err == nil && moved.CardBalance != holds {
					t.Errorf("%+v, and the card holds %s", moved, holds)
				}
				if err == nil && after.TopUps != record.TopUps && after.TopUps.Sum != max(0, moved.LeftOver) {
					t.Errorf("counts %+v among what top-ups may have added", after.TopUps)
				}
				if test.again != "" {
					again, err := mover(client).Move(t.Context(), card, movement, kept(card, after))
					if told(again, err) != test.again || service.balance(card) != holds+forty {
						t.Errorf("again: %+v, %v, and the card holds %s", again, err, service.balance(card))
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
	own, err := mover(client).Move(t.Context(), card, by(step), nil)
	next, failed := mover(client).Move(t.Context(), card, by(8*step), record)
	same(t, "two movements", []any{told(own, err), told(next, failed), service.balance(card)}, fmt.Sprintf("[moved, excess 5.00 moved %s]", start+10*step))
}

// A request whose outcome is unknown counts from when it was sent, and not from when it began to wait for the limits.
func TestSentAtFollowsTheWaitForLimits(t *testing.T) {
	t.Parallel()
	service, card, record := newAccount(t, lostForGood)
	client := service.client(t, onlyOneTry, func(c *api.Config) { c.Limits.RequestsPerMinute = 1 })
	_, err := mover(client).Move(t.Context(), card, by(step), record)
	undecided, ok := errors.AsType[*transport.UndecidedError](err)
	if !ok || undecided.SentAt.Before(service.posted.Truncate(time.Second)) {
		t.Errorf("sent at %s: %+v", service.posted, err)
	}
}

// What an action moved is part of the balance of a record whose pending movement is resolved afterwards.
func TestResolvedRecordIncludesActions(t *testing.T) {
	t.Parallel()
	service, card, record := newAccount(t)
	client := service.client(t)
	record.Pending = &reconcile.Pending{Delta: step, SentAt: service.clock.Now().Add(-time.Minute)}
	service.give(card, step)
	action, err := mover(client).Move(t.Context(), card, by(8*step), nil)
	if err != nil {
		t.Fatal(action, err)
	}
	resolved, err := mover(client).Resolve(t.Context(), card, *record)
	if err != nil || resolved.Record.Anchor.Balance != start+9*step {
		t.Fatalf("resolved as %+v: %v", resolved, err)
	}
	next, err := mover(client).Move(t.Context(), card, by(2*step), &resolved.Record)
	same(t, "next", []any{told(next, err), service.balance(card)}, fmt.Sprintf("[moved %s]", start+11*step))
}

// What takes back a movement that was waited for is no reading from before that.
func TestMovementAfterAnAwaitedOne(t *testing.T) {
	t.Parallel()
	service, card, record := newAccount(t)
	client, anchor := service.client(t), *record.Anchor
	anchor.Balance, anchor.Last, anchor.At = start+step, step, service.clock.Now()
	service.give(card, step)
	_, err := mover(client).Await(t.Context(), card, reconcile.Record{Anchor: &anchor})
	moved, failed := mover(client).Move(t.Context(), card, by(-step), nil)
	same(t, "moved", []any{err, told(moved, failed), moved.CardBalance, service.clock.total()}, fmt.Sprintf("[<nil> moved %s 0s]", start))
}

// A card that is shown without the record's last movement is awaited for as long as a service may show it so. A card that
// was terminated meanwhile will never show that movement.
func TestAwaitWaitsForTheLastMovement(t *testing.T) {
	t.Parallel()
	for status, want := range map[api.CardStatus]time.Duration{api.StatusActive: reconcile.StaleFor, api.StatusTerminated: 0} {
		service := newService(t)
		card := service.add(api.CardListItem{Balance: start, Status: status})
		balance := service.balance(card)
		anchor := reconcile.Anchor{Balance: balance + step, Last: step, At: service.clock.Now()}
		read, err := mover(service.client(t)).Await(t.Context(), card, reconcile.Record{Anchor: &anchor})
		waited := service.clock.total()
		if err != nil || read.Balance != balance || waited != want {
			t.Errorf("a card that is %s is read as %+v after %s: %v; want %s", status, read, waited, err, want)
		}
	}
}

// A page that is full may have another one behind it.
func TestFullPageMayNotBeTheLast(t *testing.T) {
	t.Parallel()
	for transactions, more := range map[int]bool{24: false, 25: true} {
		service := newService(t)
		card := service.add(api.CardListItem{Balance: start})
		for range transactions {
			service.spend(card, api.TransactionDecline, usd.Cent)
		}
		if s, err := mover(service.client(t)).Cards.ReadSnapshot(t.Context(), card, reconcile.Record{}); err != nil || s.More != more {
			t.Errorf("%d transactions: %+v, %v", transactions, s, err)
		}
	}
}

// A history of which each page takes minutes is read for the operation's time, and then unclear.
func TestSlowHistoryIsUnclear(t *testing.T) {
	t.Parallel()
	service, pages := newService(t), 0
	card := service.add(api.CardListItem{Balance: start})
	service.hooks["/transactions"] = func(w http.ResponseWriter, _ *http.Request) {
		pages++
		service.later(10 * time.Minute)
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"txn_%d","type":"decline","amount":1,"created_at":"2026-03-01T12:00:00Z"}]}`, pages)
	}
	anchor := &reconcile.Anchor{At: service.clock.Now().Add(-time.Hour)}
	if s, err := mover(service.client(t)).Cards.ReadSnapshot(t.Context(), card, reconcile.Record{Anchor: anchor}); err != nil || s.Unclear == "" || pages > 8 {
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
			service := newService(t)
			service.front = sandboxtest.Query(service.front, "/transactions", "per_page", strconv.Itoa(test.perPage))
			card := service.add(api.CardListItem{Balance: 10 * start})
			buy := func(times int) {
				for range times { // two transactions each
					service.spend(card, api.TransactionAuthorization, usd.Cent)
					service.spend(card, api.TransactionSettlement, usd.Cent)
				}
			}
			buy(150)
			record := service.remembered(t, card)
			buy(test.purchases)
			service.reads = nil
			moved, err := mover(service.client(t)).Move(t.Context(), card, by(step), record)
			ends, posts := "moved", 1
			want := append(slices.Repeat([]string{"/transactions"}, test.pages), "/cards/card_1")
			if test.pages == 200 {
				ends, posts = "stops, unreadable -2.00", 0
			} else {
				want = append(want, "/cards/card_1")
			}
			if got := told(moved, err); got != ends || !slices.Equal(service.reads, want) || len(service.keys()) != posts {
				t.Errorf("%s (%v) after %q, want %s", got, err, service.reads, ends)
			}
		})
	}
}
