package card_test

import (
	"regexp"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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
