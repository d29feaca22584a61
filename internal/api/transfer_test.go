package api_test

import (
	"context"
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
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	start = 100 * usd.Dollar
	step  = 5 * usd.Dollar
)

// move is a movement by what is remembered of a card, nil for nothing.
func move(card string, delta usd.Amount, record *reconcile.Record) api.Movement {
	return api.Movement{CardID: card, Record: record, Movement: reconcile.Movement{Delta: delta}}
}

// remembered is the record of a card as it is now, a minute later.
func (b *fakeService) remembered(t *testing.T, card *fakeCard) *reconcile.Record {
	t.Helper()
	seen, _, err := b.client(t).ReadSnapshot(t.Context(), card.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	later(t, b, time.Minute)
	return &reconcile.Record{Anchor: seen.Anchor(), Token: reconcile.NewToken(), HasKey: true}
}

// kept is a record as the state keeps it.
func kept(card string, record reconcile.Record) *reconcile.Record {
	read := reconcile.ParseRecord(card, record.Text(card))
	return &read
}

// give puts money on a card as another hand would, or takes it.
func (b *fakeService) give(card *fakeCard, amount usd.Amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	card.Balance += amount
}

func later(t *testing.T, service *fakeService, by time.Duration) {
	t.Helper()
	if err := service.clock.Wait(t.Context(), by); err != nil {
		t.Fatal(err)
	}
}

// checkUnlocked ends the life of a card, which waits for the calls that hold it.
func checkUnlocked(t *testing.T, client *api.Client, card string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.TerminateCard(ctx, card); errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the card is still held: %v", err)
	}
}

func TestMoveAcrossFailures(t *testing.T) {
	t.Parallel()
	type spends func(*fakeService, *fakeCard)
	authorize := func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionAuthorization, 7*usd.Dollar, 0) }
	holdAside := func(b *fakeService, c *fakeCard) {
		authorize(b, c)
		b.give(c, 7*usd.Dollar)
	}
	odd := func(field string, value any) spends {
		return func(b *fakeService, c *fakeCard) {
			b.spend(c, api.TransactionAuthorization, 0, 0)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.history[len(b.history)-1][field] = value
		}
	}
	tests := map[string]struct {
		faults      []fault
		idempotency string
		meanwhile   spends // while the first try is on its way
		spent       usd.Amount
		moved       bool
		posts       int
		recovered   bool
		fails       string // "refused" or "unknown"
		resolved    string // what becomes of an unknown outcome later: "not made", or "unknown"
	}{
		"it works":                   {faults: []fault{works}, moved: true, posts: 1},
		"done, response lost":        {faults: []fault{lostButApplied}, moved: true, posts: 1, recovered: true},
		"done, response cut off":     {faults: []fault{{response: "truncate"}}, moved: true, posts: 1, recovered: true},
		"done, connection reset":     {faults: []fault{{response: "reset"}}, moved: true, posts: 1, recovered: true},
		"done, answered 502":         {faults: []fault{{response: "502"}}, moved: true, posts: 1, recovered: true},
		"done, a gateway's 403":      {faults: []fault{{response: "403", html: true}}, moved: true, posts: 1, recovered: true},
		"done, a gateway's 404":      {faults: []fault{{response: "404", html: true}}, moved: true, posts: 1, recovered: true},
		"done, a gateway's 429":      {faults: []fault{{response: "429", html: true}}, moved: true, posts: 1, recovered: true},
		"not done, a gateway's 404":  {faults: []fault{{commit: never, response: "404", html: true}, works}, moved: true, posts: 2},
		"a gateway that stays":       {faults: slices.Repeat([]fault{{commit: never, response: "404", html: true}}, 5), posts: 5, fails: "unknown", resolved: "not made"},
		"refused for pace":           {faults: []fault{{commit: never, response: "429"}, works}, moved: true, posts: 2},
		"done a little later":        {faults: []fault{beforeTheWait}, moved: true, posts: 1, recovered: true},
		"not done, response lost":    {faults: []fault{lostForGood, works}, moved: true, posts: 2},
		"not done, twice":            {faults: []fault{lostForGood, {commit: never, response: "503"}, works}, moved: true, posts: 3},
		"not done, then done, lost":  {faults: []fault{lostForGood, lostButApplied}, moved: true, posts: 2, recovered: true},
		"refused":                    {faults: []fault{refusal}, posts: 1, fails: "refused"},
		"lost, then refused":         {faults: []fault{lostForGood, refusal}, posts: 2, fails: "refused"},
		"done, lost, then refused":   {faults: []fault{afterTheWait, refusal}, moved: true, posts: 2, recovered: true},
		"conflict that passes":       {faults: []fault{{commit: never, response: "409"}, works}, moved: true, posts: 2},
		"conflict that stays":        {faults: []fault{{commit: never, response: "409"}, {commit: never, response: "409"}}, posts: 2, fails: "refused"},
		"after the wait, honoured":   {faults: []fault{afterTheWait, works}, idempotency: "honoured", moved: true, posts: 2},
		"after the wait, conflict":   {faults: []fault{afterTheWait}, idempotency: "conflict", moved: true, posts: 2, recovered: true},
		"never done":                 {faults: slices.Repeat([]fault{lostForGood}, 5), posts: 5, fails: "unknown", resolved: "not made"},
		"done, spent meanwhile":      {faults: []fault{lostButApplied}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 1, recovered: true},
		"not done, spent meanwhile":  {faults: []fault{lostForGood, works}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 2},
		"answered, spent meanwhile":  {faults: []fault{works}, meanwhile: authorize, spent: 7 * usd.Dollar, moved: true, posts: 1},
		"answered, refunded":         {faults: []fault{works}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionRefund, 7*usd.Dollar, 0) }, spent: -7 * usd.Dollar, moved: true, posts: 1},
		"done, declined meanwhile":   {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionDecline, 7*usd.Dollar, 0) }, moved: true, posts: 1, recovered: true},
		"not done, refunded":         {faults: []fault{lostForGood, works}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionRefund, step, 0) }, spent: -step, moved: true, posts: 2},
		"a hold that lowers nothing": {faults: []fault{lostButApplied}, meanwhile: holdAside, moved: true, posts: 1, recovered: true},
		"that hold, and not done":    {faults: []fault{lostForGood, works}, meanwhile: holdAside, moved: true, posts: 2},
		"a settlement came between":  {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, api.TransactionSettlement, 7*usd.Dollar, 0) }, moved: true, posts: 1, recovered: true},
		"an unknown type":            {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) { b.spend(c, "chargeback", 7*usd.Dollar, 0) }, moved: true, posts: 1, fails: "unknown", resolved: "unknown"},
		"in other money":             {faults: []fault{lostButApplied}, meanwhile: odd("currency", "EUR"), moved: true, posts: 1, fails: "unknown", resolved: "unknown"},
		"an amount of no number":     {faults: []fault{lostButApplied}, meanwhile: odd("amount", "much"), moved: true, posts: 1, fails: "unknown", resolved: "unknown"},
		"the history was cut":        {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, _ *fakeCard) { b.mu.Lock(); defer b.mu.Unlock(); b.history = nil }, moved: true, posts: 1, fails: "unknown", resolved: "unknown"},
		"the history is too long": {faults: []fault{lostButApplied}, meanwhile: func(b *fakeService, c *fakeCard) {
			for range 1100 {
				b.spend(c, api.TransactionDecline, usd.Dollar, 0)
			}
		}, moved: true, posts: 1, fails: "unknown", resolved: "unknown"},
		"somebody else took a little": {faults: []fault{lostForGood}, meanwhile: func(b *fakeService, c *fakeCard) { b.give(c, -3) }, spent: 3, posts: 1, fails: "unknown", resolved: "unknown"},
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
					service := newFakeService(slices.Clone(test.faults)...)
					service.idempotency = mode
					card := service.add(api.CardListItem{BinID: "bin_1", Balance: start})
					service.spend(card, api.TransactionSettlement, usd.Dollar, 0) // of before
					record := service.remembered(t, card)
					if test.meanwhile != nil {
						service.faults[0].before = func() {
							later(t, service, 6*time.Second)
							test.meanwhile(service, card)
						}
					}
					client := service.client(t)
					transfer, err := client.Move(t.Context(), move(card.ID, delta, record))

					want := start - test.spent
					if test.moved {
						want += delta
					}
					if got := service.balances()[card.ID]; got != want {
						t.Errorf("the card holds %s, want %s", got, want)
					}
					key := record.Key(card.ID, reconcile.Movement{Delta: delta})
					if keys := service.keys(); len(keys) != test.posts || slices.ContainsFunc(keys, func(k string) bool { return k != key }) {
						t.Errorf("requests with keys %q, want %d with %s", keys, test.posts, key)
					}
					if kindOf(err) != test.fails {
						t.Fatalf("error %v, want %q", err, test.fails)
					}
					after := kept(card.ID, transfer.Record)
					isRenewed := after.Token != record.Token
					switch test.fails {
					case "unknown":
						pending := after.Pending
						if isRenewed || pending == nil || pending.Delta != delta || pending.SentAt.IsZero() || after.Anchor.Balance != start {
							t.Fatalf("remembered %+v of %+v", after, record)
						}
						resolved, err := service.client(t).ResolvePending(t.Context(), card.ID, *after)
						if kindOf(err) != strings.TrimSuffix(test.resolved, "not made") || resolved.MadeBefore || (resolved.Record.Pending == nil) != (err == nil) {
							t.Errorf("resolved as %+v, %v; want %q", resolved, err, test.resolved)
						}
					case "refused":
						refused, ok := errors.AsType[*api.Error](err)
						if !ok || refused.IsFinal() != (test.posts == 1) || isRenewed != refused.IsFinal() || after.Pending != nil || after.Anchor.Balance != start {
							t.Errorf("%v, and remembered %+v; want a new token unless an attempt was lost", err, after)
						}
					default:
						if transfer.CardBalance != want || transfer.Recovered != test.recovered || transfer.MadeBefore || transfer.Excess != 0 || fmt.Sprint(transfer.WalletBalance) != service.wallet.String() {
							t.Errorf("got %+v, want %s on the card and %s in the wallet", transfer, want, service.wallet)
						}
						if !isRenewed || after.Pending != nil || after.Anchor.Balance != start+delta || after.Anchor.Last != delta {
							t.Errorf("remembered %+v of %+v", after, record)
						}
					}
					checkUnlocked(t, client, card.ID)
				})
			}
		}
	}
}

func TestMoveAndInterruption(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault     fault
		spent     usd.Amount // meanwhile
		balance   usd.Amount
		recovered bool
		fails     string
	}{
		"the response arrives": {fault: works, balance: start - step},
		"after a purchase":     {fault: works, spent: 7 * usd.Dollar, balance: start - step - 7*usd.Dollar},
		"the response is lost": {fault: lostButApplied, balance: start - step, recovered: true},
		"nothing is moved":     {fault: lostForGood, balance: start, fails: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			record := service.remembered(t, card)
			test.fault.before = func() {
				interrupt()
				service.spend(card, api.TransactionAuthorization, test.spent, 0)
			}
			service.faults = []fault{test.fault}
			client := service.client(t)
			transfer, err := client.Move(ctx, move(card.ID, -step, record))
			if kindOf(err) != test.fails || transfer.Recovered != test.recovered || (transfer.Record.Pending != nil) != (test.fails != "") {
				t.Errorf("%+v, %v", transfer, err)
			}
			if err == nil && (transfer.CardBalance != test.balance || fmt.Sprint(transfer.WalletBalance) != service.wallet.String()) {
				t.Errorf("%+v, want %s on the card and %s in the wallet", transfer, test.balance, service.wallet)
			}
			if got := service.balances()[card.ID]; got != test.balance || len(service.keys()) != 1 {
				t.Errorf("%s on the card after %d requests", got, len(service.keys()))
			}
			checkUnlocked(t, client, card.ID)
		})
	}
}

// A movement that takes effect after the client has given up is resolved later,
// by another process.
func TestResolveWhatCameLate(t *testing.T) {
	t.Parallel()
	for _, delta := range []usd.Amount{step, -step} {
		service := newFakeService(append([]fault{{commit: 170 * time.Second, response: "drop"}}, slices.Repeat([]fault{lostForGood}, 4)...)...)
		card := service.add(api.CardListItem{Balance: start})
		open, err := service.client(t).Move(t.Context(), move(card.ID, delta, service.remembered(t, card)))
		if kindOf(err) != "unknown" {
			t.Fatal(open, err)
		}
		later(t, service, time.Minute)
		before, client := kept(card.ID, open.Record), service.client(t)
		resolved, err := client.ResolvePending(t.Context(), card.ID, *before)
		after := resolved.Record
		if err != nil || !resolved.MadeBefore || resolved.CardBalance != start+delta || after.Anchor.Balance != start+delta || after.Pending != nil || after.Token == before.Token {
			t.Errorf("%s resolved as %+v, %v", delta, resolved, err)
		}
		moved, err := client.Move(t.Context(), move(card.ID, delta, before))
		if err != nil || !moved.MadeBefore || moved.Record.Anchor.Last != delta || len(service.keys()) != 5 {
			t.Errorf("%s made before as %+v, %v after %d requests", delta, moved, err, len(service.keys()))
		}
		checkUnlocked(t, client, card.ID)
	}
}

func TestResolvePendingGivesTheRequestItsTime(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	open := record.Undecided(reconcile.Movement{Delta: step}, record.Anchor, reconcile.Explanation{}, service.clock.Now().Add(-10*time.Second))
	began := service.clock.total()
	resolved, err := service.client(t).ResolvePending(t.Context(), card.ID, open)
	if err != nil || resolved.MadeBefore || resolved.Record.Pending != nil || resolved.Record.Token != open.Token || service.clock.total()-began != 20*time.Second {
		t.Errorf("resolved as %+v, %v after %s", resolved, err, service.clock.total()-began)
	}
}

// A pending movement that was not made, and is refused after one more lost response,
// is pending no more; its key is kept.
func TestPendingMovementThatIsRefused(t *testing.T) {
	t.Parallel()
	service := newFakeService(lostForGood, refusal)
	card := service.add(api.CardListItem{Balance: start})
	record := service.remembered(t, card)
	open := record.Undecided(reconcile.Movement{Delta: step}, record.Anchor, reconcile.Explanation{}, service.clock.Now())
	transfer, err := service.client(t).Move(t.Context(), move(card.ID, step, &open))
	if after := transfer.Record; kindOf(err) != "refused" || after.Pending != nil || after.Token != open.Token || len(service.keys()) != 2 {
		t.Errorf("%+v, %v", transfer, err)
	}
}

func TestWithdrawFromServiceThatIgnoresTheAmount(t *testing.T) {
	t.Parallel()
	type spends func(*fakeService, *fakeCard)
	pays := func(kind api.TransactionType, amount, fee, taken usd.Amount) spends {
		return func(b *fakeService, c *fakeCard) {
			b.spend(c, kind, amount, fee)
			b.give(c, -taken)
		}
	}
	for name, test := range map[string]struct {
		meanwhile spends
		moved     usd.Amount // 0 for as much as was asked
	}{
		"all is taken":                            {moved: start},
		"all is taken after spending":             {moved: start - 7*usd.Dollar, meanwhile: pays(api.TransactionAuthorization, 7*usd.Dollar, 0, 0)},
		"all is taken after a settlement":         {moved: start - 7*usd.Dollar, meanwhile: pays(api.TransactionSettlement, 7*usd.Dollar, 0, 0)},
		"all is taken after a fee":                {moved: start - 20*usd.Cent, meanwhile: pays(api.TransactionDecline, 7*usd.Dollar, 20*usd.Cent, 0)},
		"spending explains it":                    {meanwhile: pays(api.TransactionAuthorization, 7*usd.Dollar, 0, 0)},
		"a fee explains it":                       {meanwhile: pays(api.TransactionDecline, 7*usd.Dollar, 20*usd.Cent, 20*usd.Cent)},
		"spending and its fee explain it":         {meanwhile: pays(api.TransactionAuthorization, 7*usd.Dollar, 20*usd.Cent, 20*usd.Cent)},
		"a settlement at which the balance falls": {meanwhile: pays(api.TransactionSettlement, 7*usd.Dollar, 20*usd.Cent, 7*usd.Dollar+20*usd.Cent)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{Balance: start})
			service.faults = []fault{{before: func() {
				if test.meanwhile != nil {
					test.meanwhile(service, card)
				}
				if test.moved > 0 {
					service.give(card, step-card.Balance) // of which the withdrawal leaves nothing
				}
			}}}
			transfer, err := service.client(t).Move(t.Context(), move(card.ID, -step, service.remembered(t, card)))
			if err != nil {
				t.Fatal(err)
			}
			excess, anchor := usd.Amount(0), start-step
			if test.moved > 0 {
				excess, anchor = step-test.moved, 0
			}
			if transfer.Excess != excess || transfer.CardBalance != service.balances()[card.ID] || transfer.Record.Anchor.Balance != anchor {
				t.Errorf("got %+v, want an excess of %s", transfer, excess)
			}
		})
	}
}

func TestMovementsOnOneCardWaitForEachOther(t *testing.T) {
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
			case <-time.After(time.Minute):
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
		delta := step
		if i%2 == 1 {
			delta = -step
		}
		wg.Go(func() {
			if _, err := client.Move(t.Context(), move(card.ID, delta, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if _, err := client.Move(t.Context(), move(other.ID, step, nil)); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if most.Load() != 1 || service.balances()[card.ID] != start {
		t.Errorf("%d at once, %s on the card", most.Load(), service.balances()[card.ID])
	}
}

func TestNoAmountIsNotMoved(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	card := service.add(api.CardListItem{Balance: start})
	client := service.client(t)
	if _, err := client.Move(t.Context(), move(card.ID, 0, nil)); err == nil || client.HasWritten() || len(service.keys()) != 0 {
		t.Errorf("%v after %d requests", err, len(service.keys()))
	}
}

// A balance that moves while it is read explains nothing.
func TestMoveWhileTheBalanceMoves(t *testing.T) {
	t.Parallel()
	service := newFakeService(lostButApplied)
	card := service.add(api.CardListItem{Balance: start})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		service.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/transactions") && len(service.keys()) == 1 {
			service.give(card, 1)
		}
	})
	_, err := newClient(t, handler).Move(t.Context(), move(card.ID, step, nil))
	if kindOf(err) != "unknown" || len(service.keys()) != 1 {
		t.Errorf("%v after %d requests", err, len(service.keys()))
	}
}
