package api_test

import (
	"context"
	"encoding/json"
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
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	start = 100 * usd.Dollar
	step  = 5 * usd.Dollar
)

func transferWith(client *api.Client, kind api.TransferKind) func(*testing.T, string, usd.Amount) (api.Transfer, error) {
	return func(t *testing.T, id string, amount usd.Amount) (api.Transfer, error) {
		t.Helper()
		if kind == api.TransferFund {
			return client.FundCard(t.Context(), id, amount)
		}
		return client.WithdrawCard(t.Context(), id, amount)
	}
}

func TestTransferAcrossFailures(t *testing.T) {
	t.Parallel()
	type spends func(*fakeService, *fakeCard)
	authorize := func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0) }
	holdAside := func(b *fakeService, c *fakeCard) {
		b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0)
		b.give(c, 7*usd.Dollar)
	}
	tests := map[string]struct {
		faults      []fault
		idempotency string
		meanwhile   spends // while the first try is on its way
		spent       usd.Amount
		moved       bool
		posts       int
		recovered   bool
		fails       string // "refused" or "undecided"
		outcome     api.TransferState
	}{
		"it works":                    {faults: []fault{works}, moved: true, posts: 1},
		"done, response lost":         {faults: []fault{lostButApplied}, moved: true, posts: 1, recovered: true},
		"done, response cut off":      {faults: []fault{{response: "truncate"}}, moved: true, posts: 1, recovered: true},
		"done, connection reset":      {faults: []fault{{response: "reset"}}, moved: true, posts: 1, recovered: true},
		"done, answered 502":          {faults: []fault{{response: "502"}}, moved: true, posts: 1, recovered: true},
		"done a little later":         {faults: []fault{beforeTheWait}, moved: true, posts: 1, recovered: true},
		"not done, response lost":     {faults: []fault{lostForGood, works}, moved: true, posts: 2},
		"not done, twice":             {faults: []fault{lostForGood, {commit: never, response: "503"}, works}, moved: true, posts: 3},
		"not done, then done, lost":   {faults: []fault{lostForGood, lostButApplied}, moved: true, posts: 2, recovered: true},
		"refused":                     {faults: []fault{refusal}, posts: 1, fails: "refused"},
		"lost, then refused":          {faults: []fault{lostForGood, refusal}, posts: 2, fails: "refused"},
		"conflict that passes":        {faults: []fault{{commit: never, response: "409"}, works}, moved: true, posts: 2},
		"conflict that stays":         {faults: []fault{{commit: never, response: "409"}, {commit: never, response: "409"}}, posts: 2, fails: "refused"},
		"after the wait, honoured":    {faults: []fault{afterTheWait, works}, idempotency: "honoured", moved: true, posts: 2},
		"after the wait, conflict":    {faults: []fault{afterTheWait}, idempotency: "conflict", moved: true, posts: 2, recovered: true},
		"never done":                  {faults: []fault{lostForGood, lostForGood, lostForGood, lostForGood, lostForGood}, posts: 5, fails: "undecided", outcome: api.TransferNotDone},
		"done, spent meanwhile":       {faults: []fault{lostButApplied}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 1, recovered: true},
		"not done, spent meanwhile":   {faults: []fault{lostForGood, works}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 2},
		"done, declined meanwhile":    {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionDecline, 7*usd.Dollar, 0) }, moved: true, posts: 1, recovered: true},
		"not done, refunded":          {faults: []fault{lostForGood, works}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionRefund, 5*usd.Dollar, 0) }, spent: -5 * usd.Dollar, moved: true, posts: 2},
		"done, fee not from the card": {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 20*usd.Cent) }, spent: 7 * usd.Dollar, moved: true, posts: 1, recovered: true},
		"done, fee from the card": {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 20*usd.Cent)
			b.mu.Lock()
			defer b.mu.Unlock()
			c.Balance -= 20 * usd.Cent
		}, spent: 7*usd.Dollar + 20*usd.Cent, moved: true, posts: 1, recovered: true},
		"done, a hold that lowers no balance":     {faults: []fault{lostButApplied}, meanwhile: holdAside, moved: true, posts: 1, recovered: true},
		"not done, a hold that lowers no balance": {faults: []fault{lostForGood, works}, meanwhile: holdAside, moved: true, posts: 2},
		"done, a settlement lowers the balance": {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionSettlement, 7*usd.Dollar, 20*usd.Cent)
			b.give(c, -7*usd.Dollar-20*usd.Cent)
			b.spend(c, api.TransactionRefund, 3*usd.Dollar, 0)
		}, spent: 4*usd.Dollar + 20*usd.Cent, moved: true, posts: 1, recovered: true},
		"a settlement came between":    {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionSettlement, 7*usd.Dollar, 0) }, moved: true, posts: 1, recovered: true},
		"an unknown type came between": {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, "chargeback", 7*usd.Dollar, 0) }, moved: true, posts: 1, fails: "undecided", outcome: api.TransferUndecided},
		"a transaction in other money": {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionAuthorization, 0, 0)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.history[len(b.history)-1]["currency"] = "EUR"
		}, moved: true, posts: 1, fails: "undecided", outcome: api.TransferUndecided},
		"a transaction that cannot be read": {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionAuthorization, 0, 0)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.history[len(b.history)-1]["amount"] = "much"
		}, moved: true, posts: 1, fails: "undecided", outcome: api.TransferUndecided},
		"the history was cut":             {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, _ *fakeCard) { b.mu.Lock(); defer b.mu.Unlock(); b.history = nil }, moved: true, posts: 1, fails: "undecided", outcome: api.TransferUndecided},
		"somebody else moved money":       {faults: []fault{lostForGood}, meanwhile: func(b *fakeService, c *fakeCard) { b.mu.Lock(); defer b.mu.Unlock(); c.Balance -= 3 }, spent: 3, posts: 1, fails: "undecided", outcome: api.TransferUndecided},
		"a fee as large as what is moved": {faults: []fault{lostForGood}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionDecline, 1, step) }, posts: 1, fails: "undecided", outcome: api.TransferUndecided},
	}
	for name, test := range tests {
		modes := []string{"honoured", "ignored"}
		if test.idempotency != "" {
			modes = []string{test.idempotency}
		}
		for _, mode := range modes {
			for _, kind := range []api.TransferKind{api.TransferFund, api.TransferWithdraw} {
				if kind == api.TransferWithdraw && strings.HasPrefix(name, "a fee as large") {
					continue // a fee and a withdrawal lower the balance alike only for funds less the fee
				}
				t.Run(fmt.Sprintf("%s, %s, key %s", name, kind, mode), func(t *testing.T) {
					t.Parallel()
					service := newFakeService(slices.Clone(test.faults)...)
					service.idempotency = mode
					card := service.add(api.CardListItem{BinID: "bin_1", Balance: start})
					service.spend(card, api.TransactionSettlement, usd.Dollar, 0) // of before
					if test.meanwhile != nil {
						service.faults[0].before = func() { test.meanwhile(service, card) }
					}
					client := service.client(t)
					transfer, err := transferWith(client, kind)(t, card.ID, step)

					want := start - test.spent
					switch {
					case test.moved && kind == api.TransferFund:
						want += step
					case test.moved:
						want -= step
					}
					if got := service.balances()[card.ID]; got != want {
						t.Errorf("the card holds %s, want %s", got, want)
					}
					if keys := service.keys(); len(keys) != test.posts || len(slices.Compact(keys)) != 1 {
						t.Errorf("requests with keys %q, want %d with one key", keys, test.posts)
					}
					undecided, isUndecided := errors.AsType[*api.UndecidedError](err)
					switch {
					case test.fails == "undecided":
						if !isUndecided {
							t.Fatalf("error %v, want an undecided transfer", err)
						}
						checkReconciliation(t, client, *undecided.Transfer, test.outcome)
					case test.fails == "refused":
						refused, ok := errors.AsType[*api.Error](err)
						if !ok || isUndecided || refused.IsFinal() != (test.posts == 1) {
							t.Errorf("error %v, want a refusal, final unless an attempt was lost", err)
						}
					case err != nil:
						t.Error(err)
					case transfer.CardBalance != want, transfer.CardID != card.ID, transfer.Recovered != test.recovered, fmt.Sprint(transfer.WalletBalance) != service.wallet.String():
						t.Errorf("got %+v, want %s on the card and %s in the wallet", transfer, want, service.wallet)
					}
				})
			}
		}
	}
}

func TestTransferAndInterruption(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault     fault
		spent     usd.Amount // meanwhile
		balance   usd.Amount
		recovered bool
		undecided bool
	}{
		"the response arrives": {fault: works, balance: start - step},
		"after a purchase":     {fault: works, spent: 7 * usd.Dollar, balance: start - step - 7*usd.Dollar},
		"the response is lost": {fault: lostButApplied, balance: start - step, recovered: true},
		"nothing is moved":     {fault: lostForGood, balance: start, undecided: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			test.fault.before = func() {
				interrupt()
				service.spend(card, api.TransactionAuthorization, test.spent, 0)
			}
			service.faults = []fault{test.fault}
			transfer, err := service.client(t).WithdrawCard(ctx, card.ID, step)
			_, undecided := errors.AsType[*api.UndecidedError](err)
			if undecided != test.undecided || err != nil && !undecided || transfer.Recovered != test.recovered {
				t.Errorf("%+v, %v", transfer, err)
			}
			if err == nil && (transfer.CardBalance != test.balance || fmt.Sprint(transfer.WalletBalance) != service.wallet.String()) {
				t.Errorf("%+v, want %s on the card and %s in the wallet", transfer, test.balance, service.wallet)
			}
			if got := service.balances()[card.ID]; got != test.balance || len(service.keys()) != 1 {
				t.Errorf("%s on the card after %d requests", got, len(service.keys()))
			}
		})
	}
}

// checkReconciliation settles a pending transfer after it went through JSON.
func checkReconciliation(t *testing.T, client *api.Client, pending api.PendingTransfer, want api.TransferState) {
	t.Helper()
	data, err := json.Marshal(pending)
	if err != nil {
		t.Fatal(err)
	}
	var kept api.PendingTransfer
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.Key == "" || kept.SentAt.IsZero() || kept.Amount != step || kept.BalanceBefore != start || kept.Before == nil || kept.Before.Balance != start {
		t.Errorf("kept %s", data)
	}
	outcome, err := client.ReconcileTransfer(t.Context(), kept)
	if err != nil || outcome.State != want || (want == api.TransferUndecided) != (outcome.Reason != "") {
		t.Errorf("settled as %+v, %v; want %s", outcome, err, want)
	}
}

// A transfer that takes effect after the client has given up is settled later,
// by another process.
func TestReconcileTransferThatCameLate(t *testing.T) {
	t.Parallel()
	for kind, want := range map[api.TransferKind]usd.Amount{api.TransferFund: start + step, api.TransferWithdraw: start - step} {
		service := newFakeService(fault{commit: 170 * time.Second, response: "drop"}, lostForGood, lostForGood, lostForGood, lostForGood)
		card := service.add(api.CardListItem{Balance: start})
		_, err := transferWith(service.client(t), kind)(t, card.ID, step)
		undecided, ok := errors.AsType[*api.UndecidedError](err)
		if !ok {
			t.Fatalf("error %v", err)
		}
		later(t, service, time.Minute)
		outcome, err := service.client(t).ReconcileTransfer(t.Context(), *undecided.Transfer)
		if err != nil || outcome.State != api.TransferDone || outcome.CardBalance != want || outcome.Anchor.Balance != want {
			t.Errorf("%s settled as %+v, %v", kind, outcome, err)
		}
	}
}

func TestReconcileTransferGivesTheRequestItsTime(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	pending := api.PendingTransfer{CardID: card.ID, Kind: api.TransferFund, Amount: step, BalanceBefore: start, SentAt: service.clock.Now().Add(-10 * time.Second)}
	outcome, err := service.client(t).ReconcileTransfer(t.Context(), pending)
	if err != nil || outcome.State != api.TransferNotDone || service.clock.total() != 20*time.Second {
		t.Errorf("settled as %+v, %v after %s", outcome, err, service.clock.total())
	}
}

func TestWithdrawFromServiceThatIgnoresTheAmount(t *testing.T) {
	t.Parallel()
	emptied := fault{}
	for name, test := range map[string]struct {
		meanwhile func(*fakeService, *fakeCard)
		empties   bool
		moved     usd.Amount // 0 for no error
	}{
		"all is taken":                {empties: true, moved: start},
		"all is taken after spending": {empties: true, moved: start - 7*usd.Dollar, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0) }},
		"spending explains it":        {meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0) }},
		"a settlement explains it": {meanwhile: func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionAuthorization, 5*usd.Dollar, 0)
			b.spend(c, api.TransactionSettlement, 7*usd.Dollar, 0)
			c.Balance -= 2 * usd.Dollar
		}},
		"a settlement does not explain everything": {empties: true, moved: start - 7*usd.Dollar, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionSettlement, 7*usd.Dollar, 0) }},
		"all is taken after a fee":                 {empties: true, moved: start - 20*usd.Cent, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionDecline, 7*usd.Dollar, 20*usd.Cent) }},
		"a fee explains it": {meanwhile: func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionDecline, 7*usd.Dollar, 20*usd.Cent)
			c.Balance -= 20 * usd.Cent
		}},
		"spending and its fee explain it": {meanwhile: func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 20*usd.Cent)
			c.Balance -= 20 * usd.Cent
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := emptied
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			f.before = func() {
				if test.meanwhile != nil {
					test.meanwhile(service, card)
				}
				if test.empties {
					service.mu.Lock()
					defer service.mu.Unlock()
					card.Balance = step // of which the withdrawal leaves nothing
				}
			}
			service.faults = []fault{f}
			transfer, err := service.client(t).WithdrawCard(t.Context(), card.ID, step)
			if err != nil {
				t.Fatal(err)
			}
			want := usd.Amount(0)
			if test.moved > 0 {
				want = step - test.moved
			}
			if transfer.Excess != want || transfer.ExcessUnclear != "" || transfer.CardBalance != service.balances()[card.ID] {
				t.Errorf("got %+v, want an excess of %s", transfer, want)
			}
			if transfer.Anchor.Balance != start-step {
				t.Errorf("the anchor is at %s", transfer.Anchor.Balance)
			}
		})
	}
}

func TestTransfersOnOneCardWaitForEachOther(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	other := service.add(api.CardListItem{Balance: start})
	var onCard, most atomic.Int32
	entered := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.Contains(r.URL.Path, card.ID) {
			most.Store(max(most.Load(), onCard.Add(1)))
			defer onCard.Add(-1)
			select { // the other card is not held up
			case <-entered:
			case <-time.After(10 * time.Second):
				t.Error("the other card was held up")
			}
		}
		if r.Method == http.MethodPost && strings.Contains(r.URL.Path, other.ID) {
			close(entered)
		}
		service.ServeHTTP(w, r)
	})
	client := newClient(t, handler)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = client.FundCard(t.Context(), card.ID, step)
			} else {
				_, err = client.WithdrawCard(t.Context(), card.ID, step)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if _, err := client.FundCard(t.Context(), other.ID, step); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if most.Load() != 1 || service.balances()[card.ID] != start {
		t.Errorf("%d at once, %s on the card", most.Load(), service.balances()[card.ID])
	}
}

func TestTransferRefusesWhatIsNoAmount(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	client := service.client(t)
	for _, amount := range []usd.Amount{0, -1} {
		if _, err := client.FundCard(t.Context(), card.ID, amount); err == nil {
			t.Errorf("funded with %s", amount)
		}
	}
	if client.HasWritten() || len(service.keys()) != 0 {
		t.Error("something was sent")
	}
}

// A balance that moves while it is read explains nothing.
func TestTransferWhileTheBalanceMoves(t *testing.T) {
	t.Parallel()
	service := newFakeService(lostButApplied)
	card := service.add(api.CardListItem{Balance: start})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		service.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/transactions") && len(service.keys()) == 1 {
			service.mu.Lock()
			defer service.mu.Unlock()
			card.Balance++
		}
	})
	_, err := newClient(t, handler).FundCard(t.Context(), card.ID, step)
	if _, ok := errors.AsType[*api.UndecidedError](err); !ok || len(service.keys()) != 1 {
		t.Errorf("%v after %d requests", err, len(service.keys()))
	}
}
