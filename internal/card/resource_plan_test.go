package card_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

func sortedKeys(o object) []string { return slices.Sorted(maps.Keys(o)) }

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

// newCard is what Terraform plans a creation from.
var newCard = acctest.Instance{Type: "vcard_card"}
