package provider_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// What the provider block bounds is refused by the plan, and nothing else is.
func TestBoundsOfTheProvider(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := func(lines string) string {
		return fmt.Sprintf(`
			provider "vcard" {
				base_url         = %q
				api_key          = %q
				request_timeout  = "20s"
				max_retries      = 2
				idempotency_keys = "honoured"
				rate_limits      = { requests_per_minute = 500, creates_per_minute = 40 }
				wallet_check     = "error"
				max_card_load    = 5000

				max_taken_per_plan = 12002
			}
			resource "vcard_card" "test" {
				bin_id = "bin_ads_visa_us"
				%s
			}`, s.URL, s.Key, lines)
	}
	const address = "vcard_card.test"
	resource.Test(t, acctest.Life(
		resource.TestStep{
			Config:      config("amount = 5000.01"),
			ExpectError: acctest.Saying("amount must be at most 5000.00 USD, which is max_card_load"),
		},
		resource.TestStep{
			Config:      config("amount = 60\n top_up = { below = 50, to = 5000.01 }"),
			ExpectError: acctest.Saying("top_up.to must be at most 5000.00 USD, which is max_card_load"),
		},
		resource.TestStep{
			Config:      config("amount = 4000\n count = 3"),
			ExpectError: acctest.Saying("The plan takes at least 12003.00 USD, and max_taken_per_plan is 12002.00 USD"),
		},
		resource.TestStep{
			Config:      config("amount = 4000\n count = 3"),
			ExpectError: acctest.Saying("The plan takes at least 12003.00 USD from a wallet that holds 10000.00 USD"),
		},
		resource.TestStep{
			Config: config("amount = 4000"),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(address, tfjsonpath.New("balance"), acctest.Exactly("4000")),
			},
		},
		resource.TestStep{
			Config:           config("amount = 5000"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}},
		},
	))
	if got := s.Wallet(); got != acctest.InitialBalance-100 {
		t.Errorf("the wallet holds %s USD, want all but the fee", got)
	}
}

// The embedded sandbox begins with the balance that is asked for, and keeps its file.
func TestEmbeddedSandbox(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sandbox.db")
	config := func(balance string) string {
		return fmt.Sprintf(`
			provider "vcard" {
				sandbox = { path = %q, initial_balance = %s }
			}
			resource "vcard_card" "test" {
				bin_id = "bin_ads_visa_us"
				amount = 50
			}
			data "vcard_wallet_balance" "now" {
				depends_on = [vcard_card.test]
			}`, file, balance)
	}
	left := []statecheck.StateCheck{
		statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("balance"), acctest.Exactly("9.99")),
		statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("cards_active"), acctest.Exactly("1")),
		statecheck.ExpectKnownValue("vcard_card.test", tfjsonpath.New("status"), knownvalue.StringExact("active")),
	}
	resource.Test(t, acctest.Life(
		resource.TestStep{Config: config("60.99"), ConfigStateChecks: left},
		resource.TestStep{ // whatever is said of it later
			Config: config("5000"), ConfigStateChecks: left,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		},
	))
}
