package card_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

func TestCardDetails(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"repeated_state": "ok", "exp_year_digits": 4})
	card := issue(s, map[string]any{"amount": 50})
	known := s.Get("/cards/" + card.ID + "/details").Must()
	is := []statecheck.StateCheck{
		statecheck.ExpectKnownValue("echo.card", tfjsonpath.New("data"), knownvalue.ObjectExact(map[string]knownvalue.Check{
			"card_id": knownvalue.StringExact(card.ID), "pan": knownvalue.StringExact(known.Text("pan")), "cvv": knownvalue.StringExact(known.Text("cvv")),
			"exp_month": acctest.Exactly(known.Text("exp_month")), "exp_year": acctest.Exactly(known.Text("exp_year")),
		})),
	}
	config := s.Provider() + fmt.Sprintf(`
		ephemeral "vcard_card_details" "test" { card_id = %q }
		provider "echo" { data = ephemeral.vcard_card_details.test }
		resource "echo" "card" {}`, card.ID)
	life := acctest.Life(
		resource.TestStep{Config: config, ConfigStateChecks: is},
		resource.TestStep{PreConfig: func() { s.Freeze(card.ID) }, Config: config, ConfigStateChecks: is},
	)
	life.ProtoV6ProviderFactories["echo"] = echoprovider.NewProviderServer()
	life.TerraformVersionChecks = []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_10_0)}
	resource.Test(t, life)
}
