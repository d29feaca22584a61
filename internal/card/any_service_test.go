package card_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A card lives the same life however the service writes its values: issued,
// funded, withdrawn from, topped up, frozen, terminated, with empty plans between.
func TestLifeOfACardInAnyNotation(t *testing.T) {
	t.Parallel()
	for name, quirks := range map[string]object{
		"binary floats":          {"amounts": "floats"},
		"strings":                {"amounts": "strings"},
		"a wallet in six digits": {"wallet_decimals": 6},
		"times without a zone":   {"timestamps": "bare"},
		"empty metadata as []":   {"empty_metadata": "array"},
		"all signs":              {"transaction_signs": "spending", "amounts": "floats"},
		"no per_page":            {"transactions_per_page": "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, contract.RequestsOnly())
			f.s.AddQuirks(quirks)
			step := func(config object, balance, wallet usd.Amount) {
				t.Helper()
				if told := f.apply(config).Warnings(); told != "" {
					t.Errorf("%v says %s", config, told)
				}
				serviceHolds(t, f.s, "active", balance, wallet)
			}
			step(object{"amount": "100.10"}, 10010, 9898_90)
			f.s.Settle(f.s.Authorize(f.id(), "20.20", "7311", `"fee":0.30`).Transaction(), "")
			f.refresh()
			step(object{"amount": "150.10"}, 150_10-20_50, 9848_90)
			step(object{"amount": "130.10"}, 130_10-20_50, 9868_90)
			step(object{"amount": "130.10", "top_up": object{"below": 120, "to": 140}}, 140_00, 9868_90-30_40)
			f.apply(nil)
			if got := f.s.Wallet(); got != 9868_90-30_40+140_00 {
				t.Errorf("the wallet holds %s in the end", got)
			}
		})
	}
}

// What trying again does not change is said at once, with the field.
func TestWrongShapeIsNotTheNetwork(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60})
	calls := 0
	broken := f.s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/cards/"+f.id()) {
			return false
		}
		calls++
		_, _ = fmt.Fprintf(w, `{"id":%q,"bin_id":%q,"network":"visa","last4":"0000","status":"active","balance":"sixty","spending_limit":5000}`, f.id(), bin)
		return true
	})
	_, diags := broken.Protocol(nil).Refresh(f.card)
	f.says("the error", diags.Errors(), "balance", `is "sixty"`, "not as its document describes", "support")
	if calls != 1 || strings.Contains(diags.Errors(), "network") {
		t.Errorf("after %d calls: %s", calls, diags.Errors())
	}
}

// fault is how the service misbehaves at one kind of call.
func fault(method, path, when string, times int, then any) object {
	return object{"method": method, "path": path, "when": when, "times": times, "then": then}
}

// down is an answer that says nothing about what happened.
var down = map[string]any{"status": 500, "body": map[string]string{"error": "down", "message": "down"}}

// tryApply plans and applies and returns what apply says; the plan must succeed.
func (f *fixture) tryApply(config object) acctest.Diagnostics {
	f.t.Helper()
	p := f.protocol()
	change, diags := p.Plan(f.card, complete(config))
	diags.Must(f.t)
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
	refusal := object{"status": 400, "body": object{"error": "invalid_request", "message": "not today"}}
	f.s.Fault(fault("POST", "/cards/*/freeze", "before", 1, refusal))
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
	f := newFixture(t, contract.RequestsOnly())
	f.s.Quirks(nil) // each page is asked for once
	f.apply(object{"amount": 60})
	f.account = object{"max_retries": 0}
	// The reading before the transfer succeeds, those after it fail.
	f.s.Fault(fault("GET", "/transactions", "before", 1, "pass"))
	f.s.Fault(fault("GET", "/transactions", "before", 0, down))
	f.s.Fault(fault("POST", "/cards/*/fund", "after", 1, "drop"))
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
