package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// newCard is what Terraform plans a creation from.
var newCard = acctest.Instance{Type: "vcard_card"}

// A replacement that Terraform forces is planned as an update first, which may
// top the card up; the replacement does not.
func TestWalletCheckOfAForcedReplacementOfACardToTopUp(t *testing.T) {
	t.Parallel()
	config := complete(object{"amount": 1000, "top_up": object{"below": 500, "to": 1000}})
	f := issued(t, config)
	f.spend(90000) // the card holds 100.00, the wallet 9,899.00
	f.refresh()
	p := f.protocol()
	update, diags := p.Plan(f.card, config)
	f.succeed(diags)
	f.same("the plan", object{"topped_up": acctest.Number("900")}, update.Planned)
	_, diags = p.Plan(newCard, complete(object{"amount": 8999}))
	f.says("the warning", diags.Warnings(), "The plan takes at least 9900.00 USD from a wallet that holds 9899.00 USD")

	p = f.protocol()
	update, diags = p.Plan(f.card, config)
	f.succeed(diags)
	_, diags = p.Plan(update.After(), config) // takes 1,001.00 less 100.00
	f.succeed(diags)
	_, diags = p.Plan(newCard, complete(object{"amount": 8997})) // 9,899.00 in sum
	f.succeed(diags)
	f.says("the warning", diags.Warnings())
	_, diags = p.Plan(newCard, complete(object{"amount": 50}))
	f.says("the warning", diags.Warnings(), "The plan takes at least 9950.00 USD from a wallet that holds 9899.00 USD")
}

func TestWalletCheckCountsWhatATerminationReturns(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 9000}) // the wallet holds 999.00
	for amount, words := range map[int][]string{
		9998: nil, // and the fee: all that there is
		9999: {"The plan takes at least 1000.00 USD from a wallet that holds 999.00 USD"},
	} {
		p := f.protocol()
		_, diags := p.Plan(f.card, nil)
		f.succeed(diags)
		_, diags = p.Plan(newCard, complete(object{"amount": amount}))
		f.succeed(diags)
		f.says("the warning", diags.Warnings(), words...)
	}
}

// Apply plans again, from a wallet that it is spending.
func TestWalletCheckIsSilentAfterTheFirstWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.protocol()
	change, diags := p.Plan(newCard, complete(object{"amount": 60}))
	f.succeed(diags)
	_, diags = p.Apply(change, nil)
	f.succeed(diags)
	_, diags = p.Plan(newCard, complete(object{"amount": 9950}))
	f.succeed(diags)
	f.says("the warning during apply", diags.Warnings())
	_, diags = f.protocol().Plan(newCard, complete(object{"amount": 9950}))
	f.says("the warning of the next plan", diags.Warnings(), "The plan may not be payable: it takes at least 9951.00 USD, and the wallet holds 9939.00 USD", "other cards hold 60.00 USD")
}
