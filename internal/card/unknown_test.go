package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// Terraform refuses to apply what turns out to be otherwise than its first plan knew.
func TestUnknownValues(t *testing.T) {
	t.Parallel()
	unknown := func(name string) object { return object{name: acctest.Unknown} }
	at30, cent := object{"auto_freeze_at": 30}, object{"auto_freeze_at": "0.01"}
	kept := object{"top_up": object{"below": 10, "to": 50}}
	undecided := object{"frozen": acctest.Unknown, "status": acctest.Unknown}
	moves := object{"topped_up": acctest.Unknown, "balance": acctest.Unknown}
	amounts := func(more object, amounts ...any) (known []object) {
		for _, amount := range amounts {
			known = append(known, merged(more, load(amount)))
		}
		return known
	}
	known := object{"metadata": object{"a": "b"}, "allowed_categories": []any{"travel"}}
	const decided = "Whether a card is topped up is decided during apply"
	// With an unknown amount, something else is set to a value, or to one that is known later.
	withAmount := func(name string, planned, known any, says ...string) step {
		return step{
			config: merged(at30, unknown("amount"), object{name: planned}), says: says,
			turnsOut: amounts(merged(at30, object{name: known}), 25, 70, 100, 130, nil),
		}
	}
	live(t, map[string]life{
		"amount": {nil, []step{
			{config: load(60), balance: 60 * d},
			{config: unknown("amount"), plans: object{"balance": acctest.Unknown, "topped_up": "0"}, turnsOut: amounts(nil, 60, 70)},
		}},
		// One cent is the least threshold, under which a withdrawal of all leaves a card.
		"amount, above the least threshold": {nil, []step{
			{config: merged(cent, load(60)), balance: 60 * d},
			{config: merged(cent, unknown("amount")), plans: undecided, turnsOut: amounts(cent, 0)},
		}},
		"amount, beside others": {nil, []step{
			{config: merged(at30, load(100)), balance: 100 * d},
			withAmount("frozen", nil, nil),
			withAmount("frozen", false, false),
			withAmount("frozen", acctest.Unknown, true),
			withAmount("frozen", acctest.Unknown, nil),
			withAmount("top_up", acctest.Unknown, kept["top_up"], decided),
			withAmount("top_up", acctest.Unknown, nil, decided),
			withAmount("deletion_protection", acctest.Unknown, nil),
		}},
		"amount, with a top-up": {nil, []step{
			{config: merged(kept, load(100)), balance: 100 * d},
			{
				spent: 95 * d, config: merged(kept, unknown("amount")), plans: moves, says: []string{decided, "ID"},
				turnsOut: amounts(kept, 100, 102, 130, nil),
			},
			{config: merged(kept, load(130)), balance: 35 * d}, // no top-up
		}},
		"when to top up": {nil, []step{
			{config: load(100), balance: 100 * d},
			{
				spent: 90 * d, config: merged(load(100), object{"top_up": object{"below": acctest.Unknown, "to": 50}}),
				plans: moves, says: []string{decided, "ID", "10.00 USD"}, turnsOut: []object{},
			},
			{config: merged(load(100), object{"top_up": object{"below": 20, "to": 50}}), balance: 50 * d},
		}},
		"a pause": {nil, []step{
			{config: merged(kept, load(100)), balance: 100 * d},
			{
				spent: 95 * d, config: merged(kept, load(100), unknown("frozen")), says: []string{decided},
				turnsOut: []object{merged(kept, load(100), object{"frozen": true}), merged(kept, load(100), object{"frozen": false})},
			},
			{config: merged(kept, load(100), object{"frozen": true}), status: "frozen", balance: 5 * d},
			{config: merged(kept, load(100), object{"frozen": false}), balance: 50 * d},
		}},
		// Whatever it turns out to be is taken over: there is nothing to replace for.
		"what an import does not tell": {map[string]any{"amount": 80}, []step{
			{
				config: merged(unknown("metadata"), unknown("allowed_categories"), unknown("auto_freeze_at")),
				says:   []string{"Taken over without proof: allowed_categories, metadata, auto_freeze_at"}, turnsOut: []object{known},
			},
			{config: known, says: []string{"Taken over without proof: allowed_categories, metadata"}, balance: 80 * d},
		}},
	})
}

// What an amount turns out to be is checked again where the money would move.
func TestUnknownAmountTurnsOutToBeNoAmount(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*fixture{"of a new card": newFixture(t), "of a live card": issued(t, load(100))} {
		before := f.s.Wallet()
		change, diags := f.plan(load(acctest.Unknown))
		f.succeed(diags)
		_, diags = f.protocol().Apply(change, load("50.001"))
		f.says("the error "+name, diags.Errors(), "Amount finer than a cent", "got 50.001")
		if after := f.s.Wallet(); after != before {
			t.Errorf("an amount %s that is none took %s from the wallet", name, before-after)
		}
	}
}
