package api_test

import (
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
	type spends func(*bank, *bankCard)
	authorize := func(b *bank, c *bankCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0) }
	tests := map[string]struct {
		fates       []fate
		idempotency string
		meanwhile   spends // while the first try is on its way
		spent       usd.Amount
		moved       bool
		posts       int
		recovered   bool
		fails       string // "refused" or "undecided"
		settles     api.TransferState
	}{
		"it works":                    {fates: []fate{works}, moved: true, posts: 1},
		"done, answer lost":           {fates: []fate{lostButDone}, moved: true, posts: 1, recovered: true},
		"done, answer cut off":        {fates: []fate{{answer: "truncate"}}, moved: true, posts: 1, recovered: true},
		"done, answered 502":          {fates: []fate{{answer: "502"}}, moved: true, posts: 1, recovered: true},
		"done a little later":         {fates: []fate{beforeTheWait}, moved: true, posts: 1, recovered: true},
		"not done, answer lost":       {fates: []fate{lostForGood, works}, moved: true, posts: 2},
		"not done, twice":             {fates: []fate{lostForGood, {commit: never, answer: "503"}, works}, moved: true, posts: 3},
		"not done, then done, lost":   {fates: []fate{lostForGood, lostButDone}, moved: true, posts: 2, recovered: true},
		"refused":                     {fates: []fate{refusal}, posts: 1, fails: "refused"},
		"lost, then refused":          {fates: []fate{lostForGood, refusal}, posts: 2, fails: "refused"},
		"conflict that passes":        {fates: []fate{{commit: never, answer: "409"}, works}, moved: true, posts: 2},
		"conflict that stays":         {fates: []fate{{commit: never, answer: "409"}, {commit: never, answer: "409"}}, posts: 2, fails: "refused"},
		"after the wait, honoured":    {fates: []fate{afterTheWait, works}, idempotency: "honoured", moved: true, posts: 2},
		"after the wait, conflict":    {fates: []fate{afterTheWait}, idempotency: "conflict", moved: true, posts: 2, recovered: true},
		"never done":                  {fates: []fate{lostForGood, lostForGood, lostForGood, lostForGood, lostForGood}, posts: 5, fails: "undecided", settles: api.TransferNotDone},
		"done, spent meanwhile":       {fates: []fate{lostButDone}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 1, recovered: true},
		"not done, spent meanwhile":   {fates: []fate{lostForGood, works}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 2},
		"done, declined meanwhile":    {fates: []fate{lostButDone}, meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionDecline, 7*usd.Dollar, 0) }, moved: true, posts: 1, recovered: true},
		"not done, refunded":          {fates: []fate{lostForGood, works}, meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionRefund, 5*usd.Dollar, 0) }, spent: -5 * usd.Dollar, moved: true, posts: 2},
		"done, fee not from the card": {fates: []fate{lostButDone}, meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 20*usd.Cent) }, spent: 7 * usd.Dollar, moved: true, posts: 1, recovered: true},
		"done, fee from the card": {fates: []fate{lostButDone}, meanwhile: func(b *bank, c *bankCard) {
			b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 20*usd.Cent)
			b.mu.Lock()
			defer b.mu.Unlock()
			c.Balance -= 20 * usd.Cent
		}, spent: 7*usd.Dollar + 20*usd.Cent, moved: true, posts: 1, recovered: true},
		"a settlement came between":    {fates: []fate{lostButDone}, meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionSettlement, 7*usd.Dollar, 0) }, moved: true, posts: 1, fails: "undecided", settles: api.TransferUndecided},
		"an unknown type came between": {fates: []fate{lostButDone}, meanwhile: func(b *bank, c *bankCard) { b.spend(c, "chargeback", 7*usd.Dollar, 0) }, moved: true, posts: 1, fails: "undecided", settles: api.TransferUndecided},
		"a transaction in other money": {fates: []fate{lostButDone}, meanwhile: func(b *bank, c *bankCard) {
			b.spend(c, api.TransactionAuthorization, 0, 0)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.history[len(b.history)-1]["currency"] = "EUR"
		}, moved: true, posts: 1, fails: "undecided", settles: api.TransferUndecided},
		"the history was cut":             {fates: []fate{lostButDone}, meanwhile: func(b *bank, _ *bankCard) { b.mu.Lock(); defer b.mu.Unlock(); b.history = nil }, moved: true, posts: 1, fails: "undecided", settles: api.TransferUndecided},
		"somebody else moved money":       {fates: []fate{lostForGood}, meanwhile: func(b *bank, c *bankCard) { b.mu.Lock(); defer b.mu.Unlock(); c.Balance -= 3 }, spent: 3, posts: 1, fails: "undecided", settles: api.TransferUndecided},
		"a fee as large as what is moved": {fates: []fate{lostForGood}, meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionDecline, 1, step) }, posts: 1, fails: "undecided", settles: api.TransferUndecided},
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
					bank := newBank(slices.Clone(test.fates)...)
					bank.idempotency = mode
					card := bank.add(api.CardListItem{BinID: "bin_1", Balance: start})
					bank.spend(card, api.TransactionSettlement, usd.Dollar, 0) // of before
					if test.meanwhile != nil {
						bank.fates[0].before = func() { test.meanwhile(bank, card) }
					}
					client := bank.client(t)
					transfer, err := transferWith(client, kind)(t, card.ID, step)

					want := start - test.spent
					switch {
					case test.moved && kind == api.TransferFund:
						want += step
					case test.moved:
						want -= step
					}
					if got := bank.balances()[card.ID]; got != want {
						t.Errorf("the card holds %s, want %s", got, want)
					}
					if keys := bank.keys(); len(keys) != test.posts || len(slices.Compact(keys)) != 1 {
						t.Errorf("requests with keys %q, want %d with one key", keys, test.posts)
					}
					undecided, isUndecided := errors.AsType[*api.UndecidedTransferError](err)
					switch {
					case test.fails == "undecided":
						if !isUndecided {
							t.Fatalf("error %v, want an undecided transfer", err)
						}
						checkSettling(t, client, undecided.Pending, test.settles)
					case test.fails == "refused":
						if _, refused := errors.AsType[*api.Error](err); !refused || isUndecided {
							t.Errorf("error %v, want a refusal", err)
						}
					case err != nil:
						t.Error(err)
					case transfer.CardBalance != want, transfer.CardID != card.ID, transfer.Recovered != test.recovered, transfer.WalletBalance != bank.wallet:
						t.Errorf("got %+v, want %s on the card and %s in the wallet", transfer, want, bank.wallet)
					}
				})
			}
		}
	}
}

// checkSettling settles a pending transfer after it went through JSON.
func checkSettling(t *testing.T, client *api.Client, pending api.PendingTransfer, want api.TransferState) {
	t.Helper()
	data, err := json.Marshal(pending)
	if err != nil {
		t.Fatal(err)
	}
	var kept api.PendingTransfer
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.Key == "" || kept.Amount != step || kept.BalanceBefore != start || kept.NewestTransaction == "" {
		t.Errorf("kept %s", data)
	}
	outcome, err := client.SettleTransfer(t.Context(), kept)
	if err != nil || outcome.State != want || (want == api.TransferUndecided) != (outcome.Reason != "") {
		t.Errorf("settled as %+v, %v; want %s", outcome, err, want)
	}
}

// A transfer that takes effect after the client has given up is settled later,
// by another process.
func TestSettleTransferThatCameLate(t *testing.T) {
	t.Parallel()
	bank := newBank(fate{commit: 170 * time.Second, answer: "drop"}, lostForGood, lostForGood, lostForGood, lostForGood)
	card := bank.add(api.CardListItem{Balance: start})
	_, err := bank.client(t).FundCard(t.Context(), card.ID, step)
	undecided, ok := errors.AsType[*api.UndecidedTransferError](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	if err := bank.clock.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	outcome, err := bank.client(t).SettleTransfer(t.Context(), undecided.Pending)
	if err != nil || outcome.State != api.TransferDone || outcome.CardBalance != start+step {
		t.Errorf("settled as %+v, %v", outcome, err)
	}
}

func TestSettleTransferGivesTheRequestItsTime(t *testing.T) {
	t.Parallel()
	bank := newBank()
	card := bank.add(api.CardListItem{Balance: start})
	pending := api.PendingTransfer{CardID: card.ID, Kind: api.TransferFund, Amount: step, BalanceBefore: start, SentAt: bank.clock.Now().Add(-10 * time.Second)}
	outcome, err := bank.client(t).SettleTransfer(t.Context(), pending)
	if err != nil || outcome.State != api.TransferNotDone || bank.clock.total() != 20*time.Second {
		t.Errorf("settled as %+v, %v after %s", outcome, err, bank.clock.total())
	}
}

func TestWithdrawFromServiceThatIgnoresTheAmount(t *testing.T) {
	t.Parallel()
	emptied := fate{}
	for name, test := range map[string]struct {
		meanwhile func(*bank, *bankCard)
		empties   bool
		moved     usd.Amount // 0 for no error
	}{
		"all is taken":                          {empties: true, moved: start},
		"all is taken after spending":           {empties: true, moved: start - 7*usd.Dollar, meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0) }},
		"spending explains it":                  {meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0) }},
		"a settlement may explain it":           {meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionSettlement, 7*usd.Dollar, 0); c.Balance -= 2 }},
		"a settlement does not explain nothing": {empties: true, moved: start, meanwhile: func(b *bank, c *bankCard) { b.spend(c, api.TransactionSettlement, 7*usd.Dollar, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := emptied
			bank := newBank()
			card := bank.add(api.CardListItem{Balance: start})
			f.before = func() {
				if test.meanwhile != nil {
					test.meanwhile(bank, card)
				}
				if test.empties {
					bank.mu.Lock()
					defer bank.mu.Unlock()
					card.Balance = step // of which the withdrawal leaves nothing
				}
			}
			bank.fates = []fate{f}
			transfer, err := bank.client(t).WithdrawCard(t.Context(), card.ID, step)
			over, isOver := errors.AsType[*api.OverWithdrawalError](err)
			switch {
			case test.moved == 0:
				if err != nil {
					t.Error(err)
				}
			case !isOver || over.Asked != step || over.Moved != test.moved || transfer.CardBalance != 0:
				t.Errorf("error %v, want %s", err, test.moved)
			case !strings.Contains(err.Error(), "5.00") || !strings.Contains(err.Error(), test.moved.String()):
				t.Errorf("the error does not name both amounts: %v", err)
			}
		})
	}
}

func TestTransfersOnOneCardWaitForEachOther(t *testing.T) {
	t.Parallel()
	bank := newBank()
	card := bank.add(api.CardListItem{Balance: start})
	other := bank.add(api.CardListItem{Balance: start})
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
		bank.ServeHTTP(w, r)
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
	if most.Load() != 1 || bank.balances()[card.ID] != start {
		t.Errorf("%d at once, %s on the card", most.Load(), bank.balances()[card.ID])
	}
}

func TestTransferRefusesWhatIsNoAmount(t *testing.T) {
	t.Parallel()
	bank := newBank()
	card := bank.add(api.CardListItem{Balance: start})
	client := bank.client(t)
	for _, amount := range []usd.Amount{0, -1} {
		if _, err := client.FundCard(t.Context(), card.ID, amount); err == nil {
			t.Errorf("funded with %s", amount)
		}
	}
	if client.HasWritten() || len(bank.keys()) != 0 {
		t.Error("something was sent")
	}
}

// A balance that moves while it is read explains nothing.
func TestTransferWhileTheBalanceMoves(t *testing.T) {
	t.Parallel()
	bank := newBank(lostButDone)
	card := bank.add(api.CardListItem{Balance: start})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bank.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/transactions") && len(bank.keys()) == 1 {
			bank.mu.Lock()
			defer bank.mu.Unlock()
			card.Balance ^= 1
		}
	})
	_, err := newClient(t, handler).FundCard(t.Context(), card.ID, step)
	if _, ok := errors.AsType[*api.UndecidedTransferError](err); !ok || len(bank.keys()) != 1 {
		t.Errorf("%v after %d requests", err, len(bank.keys()))
	}
}
