package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// turnsOut plans values that are not known yet, and again with what they turn
// out to be. Terraform refuses to apply when the first plan knew better.
func (l *live) turnsOut(unknown, known object) {
	l.t.Helper()
	first, diags := l.plan(unknown)
	l.succeed(diags)
	second, diags := l.plan(known)
	l.succeed(diags)
	for name, value := range first.Planned {
		if value != acctest.Unknown {
			l.same("the plan made during apply", object{name: value}, second.Planned)
		}
	}
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
			l := issued(t, object{"amount": 100, "auto_freeze_at": 30})
			for _, amount := range []any{25, 70, 100, 130, nil} {
				unknown, known := object{"amount": acctest.Unknown, "auto_freeze_at": 30}, object{"amount": amount, "auto_freeze_at": 30}
				for attribute, values := range c {
					unknown[attribute], known[attribute] = values.unknown, values.known
				}
				l.turnsOut(unknown, known)
			}
		})
	}
}

func TestTopUpUnknown(t *testing.T) {
	t.Parallel()
	l := issued(t, object{"amount": 100})
	l.spend(9000)
	l.refresh()
	unknown := object{"amount": 100, "top_up": object{"below": acctest.Unknown, "to": 50}}
	change, diags := l.plan(unknown)
	l.succeed(diags)
	l.says("the warning", diags.Warnings(), "Whether the card is topped up is decided during apply", l.id(), "10.00 USD")
	l.same("the plan", object{"topped_up": acctest.Unknown, "balance": acctest.Unknown}, change.Planned)
	config := object{"amount": 100, "top_up": object{"below": 20, "to": 50}}
	l.apply(config)
	l.holds("active", 5000, 1000000-10100+9000-4000)
}

// Whatever they turn out to be is adopted, so there is nothing to replace for.
func TestImportedAttributesAreAdoptedUnknown(t *testing.T) {
	t.Parallel()
	l := imported(t, map[string]any{"amount": 80, "label": "by hand"})
	unknown := object{"metadata": acctest.Unknown, "allowed_categories": acctest.Unknown, "auto_freeze_at": acctest.Unknown}
	change, diags := l.plan(unknown)
	l.succeed(diags)
	if len(change.Replaces) > 0 {
		t.Errorf("what is not known yet replaces for %v", change.Replaces)
	}
	l.says("the warning", diags.Warnings(), "Taken over without proof: allowed_categories, metadata, auto_freeze_at")
	known := object{"metadata": object{"a": "b"}, "allowed_categories": []any{"travel"}, "auto_freeze_at": nil}
	l.turnsOut(unknown, known)
	l.apply(known)
}

func TestUnknownAmountWithATopUp(t *testing.T) {
	t.Parallel()
	topUp := object{"below": 10, "to": 50}
	l := issued(t, object{"amount": 100, "top_up": topUp})
	l.spend(9500)
	l.refresh()
	unknown := object{"amount": acctest.Unknown, "top_up": topUp}
	for _, amount := range []any{100, 102, 130, nil} {
		l.turnsOut(unknown, object{"amount": amount, "top_up": topUp})
	}
	change, diags := l.plan(unknown)
	l.succeed(diags)
	l.same("the plan", object{"topped_up": acctest.Unknown, "balance": acctest.Unknown}, change.Planned)
	l.says("the warning", diags.Warnings(), "Whether the card is topped up is decided during apply", l.id())
	l.apply(object{"amount": 130, "top_up": topUp}) // leaves 35.00: no top-up
	l.holds("active", 3500, 1000000-10100+9500-3000)
}
