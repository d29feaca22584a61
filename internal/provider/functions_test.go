package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

func TestIssuanceCost(t *testing.T) {
	t.Parallel()
	config := ""
	var checks []statecheck.StateCheck
	for i, c := range []struct{ loads, cost string }{
		{"[]", "0"},
		{"[50]", "51"},
		{"[50, 120.50, 7.525e1]", "248.75"},
		{"[50.10, 50.20, 50.30]", "153.60"},
		{"[74.10000000000000142108547152020037174224853515625]", "75.10"}, // the noise of computed numbers
		{"[999999999949.99]", "999999999950.99"},
	} {
		config += fmt.Sprintf("output \"test%d\" {\n value = provider::vcard::issuance_cost(%s)\n}\n", i, c.loads)
		checks = append(checks, statecheck.ExpectKnownOutputValue(fmt.Sprintf("test%d", i), acctest.Exactly(c.cost)))
	}
	life := acctest.Life(
		resource.TestStep{Config: config, ConfigStateChecks: checks},
		resource.TestStep{
			Config: `
				resource "terraform_data" "load" { input = 60 }
				output "later" { value = provider::vcard::issuance_cost([50, terraform_data.load.output]) }`,
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownOutputValue("later")}},
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("later", acctest.Exactly("112"))},
		},
	)
	life.TerraformVersionChecks = []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_8_0)}
	resource.Test(t, life)
}
