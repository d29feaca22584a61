package api_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Where keys are honoured, what was lost is asked for again until it is answered, or
// until that has taken too long: then what the card shows is believed.
func TestHonouredKeyIsAskedAgain(t *testing.T) {
	t.Parallel()
	minutes := func(n int) [2]time.Duration {
		return [2]time.Duration{time.Duration(n) * time.Minute, time.Duration(n+1) * time.Minute}
	}
	for name, test := range map[string]struct {
		faults    []fault
		operation time.Duration // the longest it may take; zero for an hour
		once      bool          // the client retries nothing
		cut       bool          // its caller is interrupted at first
		posts     int           // zero for any number
		ends      string
		took      [2]time.Duration // at least and at most
	}{
		"done, response lost":          {faults: []fault{lostButApplied}, posts: 2, ends: "moved", took: minutes(0)},
		"done, 500 of the service":     {faults: []fault{{response: "500"}}, posts: 2, ends: "moved", took: minutes(0)},
		"not done, 503":                {faults: []fault{undone("503")}, posts: 2, ends: "moved", took: minutes(0)},
		"done, lost, then too fast":    {faults: []fault{lostButApplied, undone("429")}, posts: 3, ends: "moved", took: minutes(0)},
		"done, lost, then in flight":   {faults: []fault{lostButApplied, undone("409")}, posts: 3, ends: "moved", took: minutes(0)},
		"lost, then refused":           {faults: []fault{lostForGood, refusal}, posts: 2, ends: "refused", took: minutes(0)},
		"lost, then refused by 409":    {faults: []fault{lostForGood, undone("409 insufficient_funds")}, posts: 2, ends: "refused", took: minutes(0)},
		"done, then refused by 409":    {faults: []fault{lostButApplied, undone("409 insufficient_funds")}, posts: 2, ends: "recovered", took: minutes(0)},
		"redirected for ever":          {faults: []fault{undone("307").forEver()}, posts: 5, ends: "unknown", took: minutes(0)},
		"interrupted, then in flight":  {faults: []fault{lostButApplied, undone("409")}, cut: true, posts: 3, ends: "moved", took: minutes(0)},
		"never answered":               {faults: []fault{lostForGood.forEver()}, ends: "unknown", took: minutes(10)},
		"never answered in its time":   {faults: []fault{lostForGood.forEver()}, operation: 2 * time.Minute, ends: "unknown", took: minutes(2)},
		"made, and never answered":     {faults: []fault{{response: "502 <html>"}, undone("502 <html>").forEver()}, ends: "recovered", took: minutes(10)},
		"a conflict that lasts":        {faults: []fault{undone("409 card_state_conflict").forEver()}, once: true, posts: 1, ends: "unknown", took: minutes(0)},
		"another conflict that lasts":  {faults: []fault{undone("409 account_locked").forEver()}, once: true, posts: 1, ends: "unknown", took: minutes(0)},
		"a success of nothing, always": {faults: []fault{undone("200 {}").forEver()}, posts: 5, ends: "unknown", took: minutes(0)},
		"a success of nothing":         {faults: []fault{undone("200 {}").forEver()}, once: true, posts: 1, ends: "unknown", took: minutes(0)},
		"a 500 that lasts":             {faults: []fault{undone("500").forEver()}, once: true, posts: 1, ends: "unknown", took: minutes(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, card, _ := newAccount(t, test.faults...)
			client := service.client(t, keysHonoured, func(c *api.Config) {
				if test.once {
					c.MaxRetries = 0
				}
			})
			ctx, interrupt := context.WithTimeout(t.Context(), cmp.Or(test.operation, time.Hour))
			defer interrupt()
			if test.cut {
				service.faults[0].before = interrupt
			}
			transfer, err := client.Move(ctx, move(card.ID, step, nil))
			if got := told(transfer, err); got != test.ends {
				t.Fatalf("%s (%v), want %s", got, err, test.ends)
			}
			keys, took := service.keys(), service.clock.total()
			if posts := len(keys); test.posts > 0 && posts != test.posts || len(slices.Compact(keys)) != 1 {
				t.Errorf("%d requests with keys %q, want %d with one", posts, keys, test.posts)
			}
			if took < test.took[0] || took > test.took[1] {
				t.Errorf("took %s, want %s", took, test.took)
			}
			if refused, ok := errors.AsType[*transport.Error](err); test.ends == "refused" && (!ok || refused.IsFinal()) {
				t.Errorf("%v is final, though an attempt was lost", err)
			}
			if err == nil {
				same(t, "a response was lost", []any{transfer.LostResponse, card.Balance}, "[true 105.00]")
			}
		})
	}
}

// A service may count a key once by refusing its repetition: the card tells what
// the key was used for.
func TestRefusalThatSpeaksOfTheKey(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{"409 duplicate_request", "422 idempotency_key_used", "400 already_processed"} {
		for name, test := range map[string]struct {
			faults  []fault // of the requests that come before the refusal
			unknown bool    // whether the keys are honoured
			killed  bool    // a run before has made it, and as much was bought since
			ends    string
		}{
			"an attempt that was made":          {faults: []fault{lostButApplied}, ends: "moved"},
			"an attempt that was not":           {faults: []fault{lostForGood}, ends: "stops, not shown"},
			"an attempt that is made at last":   {faults: []fault{afterTheWait}, unknown: true, ends: "moved"},
			"a run before, which made it":       {killed: true, ends: "made before"},
			"a run before, of which nothing is": {ends: "stops, not shown"},
		} {
			t.Run(refusal+" after "+name, func(t *testing.T) {
				t.Parallel()
				service, card, record := newAccount(t, append(slices.Clone(test.faults), undone(refusal).forEver())...)
				service.idempotency = "ignored"
				if test.killed {
					service.give(card, step)
					service.spend(card, api.TransactionAuthorization, step, 0)
				}
				client := service.client(t, func(c *api.Config) { c.KeysHonoured = !test.unknown })
				transfer, err := client.Move(t.Context(), move(card.ID, step, record))
				if got := told(transfer, err); got != test.ends || len(service.keys()) != len(test.faults)+1 {
					t.Fatalf("%s (%v) after %d requests, want %s", got, err, len(service.keys()), test.ends)
				}
				after, held := transfer.Record, start+step
				stopped, isStopped := errors.AsType[*api.StoppedError](err)
				if isStopped || test.killed {
					held = start
				}
				if isStopped {
					if stopped.Refusal == nil || stopped.Refusal.Code != refusal[len("400 "):] {
						t.Errorf("%+v", stopped)
					}
				}
				got := []any{after.Seed != record.Seed, after.Pending == nil, after.Anchor.Balance, transfer.CardBalance}
				same(t, "remembered", got, fmt.Sprintf("[true true %s %s]", held, held))
			})
		}
	}
}

// Spending hides the fund of a killed run. A refusal for another reason is no proof
// that it was not made; one that speaks of the key proves that it was. What nothing
// answers stays to be told by the record's anchor.
func TestRefusalWhereSpendingHidesAFund(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]string{
		"422 duplicate_request": "made before", "422 already_funded": "made before",
		"422 insufficient_funds": "unknown", "422 card_already_frozen": "unknown", "drop": "unknown",
	} {
		service, card, record := newAccount(t, undone(response).forEver())
		service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
		service.give(card, 40*usd.Dollar)
		transfer, err := service.client(t, keysHonoured).Move(t.Context(), move(card.ID, 40*usd.Dollar, record))
		after, isOpen := transfer.Record, want == "unknown"
		same(t, response, []any{told(transfer, err), after.Pending != nil, after.Seed == record.Seed}, fmt.Sprint([]any{want, isOpen, isOpen}))
		if isOpen && len(after.Anchor.Known) != len(record.Anchor.Known) {
			t.Errorf("%s: remembered %+v", response, after.Anchor)
		}
	}
}

// The service may ask for patience where only the key tells whether it was made.
func TestKeyIsAskedWithPatience(t *testing.T) {
	t.Parallel()
	service, card, record := newAccount(t, works, undone("429"))
	client := service.client(t, keysHonoured)
	for _, want := range []string{"[moved false 105.00 1]", "[made before false 100.00 3]"} {
		transfer, err := client.Move(t.Context(), move(card.ID, step, record))
		same(t, "by the same record", []any{told(transfer, err), transfer.LostResponse, card.Balance, len(service.keys())}, want)
		service.later(time.Minute)
		service.spend(card, api.TransactionAuthorization, step, 0)
	}
}

// While a plan is made, its movements are previewed by one reading, without a wait.
func TestPreview(t *testing.T) {
	t.Parallel()
	const made, send, stop = reconcile.Made, reconcile.Send, reconcile.Stop
	for name, test := range map[string]struct {
		come  usd.Amount
		fails bool
		want  string // verdicts and reasons
	}{
		"as it was":  {want: fmt.Sprint(send, reconcile.Explained, send, reconcile.Explained)},
		"made":       {come: step, want: fmt.Sprint(made, reconcile.LooksMade, send, reconcile.Explained)},
		"both made":  {come: 3 * step, want: fmt.Sprint(stop, reconcile.LooksEither)},
		"unreadable": {come: step, fails: true, want: fmt.Sprint(stop, reconcile.Unreadable)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, card, record := newAccount(t)
			if service.reads = nil; test.fails {
				service.hooks["/transactions"] = respond(403, `{"error":"forbidden"}`)
			}
			change := reconcile.Change{
				Amount: reconcile.Step{From: start, To: start + step}, ToppedUp: reconcile.Step{To: 2 * step},
				Range: &reconcile.Range{Below: start + 2*step, To: start + 3*step},
			}
			var got []any
			for _, d := range service.client(t).Preview(t.Context(), card.ID, *record, change, start+test.come) {
				got = append(got, d.Verdict, d.Reason)
			}
			if text := fmt.Sprint(got...); text != test.want || len(service.reads) != 1 || service.clock.total() != 0 {
				t.Errorf("previewed %s by %d calls in %s, want %s", text, len(service.reads), service.clock.total(), test.want)
			}
		})
	}
}
