package card_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	address = "vcard_card.test"
	bin     = "bin_ads_visa_us"
)

// card is a configuration of one card with these further lines.
func card(s *acctest.Service, lines string) string {
	return s.Provider() + fmt.Sprintf("resource \"vcard_card\" \"test\" {\n  bin_id = %q\n%s\n}\n", bin, lines)
}

// service is what the API says of one card.
type service struct {
	ID      string     `json:"id"`
	Status  string     `json:"status"`
	Balance usd.Amount `json:"balance"`
	Label   string     `json:"label"`
}

// serviceCheck compares the card and the wallet, asked of the service itself.
func serviceCheck(s *acctest.Service, status string, balance, wallet usd.Amount) resource.TestCheckFunc {
	return func(state *terraform.State) error {
		var got service
		s.Get("/cards/" + state.RootModule().Resources[address].Primary.ID).Into(&got)
		if got.Status != status || got.Balance != balance {
			return fmt.Errorf("the card is %s with %s USD, want %s with %s", got.Status, got.Balance, status, balance)
		}
		if w := s.Wallet(); w != wallet {
			return fmt.Errorf("the wallet holds %s USD, want %s", w, wallet)
		}
		return nil
	}
}

func number(text string) knownvalue.Check {
	a, err := usd.Parse(text)
	if err != nil {
		panic(err)
	}
	return knownvalue.NumberExact(a.BigFloat())
}

func value(attribute string, want knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(attribute), want)
}

func planned(attribute string, want knownvalue.Check) plancheck.PlanCheck {
	return plancheck.ExpectKnownValue(address, tfjsonpath.New(attribute), want)
}

func plannedUnknown(attribute string) plancheck.PlanCheck {
	return plancheck.ExpectUnknownValue(address, tfjsonpath.New(attribute))
}

func does(action plancheck.ResourceActionType, more ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{
		PreApply:             append([]plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}, more...),
		PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
	}
}

func TestCardLifecycle(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.Test(t,
		resource.TestStep{
			Config: card(s, `amount = 120.50
			  label = "search"
			  allowed_categories = ["advertising", "software"]
			  auto_freeze_at = 10
			  metadata = { team = "ads" }`),
			ConfigPlanChecks: does(plancheck.ResourceActionCreate, plannedUnknown("balance"), planned("topped_up", number("0")), planned("issuance_fee", number("1"))),
			Check:            serviceCheck(s, "active", 12050, 1000000-12150),
			ConfigStateChecks: []statecheck.StateCheck{
				value("amount", number("120.50")), value("balance", number("120.50")), value("frozen", knownvalue.Bool(false)),
				value("status", knownvalue.StringExact("active")), value("network", knownvalue.StringExact("visa")),
				value("last4", knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}$`))), value("created_at", knownvalue.NotNull()),
				value("expires_at", knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}-\d\d-\d\d$`))),
				value("issuance_fee", number("1")), value("spending_limit", knownvalue.NotNull()), value("deletion_protection", knownvalue.Bool(false)),
			},
		},
		resource.TestStep{ // fund, and freeze in the same plan
			Config: card(s, `amount = 200.75
			  label = "search"
			  allowed_categories = ["advertising", "software"]
			  auto_freeze_at = 10
			  metadata = { team = "ads" }
			  frozen = true`),
			ConfigPlanChecks: does(plancheck.ResourceActionUpdate, plannedUnknown("balance"), planned("amount", number("200.75")),
				planned("status", knownvalue.StringExact("frozen")), planned("label", knownvalue.StringExact("search"))),
			Check: serviceCheck(s, "frozen", 20075, 1000000-20175),
		},
		resource.TestStep{ // unfreeze and withdraw
			Config: card(s, `amount = 20
			  label = "search"
			  allowed_categories = ["advertising", "software"]
			  auto_freeze_at = 10
			  metadata = { team = "ads" }
			  frozen = false`),
			ConfigPlanChecks: does(plancheck.ResourceActionUpdate, planned("status", knownvalue.StringExact("active"))),
			Check:            serviceCheck(s, "active", 2000, 1000000-2100),
		},
		resource.TestStep{ // frozen taken out changes nothing
			Config: card(s, `amount = 20
			  label = "search"
			  allowed_categories = ["advertising", "software"]
			  auto_freeze_at = 10
			  metadata = { team = "ads" }`),
			ConfigPlanChecks: does(plancheck.ResourceActionNoop),
		},
	)
	if got, want := s.Wallet(), acctest.InitialBalance-usd.Dollar; got != want {
		t.Errorf("after destroy the wallet holds %s USD, want %s: everything but the fee", got, want)
	}
}

func TestGeneratedLabel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created, diags := f.plan(object{"amount": 50})
	f.succeed(diags)
	f.same("the plan", object{"label": acctest.Unknown}, created.Planned)
	f.apply(object{"amount": 50})
	if label := plain(f.card.Values["label"]); !regexp.MustCompile(`^tf-\d{8}-[0-9a-f-]{36}$`).MatchString(label) {
		t.Errorf("the card is labelled %q", label)
	}
	f.apply(object{"amount": 60})
}

func TestComputedAmounts(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 123.5 * 0.6"))
	serviceHolds(t, s, "active", 7410, 1000000-7510)
	w.Write("main.tf", oneCard("amount = 74.10"))
	plansNothing(t, w)
	apply(w, oneCard("amount = 12.35 * 0.6"))
	serviceHolds(t, s, "active", 741, 1000000-841)
	plansNothing(t, w)
}

// wrapped matches a text that the CLI has broken into lines.
func wrapped(text string) *regexp.Regexp {
	return regexp.MustCompile(regexp.MustCompile(`\s+`).ReplaceAllString(regexp.QuoteMeta(text), `[\s│]+`))
}

func TestWithdrawingMoreThanTheCardHolds(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 100})
	f.failsToPlan(object{"amount": -1}, "amount must not be below zero")
	f.spend(3000)
	f.refresh()
	f.failsToPlan(object{"amount": 20}, "Lowering amount from 100.00 to 20.00 USD withdraws 80.00 USD, but card "+f.id())
	f.failsToPlan(object{"amount": "29.99"}, "The card holds less than that")
	f.apply(object{"amount": 30}) // all that there is
	f.holds("active", 0, 1000000-100)
}

// onlyCard returns the one card that is not terminated.
func onlyCard(s *acctest.Service) service {
	var page struct {
		Data []service `json:"data"`
	}
	s.Get("/cards").Into(&page)
	var only service
	for _, c := range page.Data {
		if c.Status != "terminated" {
			only = c
		}
	}
	return only
}

func TestWalletShortByOneCent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.says("the error", f.tryApply(object{"amount": "9999.01"}).Errors(), "The service answered 400 (insufficient_funds)")
	f.apply(object{"amount": 9999})
	f.holds("active", 999900, 0)
}

func TestTerminatedElsewhere(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 50"))
	first := onlyCard(s).ID
	s.Terminate(first)
	prints(t, apply(w, oneCard("amount = 50")), "1 added, 0 changed, 0 destroyed")
	if now := onlyCard(s).ID; now == first || now == "" {
		t.Errorf("the card is %q after %q", now, first)
	}
}

// issue issues a card as another user of the account would.
func issue(s *acctest.Service, body map[string]any) service {
	var issued service
	body["bin_id"] = bin
	s.Post("/cards", body).Into(&issued)
	return issued
}

func TestImport(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issued := issue(s, map[string]any{"amount": 50, "auto_freeze_at": 5, "metadata": map[string]string{"a": "b"}})
	imports := func(id string) string {
		return fmt.Sprintf("import {\n  to = vcard_card.test\n  id = %q\n}\n", id)
	}
	lines := "amount = 50\nauto_freeze_at = 5\nmetadata = { a = \"b\" }"
	s.Test(t,
		resource.TestStep{Config: card(s, lines) + imports("card_nope"), ExpectError: wrapped("The service answered 404 (not_found)")},
		resource.TestStep{Config: card(s, lines) + imports("wh_1"), ExpectError: wrapped(`A card is imported by its id, which has the form card_…, got "wh_1"`)},
		resource.TestStep{ // what cannot be read is adopted, and the first amount is a baseline
			Config:           card(s, lines) + imports(issued.ID),
			ConfigPlanChecks: does(plancheck.ResourceActionUpdate, planned("amount", number("50")), planned("balance", number("50"))),
			Check:            serviceCheck(s, "active", 5000, 1000000-5100),
			ConfigStateChecks: []statecheck.StateCheck{
				value("expires_at", knownvalue.Null()), value("created_at", knownvalue.NotNull()),
				value("label", knownvalue.Null()), value("topped_up", number("0")), value("issuance_fee", knownvalue.Null()),
			},
		},
		resource.TestStep{ // from then on the difference moves
			Config: card(s, "amount = 70\nauto_freeze_at = 5\nmetadata = { a = \"b\" }"),
			Check:  serviceCheck(s, "active", 7000, 1000000-7100),
		},
		resource.TestStep{
			ResourceName: address, ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"amount", "auto_freeze_at", "metadata.%", "metadata.a", "expires_at", "money_record"},
		},
	)
	s.Test(t, resource.TestStep{
		Config: card(s, "amount = 50") + imports(issued.ID), ExpectError: wrapped("is terminated, which is final"),
	})
}

func TestImportReadsTheCardOnce(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issued := issue(s, map[string]any{"amount": 50})
	p := s.Protocol(nil)
	s.Delete("/_sandbox/requests")
	card, diags := p.Import("vcard_card", issued.ID, nil)
	if errors := diags.Errors(); errors != "" {
		t.Fatal(errors)
	}
	read := 0
	for _, call := range requests(s) {
		if strings.HasPrefix(call.Path, "/cards") {
			read++
		}
	}
	if read != 1 || card.Values["created_at"] == nil {
		t.Errorf("the import took %d reads and knows of %v", read, card.Values)
	}
	s.Freeze(issued.ID)
	if card, _ = p.Refresh(card); card.Values["status"] != "frozen" {
		t.Errorf("the next read finds the card %v", card.Values["status"])
	}
}
