package provider_test

import (
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

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
