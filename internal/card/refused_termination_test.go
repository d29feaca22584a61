package card_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A card that was to be replaced and stayed is not being replaced any more: no
// later destroy asks the wallet for its successor.
func TestDestroyAfterARefusedReplacement(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	guarded := oneCard("amount = 9000\n  deletion_protection = true")
	w := appliedByCLI(t, s, "", guarded)
	s.Authorize(onlyCard(s).ID, "8900", advertising).OK(201)
	w.Must("taint", "vcard_card.test")
	prints(t, applyFails(t, w, guarded), "Deletion protection keeps card")
	w.Must("untaint", "vcard_card.test")
	apply(w, oneCard("amount = 9000"))
	w.Must("destroy", "-auto-approve", "-no-color")
	if live := liveCards(s); len(live) != 0 {
		t.Errorf("the service has the live cards %v", live)
	}
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

// Terraform plans a tainted card without its private state. A fund whose outcome is
// not known is in the state's values, and is settled where the card stays.
func TestTaintedCardThatStaysKeepsItsPendingFund(t *testing.T) {
	t.Parallel()
	const lines = "label = \"ads\"\n  amount = "
	for name, c := range map[string]struct {
		made    bool
		refusal string
		more    string
	}{
		"made, poor":          {true, "The wallet cannot pay for the card that replaces card", ""},
		"not made, protected": {false, "Deletion protection keeps card", "\n  deletion_protection = true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := appliedByCLI(t, s, "", oneCard(lines+"9000"+c.more))
			s.Authorize(onlyCard(s).ID, "8500", advertising).OK(201)
			through(w, losesFund(s, c.made), "")
			asked := oneCard(lines + "9100" + c.more)
			prints(t, applyFails(t, w, asked), "it is not known whether this took effect")
			w.Must("taint", "vcard_card.test")
			prints(t, applyFails(t, w, asked), c.refusal)
			w.Must("untaint", "vcard_card.test")
			through(w, s, "")
			apply(w, asked)
			if live := liveCards(s); len(live) != 1 || live[0].Balance != 600*usd.Dollar {
				t.Errorf("the service has the live cards %v", live)
			}
			plansNothing(t, w)
		})
	}
}
