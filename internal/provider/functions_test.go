package provider_test

import (
	"fmt"
	"strings"
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

// TestMocks runs the example of mocks, and refers to what is mocked: it has ids of any
// form.
func TestMocks(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.8.0")
	w := acctest.NewWorkspace(t)
	file := func(path ...string) string { return read(t, append([]string{"examples", "mocks"}, path...)...) }
	w.Write("main.tf", file("main.tf"))
	test, source := file("campaigns.tftest.hcl"), "  source = \"./vcard\"\n"
	if !strings.Contains(test, source) {
		t.Fatal("the example does not use its mocks")
	}
	w.Write("campaigns.tftest.hcl", strings.Replace(test, source, file("vcard/vcard.tfmock.hcl"), 1)) // as OpenTofu wants it
	if !acctest.OpenTofu() {
		w.Write("vcard/vcard.tfmock.hcl", file("vcard/vcard.tfmock.hcl"))
		w.Write("campaigns.tftest.hcl", test)
	}
	if output := w.Must("test", "-no-color"); !strings.Contains(output, "2 passed, 0 failed") {
		t.Errorf("says\n%s", output)
	}
	w.Write("references.tf", `
data "vcard_card" "campaign" {
  for_each = vcard_card.campaign
  id       = each.value.id
}

output "networks" {
  value = [for card in data.vcard_card.campaign : card.network]
}
`)
	w.Write("references.tftest.hcl", `
mock_provider "vcard" {}

run "all" {
  variables {
    campaigns = { for n in range(12) : "ads-${n}" => 60 }
  }
  override_data {
    target = data.vcard_bins.ads
    values = { ids = ["bin_mocked"] }
  }
  assert {
    condition     = length(output.networks) == 12 && length(output.spent) == 12
    error_message = "Not all cards are referred to."
  }
}
`)
	w.Must("test", "-no-color", "-filter=references.tftest.hcl")
}
