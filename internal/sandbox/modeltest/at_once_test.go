package modeltest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// TestClientsAtOnce lets clients move money on one card at the same time, and order
// and terminate others. However their calls fall in between each other, at the end
// every cent, entry and event is there that a response has told of.
func TestClientsAtOnce(t *testing.T) {
	t.Parallel()
	receiver := sandboxtest.NewReceiver(t, nil)
	s := sandboxtest.Start(t, receiver.Trusted, func(o *sandboxtest.Options) {
		o.Wrap = func(h http.Handler) http.Handler { return contract.Handler(t, h, contract.TolerateBadRequests()) }
	})
	s.Unlimited()
	s.Post("/webhooks", object{"url": receiver.URL, "events": list{"*"}}).OK(http.StatusCreated)
	card := s.Issue("50")
	var mu sync.Mutex
	calls, events := 2, 1
	ledger := map[string]cents{"wallet": 10_000_00 - 51_00, "fees": 1_00, card: 50_00, "holds": 0, "merchants": 0, "loss": 0, "deposits": -10_000_00}
	shown := map[string]int{"/cards": 1, "/transactions": 0}
	add := func(list string, told int, moved map[string]cents) {
		mu.Lock()
		defer mu.Unlock()
		shown[list]++
		events += told
		for name, amount := range moved {
			ledger[name] += amount
		}
	}
	var group sync.WaitGroup
	for client := range 8 {
		rng := rand.New(rand.NewPCG(*seed, uint64(client)))
		group.Go(func() {
			for i := range 20 {
				amount := cents(1 + rng.Int64N(9_00))
				body, key := object{"amount": amount}, fmt.Sprintf("%d-%d", client, i)
				sent := 2
				switch rng.IntN(5) {
				case 0, 1:
					made := s.Post("/cards/"+card+"/fund", body, sandboxtest.IdempotencyKey, key).OK(http.StatusOK)
					if again := s.Post("/cards/"+card+"/fund", body, sandboxtest.IdempotencyKey, key); again.Raw != made.Raw || !again.Replayed() {
						t.Errorf("repeated, got %s, want %s", again.Raw, made.Raw)
					}
					add("", 1, map[string]cents{"wallet": -amount, card: amount})
				case 2:
					sent = 1
					if s.Post("/cards/"+card+"/withdraw", body).Status == http.StatusOK {
						add("", 0, map[string]cents{"wallet": amount, card: -amount})
					}
				case 3:
					own := s.Issue("50")
					s.Terminate(own)
					add("/cards", 2, map[string]cents{"wallet": -1_00, "fees": 1_00, own: 0})
				case 4:
					sent = 0
					made := s.Authorize(card, amount.String(), "7311")
					if add("/transactions", 1, nil); made.Body["decline_reason"] == nil {
						settled := 1 + cents(rng.Int64N(int64(amount)))
						s.Settle(made.Transaction(), settled.String())
						add("/transactions", 1, map[string]cents{card: -settled, "merchants": settled})
					}
				}
				mu.Lock()
				calls += sent
				mu.Unlock()
			}
		})
	}
	group.Wait()
	got, want := object{}, object{}
	for _, line := range s.Get("/_sandbox/ledger").OK(http.StatusOK).Body["accounts"].(list) {
		o, _ := line.(object)
		got[o["name"].(string)] = o["balance"]
	}
	for name, balance := range ledger {
		want[name] = balance
	}
	if d := difference("ledger", want, got, "decimals"); d != "" {
		t.Error(d)
	}
	for path, n := range map[string]int{"/_sandbox/requests": calls, "/_sandbox/deliveries": events} {
		if total := s.Get(path).Text("total"); total != fmt.Sprint(n) {
			t.Errorf("%s shows %s, want %d", path, total, n)
		}
	}
	for path, n := range map[string]int{"/cards": shown["/cards"], "/transactions": shown["/transactions"]} {
		seen := map[any]bool{}
		for number := 1; number <= n/100+1; number++ {
			for _, o := range s.Get(fmt.Sprintf("%s?per_page=100&page=%d", path, number)).Data() {
				seen[o["id"]] = true
			}
		}
		if len(seen) != n {
			t.Errorf("%s shows %d, want %d", path, len(seen), n)
		}
	}
	s.Balanced()
}
