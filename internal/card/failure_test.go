package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
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

// What moves after it is not known yet, and not told from giving it up.
func TestUndecidedMovementBeforeAnUnknownTopUp(t *testing.T) {
	t.Parallel()
	f := undecided(t)
	f.refresh()
	f.failsToPlan(object{"amount": 60, "top_up": acctest.Unknown}, "An earlier movement of money is undecided", f.id())
}
