package card_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func sortedKeys(o object) []string { return slices.Sorted(maps.Keys(o)) }

// everything sets each attribute.
func everything() object {
	return object{
		"amount": "120.50", "label": "search", "spending_limit": 1000, "auto_freeze_at": 5,
		"allowed_categories": []any{"advertising", "software"}, "metadata": object{"team": "ads"},
		"frozen": false, "deletion_protection": false, "top_up": object{"below": 20, "to": 100},
	}
}

func TestEachAttributeChangedAndRemoved(t *testing.T) {
	t.Parallel()
	for attribute, c := range map[string]struct {
		change   any  // another value
		replaces bool // the change replaces
		removing bool // removal replaces
	}{
		"amount":              {change: 130},
		"label":               {change: "social", replaces: true},
		"spending_limit":      {change: 2000, replaces: true},
		"auto_freeze_at":      {change: 6, replaces: true, removing: true},
		"allowed_categories":  {change: []any{"advertising"}, replaces: true, removing: true},
		"metadata":            {change: object{"team": "seo"}, replaces: true, removing: true},
		"frozen":              {change: true},
		"deletion_protection": {change: true},
		"top_up":              {change: object{"below": 30, "to": 40}},
		"bin_id":              {change: "bin_ads_mastercard_us", replaces: true},
	} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			f := issued(t, everything())
			operation := func(config object, replaces bool) {
				t.Helper()
				change, diags := f.plan(config)
				diags.Must(f.t)
				if got := slices.Contains(change.Replaces, attribute); got != replaces || len(change.Replaces) > 1 {
					t.Errorf("%v replaces for %v", config, change.Replaces)
				}
				if warned := strings.Contains(diags.Warnings(), "A card is replaced for "); warned != replaces {
					t.Errorf("warns of a replacement: %v, want %v: %s", warned, replaces, diags.Warnings())
				}
			}
			changed := everything()
			changed[attribute] = c.change
			operation(changed, c.replaces)
			if attribute != "bin_id" {
				removed := everything()
				delete(removed, attribute)
				operation(removed, c.removing)
				if !c.removing {
					f.apply(removed)
				}
				if !c.replaces {
					f.apply(everything())
					f.apply(changed)
				}
			}
			unknown := everything()
			unknown[attribute] = acctest.Unknown
			change, diags := f.plan(unknown)
			diags.Must(f.t)
			if planned := change.Planned[attribute]; !c.replaces && attribute != "deletion_protection" && planned != acctest.Unknown {
				t.Errorf("an unknown %s is planned as %v", attribute, planned)
			}
			if c.replaces {
				f.says("the warning", diags.Warnings(), attribute+" is known only after apply and may turn out the same")
			}
		})
	}
}

func TestReplacementIsSpelledOut(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 120, "label": "search"})
	f.spend(2050)
	f.refresh()
	change, diags := f.plan(object{"amount": 75, "label": "social"})
	diags.Must(f.t)
	last4, _ := f.card.Values["last4"].(string)
	f.says("the warning", diags.Warnings(), f.id(), `"search"`, "ending in "+last4, "99.50 USD returns to the wallet",
		"loaded with 75.00 USD", "fee of 1.00 USD", "label", "another number",
		"A card is replaced for 76.00 USD", "Unless the resource has lifecycle { create_before_destroy = true }, Terraform terminates the card first",
		"With lifecycle { destroy = false }, the old card keeps its number and its money. The provider cannot see lifecycle settings.")
	again, diags := f.protocol().Plan(change.After(), complete(object{"amount": 75, "label": "social"}))
	diags.Must(f.t)
	f.same("the creation", object{
		"id": acctest.Unknown, "last4": acctest.Unknown, "network": acctest.Unknown, "status": acctest.Unknown,
		"topped_up": acctest.Number("0"), "issuance_fee": acctest.Number("1"),
	}, again.Planned)
}

func TestDeletionProtection(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 50, "deletion_protection": true})
	want := []string{"Deletion protection keeps card " + f.id(), "deletion_protection = false"}
	f.failsToPlan(nil, want...)
	f.failsToPlan(object{"amount": 50, "label": "other", "deletion_protection": true}, want...)
	f.failsToPlan(object{"amount": 50, "label": "other", "deletion_protection": false}, want...)

	forced, diags := f.plan(object{"amount": 50, "deletion_protection": true}) // -replace: the second plan alone sees it
	diags.Must(f.t)
	_, diags = f.protocol().Plan(forced.After(), complete(object{"amount": 50, "deletion_protection": true}))
	f.says("the error", diags.Errors(), want...)

	tainted, diags := f.protocol().Apply(acctest.Change{Prior: f.card}, nil) // no plan of its own
	f.says("the error", diags.Errors(), want...)
	if tainted.Values == nil {
		t.Error("the card left the state")
	}
	f.holds("active", 5000, 1000000-5100)
	f.apply(object{"amount": 50})
	f.failsToPlan(object{"amount": 50, "label": "other", "deletion_protection": true}, want...) // protected by the same plan
	f.apply(nil)
	if got := f.s.Wallet(); got != 1000000-100 {
		t.Errorf("the wallet holds %s", got)
	}
}

// A mistake costs nothing, and is told in one error.
func TestIssueChecks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	but := func(name string, value any) object { return merged(load(100), object{name: value}) }
	for words, config := range map[string]object{
		"label must have 1 to 64 characters, got 65. substr(…, 0, 64) cuts what is longer":    but("label", strings.Repeat("x", 65)),
		"allowed_categories must name at least one":                                           but("allowed_categories", []any{}),
		"amount must be set to issue a card":                                                  {},
		"amount must be at least 50.00 USD to issue a card, got 49.99":                        load("49.99"),
		"amount must be an amount in USD with at most two decimals, got 333.333333. Round it": load("333.333333"),
		"must be at least top_up.below (60.00 USD)":                                           merged(load(55), object{"top_up": object{"below": 60, "to": 80}}),
		"\"bin_gone\". There are:\n  bin_ads_mastercard_eu (mastercard, ads)\n":               merged(load(55), object{"bin_id": "bin_gone"}),
		"top_up.to must be an amount in USD with at most two decimals":                        but("top_up", object{"below": 20, "to": "50.001"}),
		"top_up.below must be an amount in USD with at most two decimals":                     but("top_up", object{"below": "20.001", "to": 50}),
		"top_up.to must be at least 0.00 USD, got -1.00":                                      but("top_up", object{"below": 20, "to": -1}),
		"top_up.to must be at least top_up.below (20.00 USD), got 10.00 USD":                  but("top_up", object{"below": 20, "to": 10}),
		"auto_freeze_at must be at least 0.01 USD, got 0.00":                                  but("auto_freeze_at", 0),
		"spending_limit must be an amount in USD of at most":                                  but("spending_limit", "1e20"),
	} {
		_, diags := f.plan(config)
		if f.says(plain(config), diags.Errors(), words); strings.Contains(diags.Errors(), "\n") && words[0] != '"' {
			t.Errorf("%s says more: %s", plain(config), diags.Errors())
		}
	}
	if now := f.s.Wallet(); now != acctest.InitialBalance {
		t.Errorf("the wallet holds %s USD", now)
	}
	change, diags := f.plan(object{
		"bin_id": acctest.Unknown, "amount": acctest.Unknown, "frozen": acctest.Unknown, "top_up": acctest.Unknown,
		"metadata": object{"a": acctest.Unknown}, "label": acctest.Unknown,
	})
	diags.Must(f.t)
	f.same("the plan", object{"amount": acctest.Unknown, "bin_id": acctest.Unknown, "frozen": acctest.Unknown, "topped_up": 0}, change.Planned)
}

// newCard is what Terraform plans a creation from.
var newCard = acctest.Instance{Type: "vcard_card"}

// Which card a plan is about: a new one, the one that is there, or once more the one
// before, as the new card of a replacement, which Terraform may force.
const (
	aNew   = "a new card"
	issues = "a new card, which is issued at once"
	held   = "the card that is there"
	again  = "the card that replaces it"
)

// cardPlan is one of the plans that a process makes.
type cardPlan struct {
	of     string
	config object
	says   []string // of the wallet, none when nil
}

var ofTheWallet = regexp.MustCompile("The plan (takes|may not be payable)|before anything returns")

// What the plans of one process take from the wallet, and return to it, is counted
// together and in whole cents.
func TestWalletCheck(t *testing.T) {
	t.Parallel()
	other := func(amount any) object { return object{"amount": amount, "label": "other"} }
	mode := func(mode string) object { return object{"wallet_check": mode} }
	takes := func(amount, wallet string, more ...string) []string {
		return append(more, "The plan takes at least "+amount+" USD from a wallet that holds "+wallet+" USD")
	}
	mayTake := func(amount, wallet string, more ...string) []string {
		return append(more, "The plan may not be payable: it takes at least "+amount+" USD, and the wallet holds "+wallet+" USD")
	}
	rich := load(9000) // which leaves 999.00 in the wallet
	toTopUp := object{"amount": 1000, "top_up": object{"below": 500, "to": 1000}}
	labelled := object{"amount": 100, "label": "ads"}
	twoMore := func(says ...string) []cardPlan {
		return []cardPlan{{held, rich, nil}, {aNew, load(500), nil}, {aNew, load(500), says}}
	}
	createFirst := func(amount any, says ...string) []cardPlan { return []cardPlan{{held, other(amount), says}} }
	const takesFirst = "this plan takes 1001.00 USD before anything returns, and the wallet holds 999.00 USD"
	for name, c := range map[string]struct {
		card    object     // there is
		spent   usd.Amount // of it
		account object
		plans   []cardPlan
		refuses bool // the last plan
	}{
		"several": {plans: []cardPlan{
			{aNew, load(5000), nil},
			{aNew, load(4998), nil}, // all that there is
			{aNew, load(acctest.Unknown), takes("10051.00", "10000.00", "51.00 USD", "Deposit first")},
			{aNew, load(5000), nil}, // it is said
		}},
		"a cent too much": {plans: []cardPlan{{aNew, load("9999.01"), takes("10000.01", "10000.00")}}},
		"a replacement, counted once": {card: rich, plans: []cardPlan{
			{held, other(9900), []string{"before anything returns"}},
			{again, other(9900), nil},
			{aNew, load(97), nil},
			{aNew, load(50), takes("1050.00", "999.00")},
		}},
		"a forced replacement, planned as an update first": {card: rich, plans: []cardPlan{
			{held, load(9500), nil}, {again, load(9500), nil}, {aNew, load(497), nil}, {aNew, load(50), takes("1050.00", "999.00")},
		}},
		"a forced replacement by less": {card: rich, plans: []cardPlan{
			{held, load(1000), nil}, {again, load(1000), nil}, {aNew, load(8997), nil},
		}},
		"a top-up": {card: toTopUp, spent: 900 * d, plans: []cardPlan{
			{held, toTopUp, nil}, {aNew, load(8999), takes("9900.00", "9899.00")},
		}},
		"a forced replacement, planned as a top-up first": {card: toTopUp, spent: 900 * d, plans: []cardPlan{
			{held, toTopUp, nil}, {again, toTopUp, nil}, {aNew, load(8997), nil}, {aNew, load(50), takes("9950.00", "9899.00")},
		}},
		"a termination": {card: rich, plans: []cardPlan{
			{held, nil, nil}, {aNew, load(9998), nil}, {aNew, load(50), takes("1050.00", "999.00")},
		}},
		// Apply plans again, from a wallet that it is spending.
		"after the first write": {plans: []cardPlan{{issues, load(60), nil}, {aNew, load(9950), nil}}},
		"while others hold money": {card: load(60), plans: []cardPlan{
			{aNew, load(9950), mayTake("9951.00", "9939.00", "other cards hold 60.00 USD")},
		}},
		// As a tainted card is planned: nothing tells that the old one returns its money.
		"error, which may turn out payable": {card: rich, account: mode("error"), plans: []cardPlan{
			{aNew, rich, mayTake("9001.00", "999.00", "tainted card", "create_before_destroy")},
		}},
		"error, more than there is in all": {card: rich, account: mode("error"), refuses: true, plans: []cardPlan{
			{aNew, load(9999), takes("10000.00", "999.00")},
		}},
		"by default": {card: rich, plans: twoMore(takes("1002.00", "999.00")...)},
		"warn":       {card: rich, account: mode("warn"), plans: twoMore(takes("1002.00", "999.00")...)},
		"error": {
			card: rich, account: mode("error"), refuses: true, plans: twoMore(takes("1002.00", "999.00", `wallet_check = "warn"`)...),
		},
		"off":                     {card: rich, account: mode("off"), plans: twoMore()},
		"create first":            {card: rich, plans: createFirst(1000, takesFirst)},
		"create first, payable":   {card: rich, plans: createFirst(998)},
		"create first, error":     {card: rich, account: mode("error"), plans: createFirst(1000, takesFirst)},
		"create first, unchecked": {card: rich, account: mode("off"), plans: createFirst(1000)},
		// Planned before the card of the state that has the label is read.
		"its own label": {card: labelled, plans: []cardPlan{{held, labelled, nil}, {aNew, labelled, nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, contract.RequestsOnly())
			f.s.AddQuirks(object{"wallet_decimals": 6}) // 10000.001234
			if c.card != nil {
				f.apply(c.card)
			}
			if c.spent > 0 {
				f.spend(c.spent)
				f.refresh()
			}
			f.account = c.account
			p := f.protocol()
			var last acctest.Change
			for i, plan := range c.plans {
				from := map[string]acctest.Instance{aNew: newCard, issues: newCard, held: f.card, again: last.After()}[plan.of]
				change, diags := p.Plan(from, complete(plan.config))
				told := diags.Warnings()
				if refused := c.refuses && i == len(c.plans)-1; refused {
					told = diags.Errors()
				} else {
					diags.Must(f.t)
				}
				if plan.of == held && plan.says == nil { // what a plan says of a replacement
					told = ofTheWallet.FindString(told)
				}
				f.says("the plan of "+plan.of, told, plan.says...)
				if last = change; plan.of == issues {
					_, diags = p.Apply(change, nil)
					diags.Must(f.t)
				}
			}
		})
	}
}
