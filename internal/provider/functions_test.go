package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

func TestAccIssuanceCostFunction(t *testing.T) {
	t.Parallel()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.8.0", "1.7.0"), // functions of providers
		Steps: []resource.TestStep{
			{
				Config: `
					output "none" {
						value = provider::vcard::issuance_cost([])
					}
					output "one" {
						value = provider::vcard::issuance_cost([50])
					}
					output "several" {
						value = provider::vcard::issuance_cost([50, 120.50, 7.525e1])
					}
					output "cents" {
						value = provider::vcard::issuance_cost([50.10, 50.20, 50.30])
					}
					output "noise_of_computed_numbers" {
						value = provider::vcard::issuance_cost([74.10000000000000142108547152020037174224853515625])
					}
					output "large" {
						value = provider::vcard::issuance_cost([999999999949.99])
					}`,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownOutputValue("none", acctest.Exactly("0")),
					statecheck.ExpectKnownOutputValue("one", acctest.Exactly("51")),
					statecheck.ExpectKnownOutputValue("several", acctest.Exactly("248.75")),
					statecheck.ExpectKnownOutputValue("cents", acctest.Exactly("153.60")),
					statecheck.ExpectKnownOutputValue("noise_of_computed_numbers", acctest.Exactly("75.10")),
					statecheck.ExpectKnownOutputValue("large", acctest.Exactly("999999999950.99")),
				},
			},
			{
				Config: `
					resource "terraform_data" "load" {
						input = 60
					}
					output "later" {
						value = provider::vcard::issuance_cost([50, terraform_data.load.output])
					}`,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectUnknownOutputValue("later"),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownOutputValue("later", acctest.Exactly("112")),
				},
			},
		},
	})
}

// A load that no card can be issued with is named by its place. The title is Terraform's own.
func TestAccIssuanceCostFunction_mistakes(t *testing.T) {
	t.Parallel()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.8.0", "1.7.0"), // functions of providers
		Steps: []resource.TestStep{
			{
				Config: `
					output "test" {
						value = provider::vcard::issuance_cost([50, 49.99])
					}`,
				ExpectError: acctest.Error("Invalid function argument", "amounts[1]", "50.00 USD", "got 49.99"),
			},
			{
				Config: `
					output "test" {
						value = provider::vcard::issuance_cost([50.001])
					}`,
				ExpectError: acctest.Error("Invalid function argument", "amounts[0]", "two decimals", "got 50.001"),
			},
			{
				Config: `
					output "test" {
						value = provider::vcard::issuance_cost([50, 60, -70])
					}`,
				ExpectError: acctest.Error("Invalid function argument", "amounts[2]", "negative", "got -70"),
			},
			{
				Config: `
					output "test" {
						value = provider::vcard::issuance_cost([1e18])
					}`,
				ExpectError: acctest.Error("Invalid function argument", "amounts[0]", "at most 12 digits", "got 1e+18"),
			},
			{
				Config: `
					output "test" {
						value = provider::vcard::issuance_cost([50, null])
					}`,
				ExpectError: acctest.Error("Invalid function argument", "amounts[1]", "null"),
			},
		},
	})
}
