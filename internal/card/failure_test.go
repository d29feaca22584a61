package card_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// fault makes the service misbehave at one kind of call.
func fault(s *acctest.Service, method, path, when string, times int, then any) {
	s.Fault(map[string]any{"method": method, "path": path, "when": when, "times": times, "then": then})
}

func refusal(status int, code, message string) any {
	return map[string]any{"status": status, "body": map[string]string{"error": code, "message": message}}
}

// down is an answer that says nothing about what happened.
var down = map[string]any{"status": 500, "body": map[string]string{"error": "down", "message": "down"}}

// tryApply plans and applies and returns what apply says; the plan must succeed.
func (f *fixture) tryApply(config object) acctest.Diagnostics {
	f.t.Helper()
	p := f.protocol()
	change, diags := p.Plan(f.card, complete(config))
	f.succeed(diags)
	return f.tryChange(p, change)
}

func (f *fixture) tryChange(p *acctest.Protocol, change acctest.Change) acctest.Diagnostics {
	f.t.Helper()
	now, diags := p.Apply(change, nil)
	f.card = now
	return diags
}

func TestIssuedButNotFrozen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fault(f.s, "POST", "/cards/*/freeze", "before", 1, refusal(400, "invalid_request", "not today"))
	diags := f.tryApply(object{"amount": 60, "frozen": true})
	if f.id() == "" {
		t.Fatal("the card's id is not in the state")
	}
	f.says("the error", diags.Errors(), f.id(), "not today", "loaded with 60.00 USD", "terraform untaint")
	f.holds("active", 6000, 1000000-6100)
	f.apply(object{"amount": 60, "frozen": true}) // untainted
	f.holds("frozen", 6000, 1000000-6100)
}

// An interruption leaves no card that Terraform would issue anew for being active.
func TestInterruptedWhileAFrozenCardIsIssued(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var p *acctest.Protocol
	p = f.s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if isCall(r, http.MethodPost, "/cards") {
			p.Interrupt()
		}
		return false
	}).Protocol(f.account)
	change, diags := p.Plan(f.card, complete(object{"amount": 60, "frozen": true}))
	f.succeed(diags)
	f.succeed(f.tryChange(p, change))
	f.holds("frozen", 6000, 1000000-6100)
}

func TestFreezesThoughTheMoneyFailed(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60})
	fault(f.s, "POST", "/cards/*/fund", "before", 1, refusal(400, "invalid_request", "not today"))
	diags := f.tryApply(object{"amount": 100, "frozen": true})
	f.says("the error", diags.Errors(), "Could not fund card "+f.id(), "with 40.00 USD", "not today")
	f.holds("frozen", 6000, 1000000-6100)
	f.same("the state", object{"amount": acctest.Number("60"), "frozen": true, "status": "frozen", "balance": acctest.Number("60")}, f.card.Values)
	f.apply(object{"amount": 100, "frozen": true})
	f.holds("frozen", 10000, 1000000-10100)
}

func TestNoMoneyMovesWhenUnfreezingFails(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60, "frozen": true})
	fault(f.s, "POST", "/cards/*/unfreeze", "before", 1, refusal(400, "invalid_request", "not today"))
	diags := f.tryApply(object{"amount": 100, "frozen": false})
	f.says("the error", diags.Errors(), "Could not unfreeze card "+f.id(), "not today")
	f.holds("frozen", 6000, 1000000-6100)
	f.same("the state", object{"amount": acctest.Number("60"), "frozen": true}, f.card.Values)
}

func TestTheWorldMovesBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(f *fixture)
		amount  int
		words   []string
	}{
		"card terminated": {
			func(f *fixture) { f.s.Terminate(f.id()) }, 100,
			[]string{"Could not fund card", "(card_terminated)", "the next apply issues a new card"},
		},
		"wallet emptied": {
			func(f *fixture) { issue(f.s, map[string]any{"amount": usd.Amount(993800)}) }, 100,
			[]string{"Could not fund card", "(insufficient_funds)", "vcard_deposit_addresses"},
		},
		"card spent": {
			func(f *fixture) { f.buy(5000) }, 20,
			[]string{"Could not withdraw 40.00 USD from card", "(insufficient_card_balance)", "Run terraform plan again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := issued(t, object{"amount": 60})
			p := f.protocol()
			change, diags := p.Plan(f.card, complete(object{"amount": c.amount}))
			f.succeed(diags)
			c.happens(f)
			wallet := f.s.Wallet()
			f.says("the error", f.tryChange(p, change).Errors(), append(c.words, f.id())...)
			f.same("the state", object{"amount": acctest.Number("60")}, f.card.Values)
			if now := f.s.Wallet(); now != wallet {
				t.Errorf("the wallet went from %s to %s", wallet, now)
			}
		})
	}
}

// Apply withdraws nothing that the next plan would fund again.
func TestSpentBetweenThePlanOfAWithdrawalAndItsApply(t *testing.T) {
	t.Parallel()
	topUp := object{"below": 40, "to": 80}
	for cents, refused := range map[usd.Amount]bool{2000: false, 2001: true} {
		f := issued(t, object{"amount": 100, "top_up": topUp})
		p := f.protocol()
		change, diags := p.Plan(f.card, complete(object{"amount": 60, "top_up": topUp}))
		f.succeed(diags)
		f.buy(cents)
		diags = f.tryChange(p, change)
		if !refused {
			f.succeed(diags)
			f.holds("active", 4000, 1000000-6100)
			continue
		}
		f.says("the error", diags.Errors(), "Could not withdraw 40.00 USD from card "+f.id(), "39.99 USD", "top_up.below (40.00 USD)")
		f.same("the state", object{"amount": acctest.Number("100")}, f.card.Values)
		f.holds("active", 10000-cents, 1000000-10100)
	}
}

func TestServiceThatIgnoresTheAmountOfAWithdrawal(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60})
	f.s.AddQuirks(object{"withdraw_amount": "ignored"})
	f.says("the warning", f.tryApply(object{"amount": 50}).Warnings(), "More or less money moved than asked: withdraw 10.00 USD from card "+f.id(), "holds 0.00 USD", "50.00 USD other than", "vcard_card_fund")
	f.same("the state", object{"amount": acctest.Number("50"), "balance": acctest.Number("0")}, f.card.Values)
	f.refresh()
	f.unchanged(object{"amount": 50}) // what the service did by itself changes no amount
	f.holds("active", 0, 1000000-100)
}

func TestRefusedDestroyKeepsTheCard(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60})
	fault(f.s, "DELETE", "/cards/*", "before", 1, refusal(400, "invalid_request", "not today"))
	f.says("the error", f.tryApply(nil).Errors(), "Could not terminate card "+f.id(), "not today")
	f.same("the state", object{"amount": acctest.Number("60")}, f.card.Values)
	f.holds("active", 6000, 1000000-6100)
}

func TestTerminatedWhileDestroying(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 409, 422} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.s = acctest.Start(t, contract.RequestsOnly())
			f.apply(object{"amount": 60})
			f.s.AddQuirks(object{"terminated_status": status})
			f.s.Terminate(f.id())
			f.apply(nil)
		})
	}
}

func TestLostResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		config       object // nil: destroy
		status       string
		balance      usd.Amount
		wallet       usd.Amount
	}{
		"fund":      {"POST", "/cards/*/fund", object{"amount": 100}, "active", 10000, 1000000 - 10100},
		"withdraw":  {"POST", "/cards/*/withdraw", object{"amount": 50}, "active", 5000, 1000000 - 5100},
		"freeze":    {"POST", "/cards/*/freeze", object{"amount": 60, "frozen": true}, "frozen", 6000, 1000000 - 6100},
		"terminate": {"DELETE", "/cards/*", nil, "terminated", 0, 1000000 - 100},
	} {
		for _, when := range []string{"before", "after"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				f := issued(t, object{"amount": 60})
				id := f.id()
				fault(f.s, c.method, c.path, when, 1, "drop")
				f.apply(c.config)
				if c.config == nil {
					f.card.Values = object{"id": id}
				}
				f.holds(c.status, c.balance, c.wallet)
			})
		}
	}
}

// undecided is a card of which a fund from 60 to 100 USD was made, and nothing tells.
func undecided(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.s = acctest.Start(t, contract.RequestsOnly())
	f.s.Quirks(nil) // each page is asked for once
	f.apply(object{"amount": 60})
	f.account = object{"max_retries": 0}
	// The reading before the transfer succeeds, those after it fail.
	fault(f.s, "GET", "/transactions", "before", 1, "pass")
	fault(f.s, "GET", "/transactions", "before", 0, down)
	fault(f.s, "POST", "/cards/*/fund", "after", 1, "drop")
	f.says("the error", f.tryApply(object{"amount": 100}).Errors(), "Could not fund card "+f.id(), "Money may or may not have moved", "terraform plan")
	return f
}

func TestUndecidedTransferIsSettledByARefresh(t *testing.T) {
	t.Parallel()
	f := undecided(t)
	f.same("the state", object{"amount": acctest.Number("60")}, f.card.Values)

	f.says("the warning", f.refresh().Warnings(), "still undecided", "40.00", f.id())
	f.failsToPlan(object{"amount": 90}, "An earlier movement of money is undecided", f.id(), "40.00 USD")
	_, diags := f.protocol().Plan(f.card, complete(object{"amount": 60}))
	f.succeed(diags)
	f.says("the way out", diags.Warnings(), "gives up an undecided movement", "40.00 USD", "moves no money")

	f.s.Delete("/_sandbox/faults").Must()
	f.says("the refresh", f.refresh().Warnings())
	f.same("the state", object{"amount": acctest.Number("100"), "balance": acctest.Number("100")}, f.card.Values)
	f.unchanged(object{"amount": 100})
	f.apply(object{"amount": 90})
	f.holds("active", 9000, 1000000-9100)
}

func TestUndecidedTopUpIsSettledByARefresh(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.s = acctest.Start(t, contract.RequestsOnly())
	config := object{"amount": 100, "top_up": object{"below": 40, "to": 80}}
	f.apply(config)
	f.spend(7000)
	f.refresh()
	f.account = object{"max_retries": 0}
	fault(f.s, "GET", "/transactions", "before", 1, "pass")
	fault(f.s, "GET", "/transactions", "before", 0, down)
	fault(f.s, "POST", "/cards/*/fund", "after", 1, "drop")
	f.says("the error", f.tryApply(config).Errors(), "Could not fund card "+f.id(), "Money may or may not have moved")
	f.same("the state", object{"topped_up": acctest.Number("0")}, f.card.Values)

	f.s.Delete("/_sandbox/faults").Must()
	f.says("the refresh", f.refresh().Warnings())
	f.same("the state", object{"amount": acctest.Number("100"), "topped_up": acctest.Number("50"), "balance": acctest.Number("80")}, f.card.Values)
	f.unchanged(config)
}

// A fund that lands after the card was read, and before it is settled, is in the
// balance that plans count with: else they top up once more.
func TestTopUpThatLandsWhileItIsSettled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	config := object{"amount": 100, "top_up": object{"below": 40, "to": 80}}
	f.apply(config)
	f.spend(7000)
	f.refresh()
	service := f.s
	var late atomic.Pointer[http.Request]
	var settling atomic.Bool
	f.s = service.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case isCall(r, http.MethodPost, "/fund"):
			body, _ := io.ReadAll(r.Body)
			r = r.Clone(context.Background())
			r.Body = io.NopCloser(bytes.NewReader(body))
			late.Store(r)
			panic(http.ErrAbortHandler)
		case isCall(r, http.MethodGet, "/transactions") && late.Load() != nil && !settling.Load():
			answer(w, http.StatusInternalServerError, "")
			return true
		case isCall(r, http.MethodGet, "/"+f.id()) && settling.Load() && late.Load() != nil:
			before := forward(service, r)
			forward(service, late.Swap(nil)).OK(http.StatusOK)
			answer(w, before.Status, before.Raw)
			return true
		}
		return false
	})
	f.account = object{"max_retries": 0}
	f.says("the error", f.tryApply(config).Errors(), "Money may or may not have moved")

	settling.Store(true)
	f.says("the refresh", f.refresh().Warnings())
	f.same("the state", object{"amount": acctest.Number("100"), "topped_up": acctest.Number("50"), "balance": acctest.Number("80")}, f.card.Values)
	f.unchanged(config)
}

// The service freezes a card under its threshold by itself, so one that reads
// frozen after a lost response may have been unfrozen: it is not unfrozen twice.
func TestLostUnfreezeUnderTheThreshold(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60, "auto_freeze_at": 70, "frozen": true})
	fault(f.s, "POST", "/cards/*/unfreeze", "before", 1, "drop")
	f.succeed(f.tryApply(object{"amount": 60, "auto_freeze_at": 70, "frozen": false}))
	f.holds("frozen", 6000, 1000000-6100)
	f.refresh()
	f.same("the state", object{"frozen": true, "status": "frozen"}, f.card.Values)
}
