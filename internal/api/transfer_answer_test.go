package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A success is one answer: the card has to show it.
func TestMoveThatIsAnswered(t *testing.T) {
	t.Parallel()
	answers := func(commit time.Duration, balance usd.Amount) fault {
		return fault{commit: commit, response: fmt.Sprintf(`200 {"card_id":"card_1","card_balance":%s,"wallet_balance":1}`, balance)}
	}
	late := func(b *fakeService, c *fakeCard) { b.lag(c, 10*time.Second) }
	unreadable := func(b *fakeService, c *fakeCard) {
		b.hooks["/cards/"+c.ID] = respond(403, `{"error":"forbidden"}`)
	}
	emptied := func(spent usd.Amount) spends { // but for what the withdrawal takes
		return func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionAuthorization, spent, 0)
			b.give(c, step-c.Balance)
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
		"all is taken":                     {during: func(b *fakeService, c *fakeCard) { b.give(c, step-c.Balance) }, taken: true, ends: "moved, excess -95.00", waited: 30 * time.Second},
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
				movement := move(card.ID, step, record)
				if test.taken {
					movement.Delta = -step
				}
				if !recorded {
					movement.Record = nil
				}
				transfer, err := service.client(t).Move(t.Context(), movement)
				if got := told(transfer, err); got != test.ends || len(service.keys()) != 1 || service.clock.total() != test.waited {
					t.Errorf("%s after %d requests and %s; want %s after one and %s", got, len(service.keys()), service.clock.total(), test.ends, test.waited)
				}
				if card.Balance != test.balance || err == nil && transfer.CardBalance != card.Balance {
					t.Errorf("the card holds %s, want %s; %+v", card.Balance, test.balance, transfer)
				}
				after := transfer.Record
				if recorded == (after.Anchor == nil) {
					t.Fatalf("remembered %+v", after)
				}
				stopped, isStopped := errors.AsType[*api.StoppedError](err)
				open, isOpen := errors.AsType[*transport.UndecidedError](err)
				switch {
				case isStopped && (stopped.Balance != card.Balance || stopped.Answered == nil), isOpen && (open.Key != service.keys()[0] || open.Attempts != 1):
					t.Errorf("%+v", err)
				case !recorded:
				case (after.Seed == record.Seed) != (err != nil), (after.Pending != nil) != (err != nil):
					t.Errorf("remembered %+v of %+v", after, record)
				case err != nil && (!after.Pending.Answered || after.Anchor.Balance != start || after.Anchor.Last != 0):
					t.Errorf("remembered %+v", after)
				case err == nil && transfer.Excess == 0 && after.Anchor.Balance != start+step, transfer.Excess != 0 && after.Anchor.Balance != card.Balance:
					t.Errorf("remembered %+v", after)
				}
			})
		}
	}
}

// What was made though the answer hid it, as a gateway's refusal may, or the card, is
// not made again, also while the card does not show it; the next one is.
func TestMoveThatIsSeenLater(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer fault
		ends   string
	}{
		"refused":   {fault{response: "403 forbidden"}, "refused"},
		"not shown": {undone(`200 {"card_id":"card_1","card_balance":105.00,"wallet_balance":1}`), "stops, not shown"},
	} {
		service, card, record := newAccount(t, test.answer)
		client := service.client(t, keysHonoured)
		first, err := client.Move(t.Context(), move(card.ID, step, record))
		if got := told(first, err); got != test.ends {
			t.Fatal(name, got, err)
		}
		if first.Record.Pending != nil {
			for range 2 {
				still, err := client.Move(t.Context(), move(card.ID, step, kept(card.ID, first.Record)))
				if kindOf(err) != "unknown" || still.Record.Text(card.ID) != first.Record.Text(card.ID) {
					t.Fatalf("%s: not shown yet: %+v, %v", name, still, err)
				}
			}
			service.give(card, step)
		}
		seen, err := client.Move(t.Context(), move(card.ID, step, kept(card.ID, first.Record)))
		if told(seen, err) != "made before" || card.Balance != start+step || len(service.keys()) != 1 {
			t.Fatalf("%s: %+v, %v, and the card holds %s", name, seen, err, card.Balance)
		}
		next, err := client.Move(t.Context(), move(card.ID, step, kept(card.ID, seen.Record)))
		if told(next, err) != "moved" || card.Balance != start+2*step {
			t.Errorf("%s: %+v, %v, and the card holds %s", name, next, err, card.Balance)
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
				service.spend(card, api.TransactionRefund, refund, 0)
			})
		}
		service.mu.Lock()
		defer service.mu.Unlock()
		service.get(w, r, "/transactions")
	}
	moved, err := client.Move(t.Context(), move(card.ID, -step, record))
	if told(moved, err) != "made before" || card.Balance != start-step+refund || len(service.keys()) != 0 {
		t.Errorf("%+v, %v, and the card holds %s after %d requests", moved, err, card.Balance, len(service.keys()))
	}
}

// A balance that moves with each reading explains nothing.
func TestMoveWhileTheBalanceMoves(t *testing.T) {
	t.Parallel()
	service, card, _ := newAccount(t, lostButApplied)
	service.hooks["/transactions"] = func(w http.ResponseWriter, _ *http.Request) {
		if len(service.keys()) == 1 {
			service.give(card, usd.Cent)
		}
		write(w, 200, map[string]any{"data": []any{}})
	}
	if _, err := service.client(t).Move(t.Context(), move(card.ID, step, nil)); kindOf(err) != "unknown" || len(service.keys()) != 1 {
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
		transfer, err := service.client(t).Move(t.Context(), move(card.ID, step, nil))
		same(t, form, []any{told(transfer, err), transfer.CardBalance, transfer.WalletBalance, service.clock.total()}, "[moved 105.00 "+want+" 0s]")
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
		service.spend(card, api.TransactionAuthorization, step, 0)
		for field, value := range test.odd {
			service.odd(field, value)
		}
		transfer, err := service.client(t).Move(t.Context(), move(card.ID, 4*step, record))
		same(t, name, []any{told(transfer, err), transfer.Ignored != "", card.Balance}, test.ends)
		if service.clock.total() > 30*time.Second {
			t.Errorf("%s: waited %s", name, service.clock.total())
		}
	}
}
