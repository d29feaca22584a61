package card_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// A tainted card that stays is as it was: what moved is not forgotten, and no later
// destroy asks the wallet for its successor.
func TestTaintedCardsThatStay(t *testing.T) {
	t.Parallel()
	// Terraform plans a tainted card without its private state. A fund whose outcome is
	// not known is in the state's values, and is settled where the card stays.
	const pending = `
			on after POST:/fund GET /transactions 500 down no transactions today
			stops amount = 9100
			says it is not known whether this took effect
			run taint vcard_card.test
			stops`
	tell(t, map[string]story{
		"with a fund that was made, poor": {nil, `
			cli
			apply amount = 9000
			buy 8500
			on POST /fund made drop` + pending + `
			says The wallet cannot pay for the card that replaces card
			run untaint vcard_card.test
			clear
			apply
			cards 1 600
			nothing`},
		"with a fund that was not made, protected": {nil, `
			cli
			apply amount = 9000; deletion_protection = true
			buy 8500
			on POST /fund drop` + strings.Replace(pending, "9100", "9100; deletion_protection = true", 1) + `
			says Deletion protection keeps card
			run untaint vcard_card.test
			clear
			apply
			cards 1 600
			nothing`},
		"and are destroyed later": {nil, `
			cli
			apply amount = 9000; deletion_protection = true
			buy 8900
			run taint vcard_card.test
			stops
			says Deletion protection keeps card
			run untaint vcard_card.test
			apply amount = 9000
			run destroy -auto-approve
			cards 0`},
		"protected, and replaced first": {nil, `
			cli
			apply amount = 60; deletion_protection = true; lifecycle { create_before_destroy = true }
			call old
			run taint vcard_card.test
			stops
			says Deletion protection keeps card {old} | create_before_destroy | deposed object
			says terminate it in the dashboard; the next plan sees that and removes it from the state
			cards 2
			plan-stops
			says Deletion protection keeps card {old} | create_before_destroy | terminate it in the dashboard
			terminate {old} # as the dashboard does
			apply
			nothing
			holds active 60 9938`},
	})
}

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
		f.succeed(diags)
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
