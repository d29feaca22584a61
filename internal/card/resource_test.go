package card_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const bin = "bin_ads_visa_us"

// shown is what the API says of one card.
type shown struct {
	ID, Status, Label, Last4 string
	Balance                  usd.Amount
}

// issue issues a card as another user of the account would.
func issue(s *acctest.Service, body map[string]any) (issued shown) {
	body["bin_id"] = bin
	s.Post("/cards", body).Into(&issued)
	return issued
}

func read(s *acctest.Service, id string) (now shown) {
	s.Get("/cards/" + id).Into(&now)
	return now
}

// object is what a configuration says.
type object = acctest.Object

// What is kept beside the state after each operation: nothing of a plan outlives its apply.
func TestPrivateState(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	var card acctest.Card
	keeps := func(what, want string) {
		t.Helper()
		var kept map[string][]byte
		if err := json.Unmarshal(card.Private, &kept); err != nil || string(kept["card"]) != want {
			t.Errorf("%s: %s is kept, %v; want %s", what, kept["card"], err, want)
		}
	}
	apply := func(config object) {
		t.Helper()
		change, diags := p.Plan(card, config)
		diags.Must(t)
		card, diags = p.Apply(change)
		diags.Must(t)
	}
	refresh := func() {
		t.Helper()
		var diags acctest.Diagnostics
		card, diags = p.Refresh(card)
		diags.Must(t)
	}
	const march = `{"default_limit":true,"month":24314}`
	apply(object{"bin_id": bin, "amount": 60})
	keeps("issued", `{"default_limit":true}`)
	refresh()
	keeps("refreshed", march)
	apply(object{"bin_id": bin, "amount": 70, "frozen": true})
	keeps("changed", march)
	refresh()
	keeps("refreshed again", march)
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// The stories of cards, each in a script.
func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// What a run finds of the money that others have moved, with both settings of idempotency_keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"honoured", "unknown"} {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			acctest.Scripts(t, "testdata/keys", "TF_VAR_keys="+keys)
		})
	}
}

const address = "vcard_card.test"

// named is a card's block with these lines.
func named(name, lines string) string {
	return fmt.Sprintf("resource \"vcard_card\" %q {\n bin_id = %q\n %s\n}\n", name, bin, lines)
}

func is(field string, value knownvalue.Check) statecheck.StateCheck {
	return acctest.Is(address, field, value)
}

func planned(field string, value knownvalue.Check) plancheck.PlanCheck {
	return plancheck.ExpectKnownValue(address, tfjsonpath.New(field), value)
}

func unknown(field string) plancheck.PlanCheck {
	return plancheck.ExpectUnknownValue(address, tfjsonpath.New(field))
}

func does(action plancheck.ResourceActionType, more ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return acctest.Before(append(more, plancheck.ExpectResourceAction(address, action))...)
}

func nothing() resource.ConfigPlanChecks { return acctest.Before(plancheck.ExpectEmptyPlan()) }

// atService checks the only live card and the wallet.
func atService(s *acctest.Service, status string, balance, wallet usd.Amount) resource.TestCheckFunc {
	return func(*terraform.State) error {
		live := s.LiveCards()
		if len(live) == 1 {
			if now := read(s, fmt.Sprint(live[0]["id"])); now.Status == status && now.Balance == balance && s.Wallet() == wallet {
				return nil
			}
		}
		return fmt.Errorf("the service has %v, and the wallet %s USD", live, s.Wallet())
	}
}

// A card is issued, changed, replaced and terminated, for what each plan shows.
func TestLifeOfACard(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	const rest = `
		label              = "search"
		spending_limit     = 1000
		auto_freeze_at     = 5
		allowed_categories = ["advertising", "software"]
		metadata           = { team = "ads" }
		top_up             = { below = 20, to = 100 }`
	sameID, newID := statecheck.CompareValue(compare.ValuesSame()), statecheck.CompareValue(compare.ValuesDiffer())
	id := tfjsonpath.New("id")
	step := func(lines string, plan resource.ConfigPlanChecks, check resource.TestCheckFunc, checks ...statecheck.StateCheck) resource.TestStep {
		return resource.TestStep{Config: s.Provider() + named("test", lines), ConfigPlanChecks: plan, Check: check, ConfigStateChecks: checks}
	}
	first := []statecheck.StateCheck{
		sameID.AddStateValue(address, id), newID.AddStateValue(address, id),
		is("id", acctest.Form(`card_\w+`)), is("balance", acctest.Exactly("120.50")), is("last4", acctest.Form(`\d{4}`)),
		is("network", knownvalue.StringExact("visa")),
		is("created_at", acctest.Form(`\d{4}-\d\d-\d\dT.*Z`)), is("expires_at", acctest.Form(`\d{4}-\d\d-\d\d`)),
	}
	if acctest.Has("1.12.0", "1.12.0") {
		first = append(first, statecheck.ExpectIdentityValueMatchesState(address, id))
	}
	protected := step("amount = 60\n label = \"other\"\n deletion_protection = true",
		does(plancheck.ResourceActionUpdate, planned("deletion_protection", knownvalue.Bool(true))), nil)
	resource.Test(t, acctest.Life(t,
		step("amount = 120.50\n frozen = false\n deletion_protection = false"+rest, does(plancheck.ResourceActionCreate,
			unknown("id"), unknown("balance"), unknown("network"), planned("label", knownvalue.StringExact("search")),
			unknown("status"), planned("topped_up", acctest.Exactly("0")), planned("issuance_fee", acctest.Exactly("1"))),
			atService(s, "active", 120_50, 9878_50), first...),
		step("amount = 200.75\n frozen = true"+rest,
			does(plancheck.ResourceActionUpdate, unknown("balance"), planned("status", knownvalue.StringExact("frozen"))),
			atService(s, "frozen", 200_75, 9798_25), sameID.AddStateValue(address, id), is("balance", acctest.Exactly("200.75"))),
		step("amount = 20\n frozen = false"+rest, does(plancheck.ResourceActionUpdate, planned("status", knownvalue.StringExact("active"))),
			atService(s, "active", 20_00, 9979_00), sameID.AddStateValue(address, id)),
		step("amount = 20"+rest, nothing(), nil),
		resource.TestStep{
			ResourceName: address, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{
				"amount", "auto_freeze_at", "allowed_categories", "metadata", "top_up", "expires_at", "issuance_fee", "money_record",
			},
		},
		step("amount = 60\n label = \"other\"\n lifecycle {\n create_before_destroy = true\n }",
			does(plancheck.ResourceActionCreateBeforeDestroy, unknown("id"), unknown("last4"), unknown("status"), unknown("expires_at")),
			atService(s, "active", 60_00, 9938_00), newID.AddStateValue(address, id), is("metadata", knownvalue.Null())),
		protected,
		resource.TestStep{Config: protected.Config, Destroy: true, ExpectError: acctest.Saying("Deletion protection keeps card")},
		acctest.Fails(s.Provider()+named("test", "amount = 60\n label = \"another\"\n deletion_protection = true"),
			"Deletion protection keeps card", "deletion_protection = false"),
		resource.TestStep{Config: s.Provider() + named("test", "amount = 60\n label = \"other\"")},
	))
}

// A card with nothing but a load has what service and provider have for it. It is
// imported by id and by identity without a change.
func TestImportOfACard(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, acctest.Life(t,
		resource.TestStep{
			Config:           s.Provider() + named("test", "amount = 50"),
			ConfigPlanChecks: does(plancheck.ResourceActionCreate, unknown("label"), unknown("frozen"), unknown("spending_limit")),
			ConfigStateChecks: []statecheck.StateCheck{
				is("label", acctest.Form(`tf-\d{8}-[0-9a-z-]{20,}`)), is("spending_limit", acctest.Exactly("50000")), is("auto_freeze_at", knownvalue.Null()),
				is("frozen", knownvalue.Bool(false)), is("deletion_protection", knownvalue.Bool(false)), is("top_up", knownvalue.Null()),
			},
		},
		resource.TestStep{
			ResourceName: address, ImportState: true, ImportStateKind: resource.ImportBlockWithID, Config: s.Provider() + named("test", ""),
		},
		resource.TestStep{
			ResourceName: address, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity, Config: s.Provider() + named("test", ""),
			SkipFunc: func() (bool, error) { return !acctest.Has("1.12.0", "1.12.0"), nil },
		},
		resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: "card_none", ExpectError: acctest.Saying("card_none", "404")},
		resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: "wh_1", ExpectError: acctest.Saying("a card id", "wh_1")},
	))
}
