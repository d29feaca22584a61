package provider_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// issuanceCost calls the function with loads.
func issuanceCost(t *testing.T, loads tfprotov6.DynamicValue) (tftypes.Value, *tfprotov6.FunctionError) {
	t.Helper()
	server, err := acctest.Factories()["vcard"]()
	if err != nil {
		t.Fatal(err)
	}
	result, err := server.CallFunction(t.Context(), &tfprotov6.CallFunctionRequest{Name: "issuance_cost", Arguments: []*tfprotov6.DynamicValue{&loads}})
	if err != nil {
		t.Fatal(err)
	}
	if result.Error != nil {
		return tftypes.Value{}, result.Error
	}
	cost, err := result.Result.Unmarshal(tftypes.Number)
	if err != nil {
		t.Fatal(err)
	}
	return cost, nil
}

func TestIssuanceCost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loads   string
		cost    usd.Amount
		refused string
	}{
		{"[]", 0, ""},
		{"[50]", 51_00, ""},
		{"[50, 120.50, 7.525e1]", 248_75, ""},
		{"[50.10, 50.20, 50.30]", 153_60, ""},
		{"[74.10000000000000142108547152020037174224853515625]", 75_10, ""}, // the noise of computed numbers
		{"[999999999949.99]", 999_999_999_950_99, ""},
		{"[50, 49.99]", 0, "amounts[1] must be at least 50.00 USD, the least that a card is issued with, got 49.99"},
		{"[50.001]", 0, "amounts[0] must be an amount in USD with at most two decimals, got 50.001"},
		{"[50, 60, -70]", 0, "amounts[2] must not be negative, got -70"},
		{"[1e18]", 0, "amounts[0] must be an amount in USD of at most 999999999999.99, got 1e+18"},
		{"[50, null]", 0, "amounts[1] must not be null"},
	} {
		cost, failure := issuanceCost(t, tfprotov6.DynamicValue{JSON: []byte(c.loads)})
		want := tftypes.NewValue(tftypes.Number, c.cost.BigFloat())
		switch {
		case c.refused == "":
			if failure != nil || !cost.Equal(want) {
				t.Errorf("%v: %s, want %s: %+v", c.loads, cost, c.cost, failure)
			}
		case failure == nil || failure.FunctionArgument == nil || *failure.FunctionArgument != 0 || failure.Text != c.refused:
			t.Errorf("%v: %s, %+v; want %q of the first argument", c.loads, cost, failure, c.refused)
		}
	}
	list := tftypes.List{ElementType: tftypes.Number}
	unknown, err := tfprotov6.NewDynamicValue(list, tftypes.NewValue(list, []tftypes.Value{tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)}))
	if err != nil {
		t.Fatal(err)
	}
	if cost, failure := issuanceCost(t, unknown); failure != nil || cost.IsKnown() {
		t.Errorf("the cost of an unknown load is %s, %v", cost, failure)
	}
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
