package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// give puts money on a card as another hand would, or takes it.
func (b *fakeService) give(card *fakeCard, amount usd.Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	card.Balance += amount
}

// What happened on a card since its anchor decides whether a movement is sent.
func TestMoveInspectsTheCardFirst(t *testing.T) {
	t.Parallel()
	const dollar = usd.Dollar
	upTo := func(a usd.Amount) *usd.Amount { return &a }
	authorize := func(amount usd.Amount) func(*fakeService, *fakeCard) {
		return func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionAuthorization, amount, 0) }
	}
	give := func(amount usd.Amount) func(*fakeService, *fakeCard) {
		return func(b *fakeService, c *fakeCard) { b.give(c, amount) }
	}
	settle := func(amount usd.Amount) func(*fakeService, *fakeCard) {
		return func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionSettlement, amount, 0) }
	}
	type events []func(*fakeService, *fakeCard)
	for name, test := range map[string]struct {
		before, since events
		delta         usd.Amount
		upTo          *usd.Amount
		sent          int
		madeBefore    bool
		unexplained   usd.Amount
		stops         bool
		tie           bool // both with and without the movement; its key decides where it is honoured
	}{
		"nothing happened":                                 {delta: 40 * dollar, sent: 1},
		"a purchase":                                       {since: events{authorize(7 * dollar)}, delta: 40 * dollar, sent: 1},
		"a killed fund":                                    {since: events{give(40 * dollar)}, delta: 40 * dollar, madeBefore: true},
		"a killed withdrawal":                              {since: events{give(-60 * dollar)}, delta: -60 * dollar, madeBefore: true},
		"a killed fund and a purchase":                     {since: events{give(40 * dollar), authorize(7 * dollar)}, delta: 40 * dollar, madeBefore: true},
		"a killed fund, a hold not taken":                  {since: events{give(40 * dollar), authorize(7 * dollar), give(7 * dollar)}, delta: 40 * dollar, madeBefore: true},
		"a killed fund, a purchase of as much":             {since: events{give(40 * dollar), authorize(40 * dollar)}, delta: 40 * dollar, stops: true, unexplained: 40 * dollar, sent: 1, tie: true},
		"a killed fund, a hold released":                   {before: events{authorize(15 * dollar)}, since: events{give(40 * dollar), give(15 * dollar)}, delta: 40 * dollar, madeBefore: true},
		"a hold released":                                  {before: events{authorize(15 * dollar)}, since: events{give(15 * dollar)}, delta: 40 * dollar, sent: 1},
		"nothing, and an old hold of as much":              {before: events{authorize(40 * dollar)}, delta: -40 * dollar, sent: 1},
		"a purchase of as much as is withdrawn":            {since: events{authorize(40 * dollar)}, delta: -40 * dollar, sent: 1},
		"a killed withdrawal, a purchase of as much":       {since: events{give(-40 * dollar), authorize(40 * dollar)}, delta: -40 * dollar, madeBefore: true},
		"as much as a hold that never lowered the balance": {since: events{authorize(9 * dollar), give(9 * dollar), give(9 * dollar)}, delta: -30 * dollar, sent: 1, unexplained: 9 * dollar},
		"a refund": {since: events{func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionRefund, 40*dollar, 0) }}, delta: 40 * dollar, sent: 1},
		"a settlement of less than was held": {
			before: events{authorize(20 * dollar)},
			since: events{func(b *fakeService, c *fakeCard) {
				b.spend(c, api.TransactionSettlement, 15*dollar, 0)
				b.give(c, 5*dollar)
			}},
			delta: 40 * dollar, sent: 1,
		},
		"a fee taken from the card": {
			since: events{func(b *fakeService, c *fakeCard) {
				b.spend(c, api.TransactionAuthorization, 7*dollar, 20)
				b.give(c, -20)
			}},
			delta: 40 * dollar, sent: 1,
		},
		"a killed fund, a fee of as much": {
			since: events{give(40 * dollar), func(b *fakeService, c *fakeCard) {
				b.spend(c, api.TransactionDecline, 1*dollar, 40*dollar)
				b.give(c, -40*dollar)
			}},
			delta: 40 * dollar, stops: true, unexplained: 40 * dollar, sent: 1, tie: true,
		},
		"less than is funded":                        {since: events{give(25 * dollar)}, delta: 40 * dollar, sent: 1, unexplained: 25 * dollar},
		"more than is funded":                        {since: events{give(50 * dollar)}, delta: 40 * dollar, stops: true, unexplained: 50 * dollar},
		"more than is funded, and a purchase":        {since: events{authorize(20 * dollar), give(50 * dollar)}, delta: 40 * dollar, stops: true, unexplained: 50 * dollar},
		"an old hold settled, a purchase not listed": {before: events{authorize(60 * dollar)}, since: events{settle(60 * dollar), give(-9 * dollar)}, delta: 40 * dollar, sent: 1, unexplained: -9 * dollar},
		"an old hold settled in two parts":           {before: events{authorize(100 * dollar)}, since: events{settle(60 * dollar), settle(40 * dollar)}, delta: 40 * dollar, sent: 1, unexplained: -40 * dollar},
		"a hold that lowers no balance, an odd fee":  {since: events{authorize(60 * dollar), give(60 * dollar), give(-50)}, delta: 40 * dollar, sent: 1, unexplained: -50},
		"more than is withdrawn":                     {since: events{give(-50 * dollar)}, delta: -40 * dollar, stops: true, unexplained: -50 * dollar},
		"the other way":                              {since: events{give(-30 * dollar)}, delta: 30 * dollar, sent: 1, unexplained: -30 * dollar},
		"a top-up that fits twice":                   {since: events{give(-70 * dollar), give(40 * dollar)}, delta: 40 * dollar, upTo: upTo(110 * dollar), sent: 1, unexplained: -30 * dollar},
		"a top-up that came already":                 {since: events{give(40 * dollar)}, delta: 40 * dollar, upTo: upTo(140 * dollar), madeBefore: true},
		"as much by another hand, up to the top":     {since: events{give(40 * dollar)}, delta: 40 * dollar, upTo: upTo(180 * dollar), sent: 1, unexplained: 40 * dollar},
		"a foreign purchase": {since: events{func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionAuthorization, 9*dollar, 0)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.history[len(b.history)-1]["currency"] = "EUR"
		}}, delta: 40 * dollar, sent: 1, unexplained: -9 * dollar},
	} {
		for _, honoured := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, honoured %t", name, honoured), func(t *testing.T) {
				t.Parallel()
				service := newFakeService()
				card := service.add(api.CardListItem{Balance: start})
				for _, happen := range test.before {
					happen(service, card)
				}
				service.give(card, start-card.Balance)
				client := service.client(t, func(c *api.Config) { c.KeysHonoured = honoured })
				// A movement there and back leaves the anchor.
				first, err := client.FundCard(t.Context(), card.ID, step)
				if err != nil {
					t.Fatal(err)
				}
				back, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: -step, Anchor: throughJSON(t, first.Anchor)})
				if err != nil || back.Unexplained != 0 {
					t.Fatal(back, err)
				}
				later(t, service, time.Minute)
				for _, happen := range test.since {
					happen(service, card)
				}
				held := card.Balance
				transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: test.delta, Anchor: throughJSON(t, back.Anchor), UpTo: test.upTo})
				stopped, isStopped := errors.AsType[*api.UnexplainedMoneyError](err)
				if test.stops && !honoured {
					if !isStopped || stopped.Found != test.unexplained || stopped.Anchor.Balance != held || len(service.keys()) != 2 {
						t.Fatalf("%+v, %v after %d requests", stopped, err, len(service.keys())-2)
					}
					// Once: with the new anchor the money moves.
					if _, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: test.delta, Anchor: stopped.Anchor}); err != nil || card.Balance != held+test.delta {
						t.Errorf("%v, and the card holds %s", err, card.Balance)
					}
					return
				}
				want := test.delta
				if test.madeBefore {
					want = 0
				}
				if err != nil || card.Balance != held+want || transfer.MadeBefore != test.madeBefore || !test.tie && transfer.Unexplained != test.unexplained || transfer.Excess != 0 {
					t.Errorf("%+v, %v, and the card holds %s of %s", transfer, err, card.Balance, held)
				}
				if transfer.Anchor == nil || transfer.Anchor.Balance != card.Balance {
					t.Errorf("the anchor is %+v, and the card holds %s", transfer.Anchor, card.Balance)
				}
			})
		}
	}
}

func later(t *testing.T, service *fakeService, by time.Duration) {
	t.Helper()
	if err := service.clock.Wait(t.Context(), by); err != nil {
		t.Fatal(err)
	}
}

func throughJSON(t *testing.T, anchor *api.Anchor) *api.Anchor {
	t.Helper()
	data, err := json.Marshal(anchor)
	var read api.Anchor
	if err := errors.Join(err, json.Unmarshal(data, &read)); err != nil {
		t.Fatal(err)
	}
	return &read
}

// Transactions that cannot be read count as nothing, and never stop money.
func TestMoveWithoutTransactions(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	service.hooks["/transactions"] = respond(400, `{"error":"invalid_request","message":"no"}`)
	card := service.add(api.CardListItem{Balance: start})
	client := service.client(t)
	for balance, made := range map[usd.Amount]bool{start: false, start + 40*usd.Dollar: true, start - 9*usd.Dollar: false} {
		service.give(card, balance-card.Balance)
		transfer, err := client.Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Anchor: api.IssueAnchor(start)})
		if err != nil || transfer.MadeBefore != made {
			t.Errorf("with %s: %+v, %v", balance, transfer, err)
		}
	}
	service.faults = []fault{lostButApplied}
	if transfer, err := client.FundCard(t.Context(), card.ID, step); kindOf(err) != "unknown" {
		t.Errorf("decided by the balance alone: %+v, %v", transfer, err)
	}
}

// An anchor that was taken by reading the balance alone tells transactions by
// their time.
func TestMoveWithAnchorOfATime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		since   usd.Amount
		made    bool
		counted bool // what came within seconds of the anchor is in its balance
	}{
		"as it was":                      {},
		"as it was, counted already":     {counted: true},
		"a killed fund":                  {40 * usd.Dollar, true, false},
		"a killed fund, counted already": {40 * usd.Dollar, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			service.spend(card, api.TransactionAuthorization, 3*usd.Dollar, 0)
			service.spend(card, api.TransactionAuthorization, 13*usd.Dollar, 0)
			wait := func(d time.Duration) { later(t, service, d) }
			wait(time.Minute)
			anchor := api.NewAnchor(card.Balance, service.clock.Now())
			wait(time.Second)
			service.spend(card, api.TransactionAuthorization, 5*usd.Dollar, 0)
			service.spend(card, api.TransactionAuthorization, 6*usd.Dollar, 0)
			if test.counted {
				anchor.Balance = card.Balance
			}
			wait(time.Minute)
			service.spend(card, api.TransactionAuthorization, 7*usd.Dollar, 0)
			service.give(card, test.since)
			transfer, err := service.client(t).Move(t.Context(), api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Anchor: anchor})
			if err != nil || transfer.MadeBefore != test.made || transfer.Unexplained != 0 {
				t.Errorf("%+v, %v", transfer, err)
			}
		})
	}
}

// A request of an earlier run under the same key is counted once, whenever it
// arrives, and a response that repeats an earlier one is told from a movement.
func TestMoveUnderTheKeyOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	for name, spend := range map[string]func(*fakeService, *fakeCard){
		"a purchase that is not listed yet": func(b *fakeService, c *fakeCard) { b.give(c, -33*usd.Dollar) },
		"a purchase of as much":             func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionAuthorization, 40*usd.Dollar, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			client := service.client(t, func(c *api.Config) { c.KeysHonoured = true })
			movement := api.Movement{CardID: card.ID, Delta: 40 * usd.Dollar, Key: "derived", Anchor: api.IssueAnchor(start)}
			if _, err := client.Move(t.Context(), movement); err != nil {
				t.Fatal(err)
			}
			spend(service, card)
			held := card.Balance
			again, err := client.Move(t.Context(), movement)
			if err != nil || !again.MadeBefore || card.Balance != held || again.CardBalance != held || again.Anchor.Balance != held {
				t.Errorf("%+v, %v, and the card holds %s of %s", again, err, card.Balance, held)
			}
		})
	}
}

// A network may repeat a request while the key is ignored.
func TestMoveThatWasMadeTwiceIsNamed(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	service.idempotency = "ignored"
	card := service.add(api.CardListItem{Balance: start})
	service.faults = []fault{{before: func() { service.give(card, step) }}}
	transfer, err := service.client(t).FundCard(t.Context(), card.ID, step)
	if err != nil || transfer.Excess != step || transfer.ExcessUnclear != "" || transfer.CardBalance != start+2*step {
		t.Errorf("%+v, %v", transfer, err)
	}
}

// A service's own refusal is told at once, whatever its status.
func TestConflictWithABusinessCode(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusConflict, http.StatusPaymentRequired} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				respond(status, `{"error":"insufficient_funds","message":"no"}`)(w, r)
				return
			}
			service.ServeHTTP(w, r)
		})
		_, err := newClient(t, handler, on(service.clock)).FundCard(t.Context(), card.ID, step)
		refused, ok := errors.AsType[*api.Error](err)
		if _, undecided := errors.AsType[*api.UndecidedError](err); !ok || undecided || refused.Attempts != 1 || service.clock.total() != 0 {
			t.Errorf("%d: %v after %s", status, err, service.clock.total())
		}
	}
}

// A success that does not say what a success says, and a conflict with nothing
// but itself, which may be the request's own first attempt, leave it open.
func TestResponsesThatLeaveAMovementOpen(t *testing.T) {
	t.Parallel()
	for _, response := range []struct {
		status int
		body   string
	}{
		{200, "<html>log in</html>"},
		{200, `{}`},
		{200, `{"card_id":"card_1"}`},
		{200, `{"card_id":"card_2","card_balance":105.00}`},
		{409, ""},
		{409, "<html>"},
		{409, `{"error":"Conflict"}`},
		{409, `{"error":"idempotency_key_in_use"}`},
		{409, `{"error":"still_processing"}`},
		{409, `{"error":"concurrent_request"}`},
	} {
		service := newFakeService()
		card := service.add(api.CardListItem{Balance: start})
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				service.give(card, step)
				respond(response.status, response.body)(w, r)
				return
			}
			service.ServeHTTP(w, r)
		})
		transfer, err := newClient(t, handler, on(service.clock)).FundCard(t.Context(), card.ID, step)
		if err != nil || !transfer.Recovered || card.Balance != start+step {
			t.Errorf("%d %q: %+v, %v, and the card holds %s", response.status, response.body, transfer, err, card.Balance)
		}
	}
}

// Calls in a context that has ended send nothing.
func TestCancelledContextSendsNothing(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	service.add(api.CardListItem{Balance: start})
	client := service.client(t)
	ctx := cancelled(t)
	_, freeze := client.FreezeCard(ctx, "card_1")
	_, terminate := client.TerminateCard(ctx, "card_1")
	_, register := client.RegisterWebhook(ctx, api.WebhookRequest{URL: "https://hooks.example.com"})
	_, fund := client.FundCard(ctx, "card_1", step)
	if freeze == nil || terminate == nil || register == nil || fund == nil || len(service.keys()) != 0 {
		t.Errorf("%v, %v, %v, %v after %d requests", freeze, terminate, register, fund, len(service.keys()))
	}
}
