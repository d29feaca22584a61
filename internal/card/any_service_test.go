package card_test

import (
	"encoding/json"
	"fmt"
	"maps"
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

// showing is a service whose answers about a card, to calls of a method or of all with
// "", show it otherwise.
func showing(s *acctest.Service, method string, fields object) *acctest.Service {
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if method != "" && r.Method != method {
			return false
		}
		shown := forward(s, r)
		if shown.Body["last4"] != nil {
			maps.Copy(shown.Body, fields)
			body, _ := json.Marshal(shown.Body)
			shown.Raw = string(body)
		}
		answer(w, shown.Status, shown.Raw)
		return true
	})
}

const untidy = `amount = 60
  label = " ads "
  spending_limit = 60000
  allowed_categories = ["travel", "food"]`

// What the service made of a value at issuing is no drift: every plan would
// replace the card, for a dollar, a new number, and the same result.
func TestValuesThatTheServiceKeepsOtherwise(t *testing.T) {
	t.Parallel()
	s, w := acctest.Start(t), newCLI(t, nil)
	s.Quirks(object{"card_values": "tidied"})
	through(w, s, "")
	output := apply(w, oneCard(untidy))
	card := onlyCard(s)
	prints(t, output, "The service issued "+card.ID+" otherwise than asked", `label "ads" in place of " ads "`, "spending_limit 50000.00 USD in place of 60000.00")
	printsNot(t, output, "allowed_categories [")
	for range 2 {
		plansNothing(t, w)
		w.Must("apply", "-no-color", "-auto-approve", "-refresh-only")
	}
	serviceHolds(t, s, "active", 60*usd.Dollar, acctest.InitialBalance-61*usd.Dollar)

	// Writing what the service has changes nothing either, now and later.
	tidy := strings.NewReplacer(`" ads "`, `"ads"`, "60000", "50000").Replace(untidy)
	if output := apply(w, oneCard(tidy)); !strings.Contains(output, "1 changed, 0 destroyed") {
		t.Errorf("taking over what the service has is no mere change:\n%s", output)
	}
	plansNothing(t, w)
	if now := onlyCard(s); now.ID != card.ID {
		t.Errorf("the card is %s, was %s", now.ID, card.ID)
	}
	w.Must("destroy", "-no-color", "-auto-approve")
}

// Drift never replaces a card: support raised a limit and tidied a label, which one
// sentence says once, with both values. A configuration that follows takes it over.
func TestDriftReplacesNoCard(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := func(limit string) string {
		return oneCard("amount = 60\n  label = \"Ads \"\n  spending_limit = " + limit)
	}
	w := applied(newCLI(t, nil), s, "", config("500"))
	old := onlyCard(s)
	through(w, showing(s, http.MethodGet, object{"label": "", "spending_limit": 0}), "")
	prints(t, plansNothing(t, w), `shows a card otherwise`, `label "" in place of "Ads "`, "asked. An empty label cannot be configured")
	through(w, showing(s, http.MethodGet, object{"spending_limit": 700, "label": "ads"}), "")
	output := plansNothing(t, w)
	prints(t, output, old.ID, "spending_limit 700.00 USD in place of 500.00", "write its label and spending_limit into")
	w.Must("apply", "-no-color", "-auto-approve", "-refresh-only")
	printsNot(t, plansNothing(t, w), "otherwise")
	prints(t, apply(w, config("700")), "spending_limit = 500 -> 700", "0 added, 1 changed, 0 destroyed")
	plansNothing(t, w)
	w.Write("main.tf", config("600"))
	prints(t, w.Must("plan", "-no-color"), "spending_limit = 700 -> 600", "forces replacement")
}

// A card whose response was lost is found though its label, or the limit of one
// that only its label can have, is not as asked: issuing it once more would pay
// for two.
func TestTidiedCardIsRecovered(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]object{
		"written label":                     {"amount": 60, "label": " ads ", "spending_limit": 500},
		"generated label, of another limit": {"amount": 60, "spending_limit": 60000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.s.Quirks(object{"card_values": "tidied", "idempotency": "ignored"})
			f.s.Fault(fault("POST", "/cards", "after", 1, "drop"))
			f.apply(config)
			f.unchanged(config)
			if n := len(liveCards(f.s)); n != 1 {
				t.Errorf("%d cards were issued", n)
			}
		})
	}
}

// A label finds the card that it was written for, however the spaces around it are.
func TestCardsAreFoundByTheirLabels(t *testing.T) {
	t.Parallel()
	for _, kept := range []string{"tidied", "as_asked"} {
		s := acctest.Start(t)
		s.AddQuirks(object{"card_values": kept})
		id := issue(s, map[string]any{"amount": 60, "label": " ads ", "allowed_categories": []string{"travel"}}).ID
		p := s.Protocol(nil)
		for _, label := range []string{" ads ", "ads"} {
			one, _ := p.ReadDataSource("vcard_card", object{"label": label})
			some, _ := p.ReadDataSource("vcard_cards", object{"label": label, "label_prefix": " a"})
			listed, _ := p.List("vcard_card", object{"label": label}, 100, false)
			if one["id"] != id || plain(some["ids"]) != "["+id+"]" || len(listed) != 1 || listed[0].Identity["id"] != id {
				t.Errorf("%s: %q finds %v, %v and %v", kept, label, one["id"], some["ids"], listed)
			}
		}
	}
}

// A limit that nobody asked for is what the first reading shows.
func TestDefaultLimitThatIsShownLater(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := newCLI(t, nil)
	through(w, showing(s, http.MethodPost, object{"spending_limit": 0, "auto_freeze_at": 5, "metadata": nil}), "")
	prints(t, apply(w, oneCard("amount = 60")), "has auto_freeze_at 5.00 USD in place of not set, which")
	printsNot(t, plansNothing(t, w), "otherwise than asked")
	prints(t, w.Must("apply", "-no-color", "-auto-approve", "-refresh-only"), "spending_limit", "0 -> 50000")
	plansNothing(t, w)
}

// A settlement above what was authorized can take a card below zero.
func TestBalanceBelowZero(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60, "top_up": object{"below": 10, "to": 50}})
	p := showing(f.s, "", object{"balance": -5.25}).Protocol(nil)
	now, diags := p.Refresh(f.card)
	diags.Must(f.t)
	f.same("the state", object{"balance": acctest.Number("-5.25")}, now.Values)
	change, diags := p.Plan(now, complete(object{"amount": 60, "top_up": object{"below": 10, "to": 50}}))
	diags.Must(f.t)
	f.same("the plan", object{"topped_up": acctest.Number("55.25")}, change.Planned)
	read, diags := p.ReadDataSource("vcard_card", object{"id": f.id()})
	diags.Must(f.t)
	f.same("the data source", object{"balance": acctest.Number("-5.25")}, read)
}

// Terraform would take any difference from the plan for a bug in the provider,
// taint the card and issue another one, again and again.
func TestCardIsIssuedOtherwiseThanAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.s = showing(f.s, "", object{
		"bin_id": strings.ToUpper(bin), "label": "trimmed", "spending_limit": 100, "status": "frozen", "auto_freeze_at": 25,
		"allowed_categories": []string{"travel"}, "metadata": object{"team": "us", "size": 5, "more": true, "none": nil},
	})
	config := object{
		"amount": 60, "label": " trimmed", "spending_limit": 200, "frozen": false, "auto_freeze_at": 30,
		"allowed_categories": []any{"travel", "food"}, "metadata": object{"team": "eu", "size": "5", "less": "a", "none": "b"},
	}
	change, diags := f.plan(config)
	diags.Must(f.t)
	diags = f.tryChange(f.protocol(), change)
	diags.Must(f.t)
	f.same("what apply returns", known(change.Planned), f.card.Values)
	f.says("the warning", diags.Warnings(), f.id(), `label "trimmed" in`, "its bin_id and label and spending_limit into", "100.00 USD in",
		`bin_id "`+strings.ToUpper(bin)+`" in place of "`+bin+`"`, "auto_freeze_at 25.00 USD in", `allowed_categories ["travel"] in place of [`,
		`metadata["less"] not set in place of "a" and metadata["more"] "true" in place of not set and`, `"b" and metadata["team"] "us" in`)
	f.refresh()
	f.same("the refreshed state", object{"bin_id": bin, "label": " trimmed", "spending_limit": 200, "frozen": true}, f.card.Values)
}
