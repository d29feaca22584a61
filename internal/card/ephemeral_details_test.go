package card_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

func TestAccCardDetailsEphemeralResource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"repeated_state": "ok", "exp_year_digits": 4})
	card := issue(s, object{"amount": 50})
	details := s.Get("/cards/" + card.ID + "/details").Must()
	config := s.ProviderConfig() + fmt.Sprintf(`
		ephemeral "vcard_card_details" "test" {
			card_id = %q
		}
		provider "echo" {
			data = ephemeral.vcard_card_details.test
		}
		resource "echo" "card" {}`, card.ID)
	checks := []statecheck.StateCheck{
		statecheck.ExpectKnownValue("echo.card", tfjsonpath.New("data"), knownvalue.ObjectExact(map[string]knownvalue.Check{
			"card_id":   knownvalue.StringExact(card.ID),
			"pan":       knownvalue.StringExact(details.Text("pan")),
			"cvv":       knownvalue.StringExact(details.Text("cvv")),
			"exp_month": acctest.Exactly(details.Text("exp_month")),
			"exp_year":  acctest.Exactly(details.Text("exp_year")),
		})),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.FactoriesWithEcho(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.10.0", "1.11.0"), // ephemeral resources
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					ephemeral "vcard_card_details" "test" { card_id = "3ds_1" }`,
				ExpectError: acctest.Error("Invalid card id", `"3ds_1"`),
			},
			{
				Config:            config,
				ConfigStateChecks: checks,
			},
			{
				PreConfig:         func() { s.Freeze(card.ID) },
				Config:            config,
				ConfigStateChecks: checks,
			},
		},
	})
}
