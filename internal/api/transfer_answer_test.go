package api_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// lag lets the service show a card as it is now for a while.
func (b *fakeService) lag(card *fakeCard, by time.Duration) {
	shown, until := *card, b.clock.Now().Add(by)
	b.hooks["/cards/"+card.ID] = func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.clock.Now().Before(until) {
			write(w, 200, shown)
			return
		}
		write(w, 200, *card)
	}
}

// A success is one answer: the card has to show it.
func TestMoveThatIsAnswered(t *testing.T) {
	t.Parallel()
	type service = *fakeService
	for name, test := range map[string]struct {
		during  func(service, *fakeCard) // when the request arrives
		moves   bool
		answers usd.Amount // the balance in the response; 0 for what is there
		waited  time.Duration
		stops   bool
		fails   bool // unknown
		excess  usd.Amount
		balance usd.Amount
	}{
		"as it should be":                  {moves: true, balance: start + step},
		"with the balance of before":       {moves: true, answers: start, balance: start + step},
		"shown late":                       {during: func(b service, c *fakeCard) { b.lag(c, 10*time.Second) }, moves: true, waited: 10 * time.Second, balance: start + step},
		"shown late, as the answer":        {during: func(b service, c *fakeCard) { b.lag(c, 10*time.Second) }, moves: true, answers: start, waited: 10 * time.Second, balance: start + step},
		"never shown":                      {answers: start + step, waited: 30 * time.Second, stops: true, balance: start},
		"not even in the answer":           {waited: 30 * time.Second, stops: true, balance: start},
		"spent meanwhile":                  {during: func(b service, c *fakeCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0) }, moves: true, balance: start + step - 7*usd.Dollar},
		"refunded meanwhile":               {during: func(b service, c *fakeCard) { b.spend(c, api.TransactionRefund, 7*usd.Dollar, 0) }, moves: true, balance: start + step + 7*usd.Dollar},
		"spent meanwhile, and unlisted":    {during: func(b service, c *fakeCard) { b.give(c, -7*usd.Dollar) }, moves: true, waited: 30 * time.Second, stops: true, balance: start - 2*usd.Dollar},
		"moved twice by the network":       {during: func(b service, c *fakeCard) { b.give(c, step) }, moves: true, waited: 30 * time.Second, excess: step, balance: start + 2*step},
		"the card cannot be read any more": {during: func(b service, c *fakeCard) { b.hooks["/cards/"+c.ID] = respond(403, `{"error":"forbidden"}`) }, moves: true, fails: true, balance: start + step},
	} {
		for _, recorded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, recorded %t", name, recorded), func(t *testing.T) {
				t.Parallel()
				service := newFakeService()
				card := service.add(api.CardListItem{Balance: start})
				record := service.remembered(t, card)
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost {
						service.ServeHTTP(w, r)
						return
					}
					later(t, service, 6*time.Second)
					if test.during != nil {
						test.during(service, card)
					}
					if test.moves {
						service.give(card, step)
					}
					service.mu.Lock()
					defer service.mu.Unlock()
					service.posts = append(service.posts, r.Header.Get("X-Idempotency-Key"))
					respond(200, fmt.Sprintf(`{"card_id":%q,"card_balance":%s,"wallet_balance":1}`, card.ID, cmp.Or(test.answers, card.Balance)))(w, r)
				})
				began := service.clock.total()
				movement := move(card.ID, step, record)
				if !recorded {
					movement.Record = nil
				}
				transfer, err := newClient(t, handler, on(service.clock)).Move(t.Context(), movement)
				if waited := service.clock.total() - began - 6*time.Second; waited != test.waited || len(service.keys()) != 1 || card.Balance != test.balance {
					t.Errorf("waited %s after %d requests, and the card holds %s", waited, len(service.keys()), card.Balance)
				}
				after := transfer.Record
				if recorded == (after.Anchor == nil) {
					t.Fatalf("remembered %+v", after)
				}
				stopped, isStopped := errors.AsType[*api.StoppedError](err)
				open, isOpen := errors.AsType[*api.UndecidedError](err)
				switch {
				case test.stops:
					if !isStopped || stopped.Reason != reconcile.NotShown || stopped.Balance != card.Balance || stopped.Answered == nil {
						t.Errorf("%+v, %v", transfer, err)
					}
					if recorded && (after.Anchor.Balance != start || after.Anchor.Last != 0 || after.Token == record.Token) {
						t.Errorf("remembered %+v", after)
					}
				case test.fails:
					if !isOpen || open.Key != service.keys()[0] || open.Attempts != 1 {
						t.Errorf("%+v, %v", open, err)
					}
					if recorded && (after.Pending == nil || after.Token != record.Token) {
						t.Errorf("remembered %+v", after)
					}
				case err != nil || transfer.Excess != test.excess || transfer.CardBalance != card.Balance || transfer.MadeBefore || transfer.Recovered:
					t.Errorf("%+v, %v", transfer, err)
				case recorded && (after.Token == record.Token || test.excess == 0 && after.Anchor.Balance != start+step || test.excess != 0 && after.Anchor.Balance != card.Balance):
					t.Errorf("remembered %+v", after)
				}
			})
		}
	}
}

// A run that was killed made it, a person took it back, and the service repeats its
// answer of then.
func TestMoveThatIsReplayed(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	client := service.client(t, keysHonoured)
	if killed, err := client.Move(t.Context(), move(card.ID, step, record)); err != nil {
		t.Fatal(killed, err)
	}
	later(t, service, time.Minute)
	service.give(card, -step)
	replayed, err := client.Move(t.Context(), move(card.ID, step, record))
	if stopped, ok := errors.AsType[*api.StoppedError](err); !ok || stopped.Reason != reconcile.NotShown || stopped.Balance != start || *stopped.Answered != start+step {
		t.Fatal(replayed, err)
	}
	moved, err := client.Move(t.Context(), move(card.ID, step, kept(card.ID, replayed.Record)))
	if err != nil || card.Balance != start+step {
		t.Errorf("%+v, %v, and the card holds %s", moved, err, card.Balance)
	}
}

// What the service said that it made is shown after the stop: no later key made it.
func TestMoveThatIsShownAfterTheStop(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	hidden := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			respond(200, fmt.Sprintf(`{"card_id":%q,"card_balance":%s,"wallet_balance":1}`, card.ID, start+step))(w, r)
			return
		}
		service.ServeHTTP(w, r)
	}), on(service.clock), keysHonoured)
	stopped, err := hidden.Move(t.Context(), move(card.ID, step, record))
	if _, ok := errors.AsType[*api.StoppedError](err); !ok {
		t.Fatal(stopped, err)
	}
	service.give(card, step)
	client := service.client(t, keysHonoured)
	after, err := client.Move(t.Context(), move(card.ID, step, kept(card.ID, stopped.Record)))
	if err != nil || !after.MadeBefore || card.Balance != start+step || len(service.keys()) != 0 {
		t.Fatalf("%+v, %v, and the card holds %s", after, err, card.Balance)
	}
	if _, err := client.Move(t.Context(), move(card.ID, step, kept(card.ID, after.Record))); err != nil || card.Balance != start+2*step {
		t.Errorf("%v, and the card holds %s", err, card.Balance)
	}
}

// What comes to a card near the end of the wait is listed before it is decided.
func TestMoveWaitsForWhatHasJustCome(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
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
	if err != nil || !moved.MadeBefore || card.Balance != start-step+refund || len(service.keys()) != 0 {
		t.Errorf("%+v, %v, and the card holds %s after %d requests", moved, err, card.Balance, len(service.keys()))
	}
}

// What was made though the answer refused it, as a gateway's may, is not made again.
func TestMoveThatIsRefusedAndMade(t *testing.T) {
	t.Parallel()
	service := newFakeService(fault{response: "403", code: "forbidden"})
	card := service.add(api.CardListItem{Balance: start})
	client := service.client(t, keysHonoured)
	refused, err := client.Move(t.Context(), move(card.ID, step, service.remembered(t, card)))
	if kindOf(err) != "refused" || card.Balance != start+step {
		t.Fatal(refused, err)
	}
	after, err := client.Move(t.Context(), move(card.ID, step, kept(card.ID, refused.Record)))
	if err != nil || !after.MadeBefore || card.Balance != start+step || len(service.keys()) != 1 {
		t.Errorf("%+v, %v, and the card holds %s", after, err, card.Balance)
	}
	poor := newFakeService(fault{response: "400", code: "insufficient_funds"}) // as no gateway says
	card = poor.add(api.CardListItem{Balance: start})
	if refused, err = poor.client(t, keysHonoured).Move(t.Context(), move(card.ID, step, poor.remembered(t, card))); kindOf(err) != "refused" || !refused.Record.HasKey {
		t.Errorf("%+v, %v", refused, err)
	}
}
