package api_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A success is one answer: the card has to show it.
func TestMoveThatIsAnswered(t *testing.T) {
	t.Parallel()
	answers := func(commit time.Duration, balance usd.Amount) fault {
		return fault{commit: commit, response: fmt.Sprintf(`200 {"card_id":"card_1","card_balance":%s,"wallet_balance":1}`, balance)}
	}
	late := func(s *service, card string) { s.lag(card, 10*time.Second) }
	unreadable := func(s *service, card string) {
		s.hooks["/cards/"+card] = respond(403, `{"error":"forbidden"}`)
	}
	emptied := func(spent usd.Amount) spends { // but for what the withdrawal takes
		return func(s *service, card string) {
			if spent > 0 {
				s.spend(card, api.TransactionAuthorization, spent)
			}
			s.give(card, step-s.balance(card))
		}
	}
	for name, test := range map[string]struct {
		answer  fault
		during  spends // when the request arrives
		taken   bool   // what is moved is withdrawn
		ends    string
		waited  time.Duration
		balance usd.Amount
	}{
		"as it should be":                  {ends: "moved", balance: start + step},
		"with the balance of before":       {answer: answers(now, start), ends: "moved", balance: start + step},
		"shown late":                       {during: late, ends: "moved", waited: 10 * time.Second, balance: start + step},
		"shown late, as the answer":        {answer: answers(now, start), during: late, ends: "moved", waited: 10 * time.Second, balance: start + step},
		"never shown":                      {answer: answers(never, start+step), ends: "stops, not shown", waited: 30 * time.Second, balance: start},
		"not even in the answer":           {answer: answers(never, start), ends: "stops, not shown", waited: 30 * time.Second, balance: start},
		"spent meanwhile":                  {during: spend(api.TransactionAuthorization, 7*usd.Dollar), ends: "moved", balance: start + step - 7*usd.Dollar},
		"refunded meanwhile":               {during: spend(api.TransactionRefund, 7*usd.Dollar), ends: "moved", balance: start + step + 7*usd.Dollar},
		"spent meanwhile, and unlisted":    {during: come(-7 * usd.Dollar), ends: "stops, not shown -2.00", waited: 30 * time.Second, balance: start - 2*usd.Dollar},
		"moved twice by the network":       {during: come(step), ends: "moved, excess 5.00", waited: 30 * time.Second, balance: start + 2*step},
		"all is taken":                     {during: emptied(0), taken: true, ends: "moved, excess -95.00", waited: 30 * time.Second},
		"all is taken after spending":      {during: emptied(7 * usd.Dollar), taken: true, ends: "moved, excess -88.00", waited: 30 * time.Second},
		"the card cannot be read any more": {during: unreadable, ends: "unknown", balance: start + step},
	} {
		for _, recorded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, recorded %t", name, recorded), func(t *testing.T) {
				t.Parallel()
				service, card, record := newAccount(t, test.answer)
				service.faults[0].before = func() {
					service.later(6 * time.Second)
					if test.during != nil {
						test.during(service, card)
					}
				}
				movement := by(step)
				if test.taken {
					movement.Delta = -step
				}
				if !recorded {
					record = nil
				}
				moved, err := mover(service.client(t)).Move(t.Context(), card, movement, record)
				if got := told(moved, err); got != test.ends || len(service.keys()) != 1 || service.clock.total() != test.waited {
					t.Errorf("%s after %d requests and %s; want %s after one and %s", got, len(service.keys()), service.clock.total(), test.ends, test.waited)
				}
				holds := service.balance(card)
				if holds != test.balance || err == nil && moved.CardBalance != holds {
					t.Errorf("the card holds %s, want %s; %+v", holds, test.balance, moved)
				}
				after := moved.Record
				if recorded == (after.Anchor == nil) {
					t.Fatalf("remembered %+v", after)
				}
				stopped, isStopped := errors.AsType[*transfer.StoppedError](err)
				open, isOpen := errors.AsType[*transport.UndecidedError](err)
				switch {
				case isStopped && (stopped.Balance != holds || stopped.AnsweredBalance == nil), isOpen && open.Key != service.keys()[0]:
					t.Errorf("%+v", err)
				case !recorded:
				case (after.Seed == record.Seed) != (err != nil), (after.Pending != nil) != (err != nil):
					t.Errorf("remembered %+v of %+v", after, record)
				case err != nil && (!after.Pending.Answered || after.Anchor.Balance != start || after.Anchor.Last != 0):
					t.Errorf("remembered %+v", after)
				case err == nil && moved.Excess == 0 && after.Anchor.Balance != start+step, moved.Excess != 0 && after.Anchor.Balance != holds:
					t.Errorf("remembered %+v", after)
				}
			})
		}
	}
}

// What comes to a card near the end of the wait is listed before it is decided.
func TestMoveWaitsForWhatHasJustCome(t *testing.T) {
	t.Parallel()
	service, card, record := newAccount(t)
	service.give(card, -step) // by a run that was killed
	client, began, refund := service.client(t), service.clock.Now(), usd.Dollar
	var comes, isListed sync.Once
	service.hooks["/transactions"] = func(w http.ResponseWriter, r *http.Request) {
		switch service.clock.Now().Sub(began) {
		case 30 * time.Second:
			comes.Do(func() { service.give(card, refund) })
		case 40 * time.Second:
			isListed.Do(func() {
				service.give(card, -refund)
				service.spend(card, api.TransactionRefund, refund)
			})
		}
		service.front.ServeHTTP(w, r)
	}
	moved, err := mover(client).Move(t.Context(), card, by(-step), record)
	holds := service.balance(card)
	if told(moved, err) != "made before" || holds != start-step+refund || len(service.keys()) != 0 {
		t.Errorf("%+v, %v, and the card holds %s after %d requests", moved, err, holds, len(service.keys()))
	}
}

// A balance that moves with each reading explains nothing.
func TestMoveWhileTheBalanceMoves(t *testing.T) {
	t.Parallel()
	service, card, _ := newAccount(t, lostButApplied)
	service.hooks["/transactions"] = func(w http.ResponseWriter, r *http.Request) {
		if len(service.keys()) == 1 {
			service.give(card, usd.Cent)
		}
		respond(200, `{"data":[]}`)(w, r)
	}
	if _, err := mover(service.client(t)).Move(t.Context(), card, by(step), nil); kindOf(err) != "unknown" || len(service.keys()) != 1 {
		t.Errorf("%v after %d requests", err, len(service.keys()))
	}
}

// What the wallet holds says nothing about a movement.
func TestWalletBalanceOfAnyForm(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		`,"wallet_balance":9948.001234`: "9948.001234", `,"wallet_balance":"9948.5"`: "9948.50", `,"wallet_balance":9948.100000000000003`: "9948.100000000000003",
		`,"wallet_balance":null`: "<nil>", `,"wallet_balance":"n/a"`: "<nil>", `,"wallet_balance":{"usdt":1}`: "<nil>", ``: "<nil>",
	} {
		service, card, _ := newAccount(t, fault{response: `200 {"card_id":"card_1","card_balance":105` + form + `}`})
		moved, err := mover(service.client(t)).Move(t.Context(), card, by(step), nil)
		same(t, form, []any{told(moved, err), moved.CardBalance, moved.WalletBalance, service.clock.total()}, "[moved 105.00 "+want+" 0s]")
	}
}

// What cannot be read and goes the other way is named, and never stops money.
func TestOddTransactionsNeverStopMoney(t *testing.T) {
	t.Parallel()
	const ignored = "[moved, left over -5.00 true 115.00]"
	for name, test := range map[string]struct {
		odd  map[string]any
		ends string
	}{
		"a fee below a cent":      {odd: map[string]any{"fee": 0.003}, ends: "[moved false 115.00]"},
		"another currency":        {odd: map[string]any{"type": "settlement", "amount": "1.234", "currency": "KWD"}, ends: ignored},
		"no amount":               {odd: map[string]any{"amount": nil}, ends: ignored},
		"an amount of two fields": {odd: map[string]any{"amount": map[string]any{"value": 5}}, ends: ignored},
		"signed":                  {odd: map[string]any{"amount": -5, "fee": -1}, ends: "[moved false 115.00]"},
	} {
		service, card, record := newAccount(t)
		service.spend(card, api.TransactionAuthorization, step)
		for field, value := range test.odd {
			service.odd(field, value)
		}
		moved, err := mover(service.client(t)).Move(t.Context(), card, by(4*step), record)
		same(t, name, []any{told(moved, err), moved.Ignored != "", service.balance(card)}, test.ends)
		if service.clock.total() > 30*time.Second {
			t.Errorf("%s: waited %s", name, service.clock.total())
		}
	}
}

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
		"done, response lost":         {faults: []fault{lostButApplied}, posts: 2, ends: "moved", took: minutes(0)},
		"done, 500 of the service":    {faults: []fault{{response: "500"}}, posts: 2, ends: "moved", took: minutes(0)},
		"not done, 503":               {faults: []fault{undone("503")}, posts: 2, ends: "moved", took: minutes(0)},
		"done, lost, then too fast":   {faults: []fault{lostButApplied, undone("429")}, posts: 3, ends: "moved", took: minutes(0)},
		"done, lost, then in flight":  {faults: []fault{lostButApplied, undone("409")}, posts: 3, ends: "moved", took: minutes(0)},
		"lost, then refused":          {faults: []fault{lostForGood, refusal}, posts: 2, ends: "refused", took: minutes(0)},
		"lost, then refused by 409":   {faults: []fault{lostForGood, undone("409 insufficient_funds")}, posts: 2, ends: "refused", took: minutes(0)},
		"done, then refused by 409":   {faults: []fault{lostButApplied, undone("409 insufficient_funds")}, posts: 2, ends: "recovered", took: minutes(0)},
		"redirected for ever":         {faults: []fault{undone("307").forEver()}, posts: 5, ends: "unknown", took: minutes(0)},
		"interrupted, lost":           {faults: []fault{lostButApplied, undone("409")}, cut: true, posts: 1, ends: "recovered", took: minutes(0)},
		"never answered":              {faults: []fault{lostForGood.forEver()}, ends: "unknown", took: minutes(10)},
		"never answered in its time":  {faults: []fault{lostForGood.forEver()}, operation: 2 * time.Minute, ends: "unknown", took: minutes(2)},
		"made, and never answered":    {faults: []fault{{response: "502 <html>"}, undone("502 <html>").forEver()}, ends: "recovered", took: minutes(10)},
		"a conflict that lasts":       {faults: []fault{undone("409 card_state_conflict").forEver()}, once: true, posts: 1, ends: "unknown", took: minutes(0)},
		"another conflict that lasts": {faults: []fault{undone("409 account_locked").forEver()}, once: true, posts: 1, ends: "unknown", took: minutes(0)},
		"a success of nothing":        {faults: []fault{undone("200 {}").forEver()}, posts: 1, ends: "stops, not shown", took: minutes(0)},
		"a 500 that lasts":            {faults: []fault{undone("500").forEver()}, once: true, posts: 1, ends: "unknown", took: minutes(0)},
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
			moved, err := mover(client).Move(ctx, card, by(step), nil)
			if got := told(moved, err); got != test.ends {
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
				same(t, "a response was lost", []any{moved.How.LostResponse(), service.balance(card)}, "[true 105.00]")
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
				service.idempotency("ignored")
				if test.killed {
					service.give(card, step)
					service.spend(card, api.TransactionAuthorization, step)
				}
				client := service.client(t, func(c *api.Config) { c.KeysHonoured = !test.unknown })
				moved, err := mover(client).Move(t.Context(), card, by(step), record)
				if got := told(moved, err); got != test.ends || len(service.keys()) != len(test.faults)+1 {
					t.Fatalf("%s (%v) after %d requests, want %s", got, err, len(service.keys()), test.ends)
				}
				after, held := moved.Record, start+step
				stopped, isStopped := errors.AsType[*transfer.StoppedError](err)
				if isStopped || test.killed {
					held = start
				}
				if isStopped {
					if stopped.Refusal == nil || stopped.Refusal.Code != refusal[len("400 "):] {
						t.Errorf("%+v", stopped)
					}
				}
				got := []any{after.Seed != record.Seed, after.Pending == nil, after.Anchor.Balance, moved.CardBalance}
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
		service.spend(card, api.TransactionAuthorization, 40*usd.Dollar)
		service.give(card, 40*usd.Dollar)
		moved, err := mover(service.client(t, keysHonoured)).Move(t.Context(), card, by(40*usd.Dollar), record)
		after, isOpen := moved.Record, want == "unknown"
		same(t, response, []any{told(moved, err), after.Pending != nil, after.Seed == record.Seed}, fmt.Sprint([]any{want, isOpen, isOpen}))
		if isOpen && len(after.Anchor.Known) != len(record.Anchor.Known) {
			t.Errorf("%s: remembered %+v", response, after.Anchor)
		}
	}
}

// While a plan is made, its movements are previewed by the balance in the state and one reading.
// What that would warn of is decided by one or two readings of the card itself.
func TestPreview(t *testing.T) {
	t.Parallel()
	const made, send, stop = reconcile.Made, reconcile.Send, reconcile.Stop
	sent := fmt.Sprint(send, reconcile.Explained, send, reconcile.Explained)
	for name, test := range map[string]struct {
		meanwhile spends     // between the refresh and the plan
		come      usd.Amount // before the refresh, unexplained
		fails     bool       // the transactions cannot be read
		gone      bool       // nor can the card
		want      string     // verdicts and reasons
		reads     int
		waited    time.Duration
	}{
		"as it was":           {want: sent, reads: 1},
		"spent meanwhile":     {meanwhile: spend(api.TransactionAuthorization, 7*usd.Dollar), want: sent, reads: 3},
		"refunded meanwhile":  {meanwhile: spend(api.TransactionRefund, usd.Dollar), want: sent, reads: 3},
		"made":                {come: step, want: fmt.Sprint(made, reconcile.LooksMade, send, reconcile.Explained), reads: 5, waited: 5 * time.Second},
		"both made":           {come: 3 * step, want: fmt.Sprint(stop, reconcile.LooksEither), reads: 5, waited: 5 * time.Second},
		"unreadable":          {come: step, fails: true, want: fmt.Sprint(stop, reconcile.Unreadable), reads: 5, waited: 5 * time.Second},
		"made, and then gone": {come: step, gone: true, want: fmt.Sprint(made, reconcile.LooksMade, send, reconcile.Explained), reads: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, card, record := newAccount(t)
			service.give(card, test.come)
			balance := service.balance(card)
			if test.meanwhile != nil {
				test.meanwhile(service, card)
			}
			service.reads = nil
			if test.fails {
				service.hooks["/transactions"] = respond(403, `{"error":"forbidden"}`)
			}
			if test.gone {
				service.hooks["/cards/"+card] = respond(403, `{"error":"forbidden"}`)
			}
			change := reconcile.Change{
				AmountBefore: start, AmountAfter: start + step, ToppedUpAfter: 2 * step,
				RangeAfter: &reconcile.Range{Below: start + 2*step, To: start + 3*step},
			}
			decisions, err := mover(service.client(t)).Preview(t.Context(), card, *record, change, balance)
			var got []any
			for _, d := range decisions {
				got = append(got, d.Verdict, d.Reason)
			}
			text := fmt.Sprint(got...)
			if text != test.want || len(service.reads) != test.reads || service.clock.total() != test.waited || (err != nil) != test.gone {
				t.Errorf("previewed %s by %d calls in %s (%v), want %s", text, len(service.reads), service.clock.total(), err, test.want)
			}
		})
	}
}
