package card_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// advertising is the merchant category code of what ad cards are for.
const advertising = "7311"

// A replacement that the wallet cannot pay for must not end with no card.
func TestReplacementsThatTheWalletCannotPayFor(t *testing.T) {
	t.Parallel()
	const poor = `
			cli
			apply amount = 9000; label = "old"
			buy 8500 # the wallet holds 999, the card 500`
	const refused = `
			says The wallet cannot pay for the card that replaces card | takes 9001.00 USD | fall short of that by 7502.00 USD | -target
			holds active 500 999`
	tell(t, map[string]story{
		"and the way out": {nil, poor + `
			stops amount = 9000; label = "new"` + refused + `
			write amount = 9000; label = "old"
			run-stops apply -auto-approve -replace=vcard_card.test` + refused + `
			run taint vcard_card.test
			stops` + refused + `
			run destroy -auto-approve -target=vcard_card.test
			cards 0`},
		"until it can": {nil, poor + `
			stops amount = 9000; label = "new"
			apply amount = 1498; label = "new" # all that there is
			holds active 1498 0
			nothing`},
		"unchecked": {nil, poor + `
			told wallet_check = "off"
			stops amount = 9000; label = "new"
			cards 0`},
		"which creates first, from a wallet that has paid already": {nil, poor + `
			apply amount = 900; label = "new"; lifecycle { create_before_destroy = true }
			holds active 900 598
			nothing`},
		"since the wallet cannot be read": {nil, `
			cli
			apply amount = 100; label = "old"
			on GET /wallet/balance 400 invalid_request no wallet today
			told wallet_check = "error"
			plan-stops amount = 101; label = "old"; frozen = true
			says Error: The plan is not checked against the wallet | no wallet today | wallet_check = "warn"
			plan amount = 90; label = "old"; frozen = true
			says-not the wallet
			told
			stops amount = 100; label = "new"
			told-times 1 Warning: The plan is not checked
			says Could not see whether the wallet can pay for the card that replaces card | no wallet today | wallet_check = "off"
			holds active 100 9899
			told wallet_check = "off"
			apply
			holds active 100 9898`},
		// One new card is paid for at a time; the others keep their old ones.
		"together": {nil, `
			cli
			apply count = 4; amount = 2000; label = "old-${count.index}"
			buy 1000 # the wallet holds 1996, each card 1000
			plan count = 4; amount = 2000; label = "new-${count.index}"
			told-times 1 Warning: A card is replaced for 2001.00 USD
			says and 3 more similar warnings
			stops
			told-times 3 The wallet cannot pay for the card that replaces card
			cards 4
			wallet 995
			apply count = 4; amount = 1300; label = "new-${count.index}"
			cards 4 1300
			nothing`},
	})
}

func TestReplacements(t *testing.T) {
	t.Parallel()
	const first = "; lifecycle { create_before_destroy = true }"
	// At first Terraform plans a forced replacement as an update, which withdraws.
	const forced = `
			run-stops plan -replace=vcard_card.test
			says use terraform taint on this resource and apply, in place of -replace
			run taint vcard_card.test
			apply
			nothing`
	tell(t, map[string]story{
		"forced, with less than was spent": {nil, `
			cli
			apply amount = 200
			buy 60
			write amount = 50` + forced + `
			cards 1 50`},
		"forced, with less than is topped up": {nil, `
			cli
			apply amount = 100; top_up = { below = 15, to = 80 }
			buy 44
			write amount = 55; top_up = { below = 15, to = 80 }` + forced + `
			cards 1 55`},
		// The service publishes neither its categories nor a BIN's maximum, so that only
		// issuing shows that it refuses them.
		"that the service refuses": {nil, `
			cli
			quirks {"card_values": "as_asked"} # else the service clamps the limit
			apply amount = 100` + first + `
			plan amount = 100; metadata = { a = "b" }; label = "ä"` + first + `
			says create_before_destroy
			says-not The service may refuse
			plan amount = 100; allowed_categories = ["advertizing"]` + first + `
			says may refuse the new allowed_categories | create_before_destroy
			stops
			holds active 100 9899
			plan amount = 100; spending_limit = 1000000` + first + `
			says may refuse the new spending_limit | create_before_destroy
			stops
			holds active 100 9899`},
		"that loses what is not configured": {nil, `
			apply amount = 100
			plan amount = 100; metadata = { a = "b" }
			says-not Not in the configuration
			run destroy -auto-approve
			apply amount = 100; label = "ads"; spending_limit = 500; frozen = true
			apply amount = 100
			plan amount = 100; metadata = { a = "b" }
			says Not in the configuration, so the new card does not have it: | spending_limit (500.00 USD; the new card gets the BIN's maximum)
			says label ("ads"; the new card gets a generated one) | frozen (the new card is active)`},
		"that loses what nobody knows": {nil, `
			issue card {"amount": 100, "allowed_categories": ["travel"]}
			import label = "x"
			plan amount = 100; label = "y"; allowed_categories = ["travel"]; auto_freeze_at = 5
			says spending_limit ( | the service does not report (metadata). | may refuse the new allowed_categories
			says-not Taken over without proof`},
		// In March 2026; cards are good for three years.
		"of a card that expires": {nil, `
			apply amount = 100
			passes 25944h # to the last day of February 2029
			nothing
			says-not expire
			passes 48h
			nothing
			says Warning: Card {card} | expires on 2029-03-31 | -replace | create_before_destroy
			plan amount = 120
			says expires on 2029-03-31 | This plan still loads 20.00 USD onto it
			passes 696h
			plan # good on its last day
			says expires on 2029-03-31
			passes 24h
			plan
			says expired on 2029-03-31 | This plan loads 20.00 USD onto it, which nobody can spend
			run destroy -auto-approve
			apply
			nothing
			says-not expire`},
		"of a fleet": {nil, `
			cli
			apply count = 30; amount = 50
			plan count = 30; amount = 50; metadata = { team = "us" }` + first + `
			told-times 1 A card is replaced for 51.00 USD
			warned-lines 75`},
	})
}

// A label that follows the key of for_each replaces the card that moved keeps.
func TestRenamedKey(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	fleet := func(key, more string) string {
		return oneCard(fmt.Sprintf("for_each = { %s = 100 }\n  amount = each.value\n  label = \"campaign-${each.key}\"\n  %s", key, more))
	}
	const moved = "moved {\n  from = vcard_card.test[\"search\"]\n  to = vcard_card.test[\"brand\"]\n}\n"
	w := applied(acctest.NewWorkspace(t), s, "", fleet("search", ""))
	for code, protected := range []string{"", "deletion_protection = true"} {
		w.Write("main.tf", fleet("brand", protected)+moved)
		got, output := w.Run("plan", "-no-color")
		if got != code {
			t.Errorf("%q: the plan ended with %d", protected, got)
		}
		prints(t, output, `label ("campaign-search" to "campaign-brand")`, "lifecycle { ignore_changes = [label] }")
	}
	w.Write("main.tf", fleet("brand", "lifecycle {\n    ignore_changes = [label]\n  }")+moved)
	prints(t, w.Must("apply", "-no-color", "-auto-approve"), "has moved to", "0 added, 0 changed, 0 destroyed")
	serviceHolds(t, s, "active", 100*usd.Dollar, (10000-101)*usd.Dollar)
}

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
