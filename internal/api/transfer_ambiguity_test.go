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

// Ordinary life, after which a movement that was never made has to be sent.
func TestOrdinaryLifeIsNotAMovement(t *testing.T) {
	t.Parallel()
	const dollar = usd.Dollar
	auth := func(amount usd.Amount) func(*fakeService, *fakeCard) {
		return func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionAuthorization, amount, 0) }
	}
	// what the sandbox does by default: the hold is in the balance already, the difference comes back
	settle := func(held, amount usd.Amount) func(*fakeService, *fakeCard) {
		return func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionSettlement, amount, 0)
			b.give(c, held-amount)
		}
	}
	release := func(amount usd.Amount) func(*fakeService, *fakeCard) {
		return func(b *fakeService, c *fakeCard) { b.give(c, amount) }
	}
	type events []func(*fakeService, *fakeCard)
	for name, test := range map[string]struct {
		before, since events
		delta         usd.Amount
	}{
		"an old hold settles, and as much is funded":           {before: events{auth(40 * dollar)}, since: events{settle(40*dollar, 40*dollar)}, delta: 40 * dollar},
		"two old holds settle, and as much is funded":          {before: events{auth(15 * dollar), auth(25 * dollar)}, since: events{settle(15*dollar, 15*dollar), settle(25*dollar, 25*dollar)}, delta: 40 * dollar},
		"a purchase, and as much is withdrawn":                 {since: events{auth(40 * dollar)}, delta: -40 * dollar},
		"two purchases, and as much is withdrawn":              {since: events{auth(15 * dollar), auth(25 * dollar)}, delta: -40 * dollar},
		"a purchase whose hold is released, as much is funded": {since: events{auth(40 * dollar), release(40 * dollar)}, delta: 40 * dollar},
		"a settlement of less, beside an older settled purchase": {
			before: events{auth(30 * dollar), auth(60 * dollar), settle(60*dollar, 60*dollar)},
			since:  events{settle(30*dollar, 25*dollar)}, delta: 30 * dollar,
		},
		"two open purchases at one merchant, the first settles for less": {
			since: events{auth(30 * dollar), auth(10 * dollar), settle(30*dollar, 25*dollar)}, delta: 20 * dollar,
		},
		"an old purchase settles, and a new one elsewhere is released": {
			since: events{auth(10 * dollar), release(10 * dollar), func(b *fakeService, c *fakeCard) {
				b.spend(c, api.TransactionSettlement, 7*dollar, 0)
				b.history[len(b.history)-1]["merchant"] = map[string]string{"name": "n", "mcc": "7311"}
			}},
			delta: 10 * dollar,
		},
		"an old hold of as much is released": {before: events{auth(40 * dollar)}, since: events{release(40 * dollar)}, delta: 40 * dollar},
	} {
		for _, honoured := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, honoured %t", name, honoured), func(t *testing.T) {
				t.Parallel()
				service := newFakeService()
				card := service.add(api.CardListItem{Balance: 200 * dollar})
				for _, happen := range test.before {
					happen(service, card)
				}
				client := service.client(t, func(c *api.Config) { c.KeysHonoured = honoured })
				first, err := client.FundCard(t.Context(), card.ID, step)
				if err != nil {
					t.Fatal(err)
				}
				later(t, service, time.Minute)
				for _, happen := range test.since {
					happen(service, card)
				}
				held := card.Balance
				movement := api.Movement{CardID: card.ID, Delta: test.delta, Key: "k", Anchor: throughJSON(t, first.Anchor)}
				transfer, err := client.Move(t.Context(), movement)
				if stopped, ok := errors.AsType[*api.UnexplainedMoneyError](err); ok && !honoured && card.Balance == held {
					// Some service's balance would show the movement, so it stops once.
					movement.Anchor = stopped.Anchor
					transfer, err = client.Move(t.Context(), movement)
				}
				if err != nil || transfer.MadeBefore || card.Balance != held+test.delta {
					t.Errorf("madeBefore %t, unexplained %s, %v, and the card holds %s instead of %s", transfer.MadeBefore, transfer.Unexplained, err, card.Balance, held+test.delta)
				}
			})
		}
	}
}

// A service whose balance falls at settlement.
func TestBalanceWithoutHolds(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	client := service.client(t, func(c *api.Config) { c.KeysHonoured = true })
	service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
	service.give(card, 40*usd.Dollar)
	transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Key: "k", Anchor: api.IssueAnchor(start)})
	if err != nil || transfer.MadeBefore || card.Balance != start+40*usd.Dollar {
		t.Errorf("%+v %v, holds %s", transfer, err, card.Balance)
	}
}

// A killed fund of 40, and then amount is raised by 50: the 40 have to be named.
func TestKilledFundIsNamedBesideASettledPurchase(t *testing.T) {
	t.Parallel()
	for _, honoured := range []bool{true, false} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: 200 * usd.Dollar})
		service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
		service.spend(card, api.TransactionSettlement, 40*usd.Dollar, 0)
		client := service.client(t, func(c *api.Config) { c.KeysHonoured = honoured })
		first, err := client.FundCard(t.Context(), card.ID, step)
		if err != nil {
			t.Fatal(err)
		}
		service.give(card, 40*usd.Dollar) // killed
		transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 50 * usd.Dollar, Key: "k", Anchor: throughJSON(t, first.Anchor)})
		if err != nil || transfer.Unexplained != 40*usd.Dollar {
			t.Errorf("honoured %t: unexplained %s, %v", honoured, transfer.Unexplained, err)
		}
	}
	// and of less: has to stop where the key is not known to be honoured
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: 200 * usd.Dollar})
	service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
	service.spend(card, api.TransactionSettlement, 40*usd.Dollar, 0)
	client := service.client(t)
	first, _ := client.FundCard(t.Context(), card.ID, step)
	service.give(card, 40*usd.Dollar)
	if transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 30 * usd.Dollar, Key: "k", Anchor: throughJSON(t, first.Anchor)}); err == nil {
		t.Errorf("sent after a killed 40: %+v, holds %s", transfer, card.Balance)
	}
}

// A purchase that is listed late, and settled, is not money that came.
func TestLateListing(t *testing.T) {
	t.Parallel()
	for _, honoured := range []bool{true, false} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: 200 * usd.Dollar})
		client := service.client(t, func(c *api.Config) { c.KeysHonoured = honoured })
		bought := service.clock.Now()
		service.give(card, -25*usd.Dollar) // the balance has it, the list not yet
		first, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: step, Anchor: api.IssueAnchor(200 * usd.Dollar)})
		if err != nil {
			t.Fatal(err)
		}
		_ = service.clock.Wait(t.Context(), time.Hour)
		service.spend(card, api.TransactionAuthorization, 25*usd.Dollar, 0)
		service.give(card, 25*usd.Dollar)
		service.mu.Lock()
		service.history[len(service.history)-1]["created_at"] = bought.UTC().Format(time.RFC3339)
		service.mu.Unlock()
		service.spend(card, api.TransactionSettlement, 25*usd.Dollar, 0)
		held := card.Balance
		transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 25 * usd.Dollar, Key: "k", Anchor: throughJSON(t, first.Anchor)})
		if stopped, ok := errors.AsType[*api.UnexplainedMoneyError](err); ok && !honoured {
			// The purchase may have been in the balance or not: it stops once.
			transfer, err = client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 25 * usd.Dollar, Key: "k", Anchor: stopped.Anchor})
		}
		if err != nil || transfer.MadeBefore || card.Balance != held+25*usd.Dollar {
			t.Errorf("honoured %t: madeBefore %t %v, holds %s of %s", honoured, transfer.MadeBefore, err, card.Balance, held)
		}
	}
}

// Honoured: a gateway's page after a lost response is no response of the service.
func TestGatewayRefusalAfterLostIssue(t *testing.T) {
	t.Parallel()
	service := newFakeService(fault{response: "drop"})
	posts := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if posts++; posts == 2 {
				respond(403, "<html>blocked</html>")(w, r)
				return
			}
		}
		service.ServeHTTP(w, r)
	})
	client := newClient(t, handler, on(service.clock), func(c *api.Config) { c.KeysHonoured = true })
	issued, err := client.IssueCard(t.Context(), api.IssueCardRequest{BinID: "bin_1", Amount: 100 * usd.Dollar, Label: "tf-x", GeneratedLabel: true})
	t.Logf("%+v, %v, %d cards", issued, err, len(service.balances()))
	if err != nil {
		t.Errorf("a card lives and is not known: %v (%T), cards %v", err, err, service.balances())
	}
}

// Where keys are honoured, what was lost is asked for again until it is answered.
func TestHonouredKeyIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faults    []fault
		operation time.Duration // the longest it may take; zero for the default
		posts     int           // zero for any number
		fails     string
		least     time.Duration
		most      time.Duration
	}{
		"done, response lost":        {faults: []fault{lostButApplied}, posts: 2, most: time.Minute},
		"done, 500 of the service":   {faults: []fault{{response: "500"}}, posts: 2, most: time.Minute},
		"not done, 503":              {faults: []fault{{commit: never, response: "503"}}, posts: 2, most: time.Minute},
		"done, lost, then too fast":  {faults: []fault{lostButApplied, {commit: never, response: "429"}}, posts: 3, most: time.Minute},
		"done, lost, then in flight": {faults: []fault{lostButApplied, {commit: never, response: "409"}}, posts: 3, most: time.Minute},
		"lost, then refused":         {faults: []fault{lostForGood, refusal}, posts: 2, fails: "refused", most: time.Minute},
		"redirected for ever":        {faults: slices.Repeat([]fault{{commit: never, response: "307"}}, 999), posts: 5, fails: "unknown", most: time.Minute},
		"never answered":             {faults: slices.Repeat([]fault{lostForGood}, 999), fails: "unknown", least: 10 * time.Minute, most: 11 * time.Minute},
		"never answered in its time": {faults: slices.Repeat([]fault{lostForGood}, 999), operation: 2 * time.Minute, fails: "unknown", least: 2 * time.Minute, most: 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService(test.faults...)
			card := service.add(api.CardListItem{Balance: start})
			client := service.client(t, func(c *api.Config) { c.KeysHonoured, c.OperationTimeout = true, test.operation })
			transfer, err := client.FundCard(t.Context(), card.ID, step)
			keys := service.keys()
			if test.posts > 0 && len(keys) != test.posts || len(slices.Compact(keys)) != 1 || service.clock.total() < test.least || service.clock.total() > test.most {
				t.Errorf("requests with keys %q in %s", keys, service.clock.total())
			}
			if kindOf(err) != test.fails {
				t.Fatalf("%v, want %q", err, test.fails)
			}
			if refused, ok := errors.AsType[*api.Error](err); test.fails == "refused" && (!ok || refused.IsFinal()) {
				t.Errorf("%v is final, though an attempt was lost", err)
			}
			if err == nil && (card.Balance != start+step || transfer.MadeBefore || transfer.Recovered || transfer.Delay == nil || transfer.Delay.Attempts != test.posts || !transfer.Delay.LostResponse) {
				t.Errorf("%+v, and the card holds %s", transfer, card.Balance)
			}
		})
	}
}

// Honoured: how long a lasting conflict or a lasting 500 holds up an apply.
func TestHonouredWaits(t *testing.T) {
	t.Parallel()
	for name, step2 := range map[string]http.HandlerFunc{
		"409 conflict":               respond(409, `{"error":"card_state_conflict","message":"no"}`),
		"409 key reused":             respond(409, `{"error":"idempotency_key_reused","message":"no"}`),
		"409 account locked":         respond(409, `{"error":"account_locked","message":"no"}`),
		"200 {}":                     respond(200, `{}`),
		"200 without wallet_balance": respond(200, `{"card_id":"card_1","card_balance":105}`),
		"500":                        respond(500, `{"error":"internal","message":"no"}`),
	} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		posts := 0
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				posts++
				step2(w, r)
				return
			}
			service.ServeHTTP(w, r)
		})
		_, err := newClient(t, handler, on(service.clock), func(c *api.Config) { c.KeysHonoured = true; c.MaxRetries = 0 }).FundCard(t.Context(), card.ID, step)
		if service.clock.total() > 5*time.Minute {
			t.Errorf("%s: %d requests, %s: %v", name, posts, service.clock.total(), err)
		}
	}
}

// A success whose balance is not what was to come is held against the card.
func TestResponseWithTheBalanceOfBefore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		moves, unreadable bool
		excess            usd.Amount
	}{
		"nothing was moved":                  {excess: -step},
		"it was moved":                       {moves: true},
		"nothing tells whether it was moved": {moves: true, unreadable: true, excess: -step},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					service.ServeHTTP(w, r)
					return
				}
				if test.moves {
					service.give(card, step)
				}
				if test.unreadable {
					service.mu.Lock()
					defer service.mu.Unlock()
					service.hooks["/cards/"+card.ID] = respond(500, "")
				}
				respond(200, `{"card_id":"card_1","card_balance":`+start.String()+`,"wallet_balance":1}`)(w, r)
			})
			transfer, err := newClient(t, handler, on(service.clock)).FundCard(t.Context(), card.ID, step)
			if err != nil || transfer.Excess != test.excess || (transfer.ExcessUnclear != "") != test.unreadable || !test.unreadable && transfer.CardBalance != card.Balance {
				t.Errorf("%+v, %v, and the card holds %s", transfer, err, card.Balance)
			}
		})
	}
}

// A service whose balance falls at settlement: a killed fund, and an old purchase of as much settles.
func TestKilledFundOnAServiceWithoutHolds(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	service.idempotency = "ignored"
	card := service.add(api.CardListItem{Balance: start})
	service.spend(card, api.TransactionAuthorization, 40*usd.Dollar, 0)
	service.give(card, 40*usd.Dollar)
	client := service.client(t)
	first, err := client.FundCard(t.Context(), card.ID, step)
	if err != nil {
		t.Fatal(err)
	}
	service.give(card, 40*usd.Dollar) // killed
	service.spend(card, api.TransactionSettlement, 40*usd.Dollar, 0)
	service.give(card, -40*usd.Dollar)
	held := card.Balance
	transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Key: "k", Anchor: throughJSON(t, first.Anchor)})
	if card.Balance != held {
		t.Errorf("doubled without a word: %+v, %v", transfer, err)
	}
}
