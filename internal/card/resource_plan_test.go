package card_test

import (
	"encoding/json"
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

// A state may hold a successor that an earlier run planned and never issued.
func TestPlanForgetsASuccessorThatWasNeverIssued(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]object{"destroyed": nil, "changed": {"amount": 110}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := issued(t, object{"amount": 100})
			stale := f.private()
			stale["replacement"] = map[string]any{"cost": "99999"}
			f.keepPrivate(stale)
			f.apply(config)
			if config != nil && f.private()["replacement"] != nil {
				t.Errorf("what is kept of the card: %v", f.private())
			}
		})
	}
}

// Terminating a card finds there what is configured of its successor, and known.
func TestPlanKeepsWhatIsKnownOfANewCard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config object
		known  []string
	}{
		"all of it": {object{"amount": 60}, []string{"allowed_categories", "amount", "auto_freeze_at", "bin_id", "label", "metadata", "spending_limit"}},
		"a part":    {object{"amount": 60, "label": acctest.Unknown, "metadata": object{"a": acctest.Unknown}}, []string{"allowed_categories", "amount", "auto_freeze_at", "bin_id", "spending_limit"}},
	} {
		f := newFixture(t)
		change, diags := f.plan(c.config)
		diags.Must(f.t)
		f.card = change.After()
		successor, _ := f.private()["replacement"].(object)
		known, _ := successor["config"].(object)
		if got := sortedKeys(known); !slices.Equal(got, c.known) || known["amount"] != "60" {
			t.Errorf("%s: known are %v of %v", name, got, successor)
		}
	}
}

// private is what the provider keeps beside the state of the card.
func (f *fixture) private() map[string]any {
	f.t.Helper()
	var kept map[string][]byte
	var card map[string]any
	if err := json.Unmarshal(f.card.Private, &kept); err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(kept["card"], &card); err != nil {
		f.t.Fatal(err)
	}
	return card
}

func (f *fixture) keepPrivate(card map[string]any) {
	f.t.Helper()
	kept, err := json.Marshal(card)
	if err != nil {
		f.t.Fatal(err)
	}
	if f.card.Private, err = json.Marshal(map[string][]byte{"card": kept}); err != nil {
		f.t.Fatal(err)
	}
}
