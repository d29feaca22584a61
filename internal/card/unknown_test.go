package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// turnsOut plans values that are not known yet, and again with what they turn
// out to be. Terraform refuses to apply when the first plan knew better.
func (f *fixture) turnsOut(unknown, known object) {
	f.t.Helper()
	first, diags := f.plan(unknown)
	f.succeed(diags)
	second, diags := f.plan(known)
	f.succeed(diags)
	for name, value := range first.Planned {
		if value != acctest.Unknown {
			f.same("the plan made during apply", object{name: value}, second.Planned)
		}
	}
}

func TestUnknownAmountWithoutATopUp(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60})
	change, diags := f.plan(object{"amount": acctest.Unknown})
	f.succeed(diags)
	f.says("the warning", diags.Warnings())
	f.same("the plan", object{"balance": acctest.Unknown, "topped_up": acctest.Number("0")}, change.Planned)
}

// One cent is the least threshold, under which a withdrawal of all leaves a card.
func TestUnknownAmountAboveTheLeastThreshold(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60, "auto_freeze_at": "0.01"})
	change, diags := f.plan(object{"amount": acctest.Unknown, "auto_freeze_at": "0.01"})
	f.succeed(diags)
	f.same("the plan", object{"frozen": acctest.Unknown, "status": acctest.Unknown}, change.Planned)
}

func TestUnknownAmountTurnsOut(t *testing.T) {
	t.Parallel()
	type pair struct{ unknown, known any }
	for name, c := range map[string]map[string]pair{
		"frozen not set":          {},
		"frozen":                  {"frozen": {false, false}},
		"frozen unknown":          {"frozen": {acctest.Unknown, true}},
		"frozen unknown, not set": {"frozen": {acctest.Unknown, nil}},
		"top-up unknown":          {"top_up": {acctest.Unknown, object{"below": 10, "to": 50}}},
		"top-up unknown, not set": {"top_up": {acctest.Unknown, nil}},
		"protection unknown":      {"deletion_protection": {acctest.Unknown, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := issued(t, object{"amount": 100, "auto_freeze_at": 30})
			for _, amount := range []any{25, 70, 100, 130, nil} {
				unknown, known := object{"amount": acctest.Unknown, "auto_freeze_at": 30}, object{"amount": amount, "auto_freeze_at": 30}
				for attribute, values := range c {
					unknown[attribute], known[attribute] = values.unknown, values.known
				}
				f.turnsOut(unknown, known)
			}
		})
	}
}

func TestTopUpUnknown(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100})
	f.spend(9000)
	f.refresh()
	unknown := object{"amount": 100, "top_up": object{"below": acctest.Unknown, "to": 50}}
	change, diags := f.plan(unknown)
	f.succeed(diags)
	f.says("the warning", diags.Warnings(), "Whether a card is topped up is decided during apply", f.id(), "10.00 USD")
	f.same("the plan", object{"topped_up": acctest.Unknown, "balance": acctest.Unknown}, change.Planned)
	config := object{"amount": 100, "top_up": object{"below": 20, "to": 50}}
	f.apply(config)
	f.holds("active", 5000, 1000000-10100+9000-4000)
}

// Whatever they turn out to be is adopted, so there is nothing to replace for.
func TestImportedAttributesAreAdoptedUnknown(t *testing.T) {
	t.Parallel()
	f := imported(t, map[string]any{"amount": 80, "label": "by hand"})
	unknown := object{"metadata": acctest.Unknown, "allowed_categories": acctest.Unknown, "auto_freeze_at": acctest.Unknown}
	change, diags := f.plan(unknown)
	f.succeed(diags)
	if len(change.Replaces) > 0 {
		t.Errorf("what is not known yet replaces for %v", change.Replaces)
	}
	f.says("the warning", diags.Warnings(), "Taken over without proof: allowed_categories, metadata, auto_freeze_at")
	known := object{"metadata": object{"a": "b"}, "allowed_categories": []any{"travel"}, "auto_freeze_at": nil}
	f.turnsOut(unknown, known)
	f.apply(known)
}

func TestUnknownAmountWithATopUp(t *testing.T) {
	t.Parallel()
	topUp := object{"below": 10, "to": 50}
	f := issued(t, object{"amount": 100, "top_up": topUp})
	f.spend(9500)
	f.refresh()
	unknown := object{"amount": acctest.Unknown, "top_up": topUp}
	for _, amount := range []any{100, 102, 130, nil} {
		f.turnsOut(unknown, object{"amount": amount, "top_up": topUp})
	}
	change, diags := f.plan(unknown)
	f.succeed(diags)
	f.same("the plan", object{"topped_up": acctest.Unknown, "balance": acctest.Unknown}, change.Planned)
	f.says("the warning", diags.Warnings(), "Whether a card is topped up is decided during apply", f.id())
	f.apply(object{"amount": 130, "top_up": topUp}) // leaves 35.00: no top-up
	f.holds("active", 3500, 1000000-10100+9500-3000)
}

// What an amount turns out to be is checked again where the money would move.
func TestUnknownAmountTurnsOutToBeNoAmount(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*fixture{"of a new card": newFixture(t), "of a live card": issued(t, object{"amount": 100})} {
		change, diags := f.plan(object{"amount": acctest.Unknown})
		f.succeed(diags)
		before := f.s.Wallet()
		_, diags = f.protocol().Apply(change, object{"amount": "50.001"})
		f.says("the error "+name, diags.Errors(), "Amount finer than a cent", "got 50.001")
		if after := f.s.Wallet(); after != before {
			t.Errorf("an amount %s that is none took %s from the wallet", name, before-after)
		}
	}
}
