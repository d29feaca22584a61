package card_test

import (
	"strconv"
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
func (l *live) tryApply(config object) acctest.Diagnostics {
	l.t.Helper()
	p := l.protocol()
	change, diags := p.Plan(l.card, complete(config))
	l.succeed(diags)
	return l.tryChange(p, change)
}

func (l *live) tryChange(p *acctest.Protocol, change acctest.Change) acctest.Diagnostics {
	l.t.Helper()
	now, diags := p.Apply(change, nil)
	l.card = now
	return diags
}

func TestIssuedButNotFrozen(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	fault(l.s, "POST", "/cards/*/freeze", "before", 1, refusal(400, "invalid_request", "not today"))
	diags := l.tryApply(object{"amount": 60, "frozen": true})
	if l.id() == "" {
		t.Fatal("the card's id is not in the state")
	}
	l.says("the error", diags.Errors(), l.id(), "not today", "loaded with 60.00 USD", "terraform untaint")
	l.holds("active", 6000, 1000000-6100)
	l.apply(object{"amount": 60, "frozen": true}) // untainted
	l.holds("frozen", 6000, 1000000-6100)
}

func TestFreezesThoughTheMoneyFailed(t *testing.T) {
	t.Parallel()
	l := issued(t, object{"amount": 60})
	fault(l.s, "POST", "/cards/*/fund", "before", 1, refusal(400, "invalid_request", "not today"))
	diags := l.tryApply(object{"amount": 100, "frozen": true})
	l.says("the error", diags.Errors(), "Could not fund card "+l.id(), "with 40.00 USD", "not today")
	l.holds("frozen", 6000, 1000000-6100)
	l.same("the state", object{"amount": acctest.Number("60"), "frozen": true, "status": "frozen", "balance": acctest.Number("60")}, l.card.Values)
	l.apply(object{"amount": 100, "frozen": true})
	l.holds("frozen", 10000, 1000000-10100)
}

func TestNoMoneyMovesWhenUnfreezingFails(t *testing.T) {
	t.Parallel()
	l := issued(t, object{"amount": 60, "frozen": true})
	fault(l.s, "POST", "/cards/*/unfreeze", "before", 1, refusal(400, "invalid_request", "not today"))
	diags := l.tryApply(object{"amount": 100, "frozen": false})
	l.says("the error", diags.Errors(), "Could not unfreeze card "+l.id(), "not today")
	l.holds("frozen", 6000, 1000000-6100)
	l.same("the state", object{"amount": acctest.Number("60"), "frozen": true}, l.card.Values)
}

func TestTheWorldMovesBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(l *live)
		amount  int
		words   []string
	}{
		"card terminated": {
			func(l *live) { l.s.Terminate(l.id()) }, 100,
			[]string{"Could not fund card", "(card_terminated)", "the next apply issues a new card"},
		},
		"wallet emptied": {
			func(l *live) { issue(l.s, map[string]any{"amount": usd.Amount(993800)}) }, 100,
			[]string{"Could not fund card", "(insufficient_funds)", "vcard_deposit_addresses"},
		},
		"card spent": {
			func(l *live) { l.spend(5000) }, 20,
			[]string{"Could not withdraw 40.00 USD from card", "(insufficient_card_balance)", "Run terraform plan again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := issued(t, object{"amount": 60})
			p := l.protocol()
			change, diags := p.Plan(l.card, complete(object{"amount": c.amount}))
			l.succeed(diags)
			c.happens(l)
			wallet := l.s.Wallet()
			l.says("the error", l.tryChange(p, change).Errors(), append(c.words, l.id())...)
			l.same("the state", object{"amount": acctest.Number("60")}, l.card.Values)
			if now := l.s.Wallet(); now != wallet {
				t.Errorf("the wallet went from %s to %s", wallet, now)
			}
		})
	}
}

func TestServiceThatIgnoresTheAmountOfAWithdrawal(t *testing.T) {
	t.Parallel()
	l := issued(t, object{"amount": 60})
	l.s.Put("/_sandbox/quirks", map[string]string{"withdraw_amount": "ignored"}).Must()
	l.says("the error", l.tryApply(object{"amount": 50}).Errors(), l.id(), "10.00 USD", "60.00 USD", "terraform plan")
	l.refresh()
	l.apply(object{"amount": 50}) // the difference is planned and funded
	l.holds("active", 5000, 1000000-5100)
}

func TestTerminatedWhileDestroying(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 409, 422} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			l := newLive(t)
			l.s = acctest.Start(t, contract.RequestsOnly())
			l.apply(object{"amount": 60})
			l.s.Put("/_sandbox/quirks", map[string]int{"terminated_status": status}).Must()
			l.s.Terminate(l.id())
			l.apply(nil)
		})
	}
}

func TestLostAnswers(t *testing.T) {
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
				l := issued(t, object{"amount": 60})
				id := l.id()
				fault(l.s, c.method, c.path, when, 1, "drop")
				l.apply(c.config)
				if c.config == nil {
					l.card.Values = object{"id": id}
				}
				l.holds(c.status, c.balance, c.wallet)
			})
		}
	}
}

func TestLostAnswerOfACreation(t *testing.T) {
	t.Parallel()
	for _, config := range []object{{"amount": 60}, {"amount": 60, "label": "mine"}} {
		l := newLive(t)
		fault(l.s, "POST", "/cards", "after", 1, "drop")
		t.Run("", func(t *testing.T) {
			t.Parallel()
			l.apply(config)
			l.holds("active", 6000, 1000000-6100)
		})
	}
}

func TestUndecidedTransferIsSettledByARefresh(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.s = acctest.Start(t, contract.RequestsOnly())
	l.apply(object{"amount": 60})
	l.account = object{"max_retries": 0}
	// The look before the transfer succeeds, those after it fail.
	fault(l.s, "GET", "/transactions", "before", 1, "pass")
	fault(l.s, "GET", "/transactions", "before", 0, down)
	fault(l.s, "POST", "/cards/*/fund", "after", 1, "drop")
	l.says("the error", l.tryApply(object{"amount": 100}).Errors(), "Could not fund card "+l.id(), "Money may or may not have moved", "terraform plan")
	l.same("the state", object{"amount": acctest.Number("60")}, l.card.Values)

	l.says("the warning", l.refresh().Warnings(), "still undecided", "40.00", l.id())
	l.failsToPlan(object{"amount": 90}, "An earlier movement of money on card "+l.id(), "40.00 USD")
	l.unchanged(object{"amount": 60})

	l.s.Delete("/_sandbox/faults").Must()
	l.says("the refresh", l.refresh().Warnings())
	l.same("the state", object{"amount": acctest.Number("100"), "balance": acctest.Number("100")}, l.card.Values)
	l.unchanged(object{"amount": 100})
	l.apply(object{"amount": 90})
	l.holds("active", 9000, 1000000-9100)
}

func TestUndecidedTopUpIsSettledByARefresh(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.s = acctest.Start(t, contract.RequestsOnly())
	config := object{"amount": 100, "top_up": object{"below": 40, "to": 80}}
	l.apply(config)
	l.spend(7000)
	l.refresh()
	l.account = object{"max_retries": 0}
	fault(l.s, "GET", "/transactions", "before", 1, "pass")
	fault(l.s, "GET", "/transactions", "before", 0, down)
	fault(l.s, "POST", "/cards/*/fund", "after", 1, "drop")
	l.says("the error", l.tryApply(config).Errors(), "Could not fund card "+l.id(), "Money may or may not have moved")
	l.same("the state", object{"topped_up": acctest.Number("0")}, l.card.Values)

	l.s.Delete("/_sandbox/faults").Must()
	l.says("the refresh", l.refresh().Warnings())
	l.same("the state", object{"amount": acctest.Number("100"), "topped_up": acctest.Number("50"), "balance": acctest.Number("80")}, l.card.Values)
	l.unchanged(config)
}

// The service freezes a card under its threshold by itself, so one that reads
// frozen after a lost answer may have been unfrozen: it is not unfrozen twice.
func TestLostUnfreezeUnderTheThreshold(t *testing.T) {
	t.Parallel()
	l := issued(t, object{"amount": 60, "auto_freeze_at": 70, "frozen": true})
	fault(l.s, "POST", "/cards/*/unfreeze", "before", 1, "drop")
	l.succeed(l.tryApply(object{"amount": 60, "auto_freeze_at": 70, "frozen": false}))
	l.holds("frozen", 6000, 1000000-6100)
	l.refresh()
	l.same("the state", object{"frozen": true, "status": "frozen"}, l.card.Values)
}
