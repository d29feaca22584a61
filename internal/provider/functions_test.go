package provider_test

import (
	"math/big"
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// issuanceCost calls the function with loads in decimal notation, nil for null
// or acctest.Unknown.
func issuanceCost(t *testing.T, loads []any) (tftypes.Value, *tfprotov6.FunctionError) {
	t.Helper()
	server, err := acctest.Factories()["vcard"]()
	if err != nil {
		t.Fatal(err)
	}
	elements := make([]tftypes.Value, len(loads))
	for i, load := range loads {
		switch load := load.(type) {
		case string:
			number, _, err := big.ParseFloat(load, 10, 512, big.ToNearestEven)
			if err != nil {
				t.Fatal(err)
			}
			elements[i] = tftypes.NewValue(tftypes.Number, number)
		case nil:
			elements[i] = tftypes.NewValue(tftypes.Number, nil)
		default:
			elements[i] = tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)
		}
	}
	list := tftypes.List{ElementType: tftypes.Number}
	argument, err := tfprotov6.NewDynamicValue(list, tftypes.NewValue(list, elements))
	if err != nil {
		t.Fatal(err)
	}
	result, err := server.CallFunction(t.Context(), &tfprotov6.CallFunctionRequest{Name: "issuance_cost", Arguments: []*tfprotov6.DynamicValue{&argument}})
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
		loads []any
		want  usd.Amount
	}{
		{nil, 0},
		{[]any{"50"}, 51_00},
		{[]any{"50", "120.50", "7.525e1"}, 248_75},
		{[]any{"50.10", "50.20", "50.30"}, 153_60},
		{[]any{"74.10000000000000142108547152020037174224853515625"}, 75_10}, // the noise of computed numbers
		{[]any{"999999999949.99"}, 999_999_999_950_99},
	} {
		cost, failure := issuanceCost(t, c.loads)
		if failure != nil {
			t.Errorf("%v: %s", c.loads, failure.Text)
		} else if want := tftypes.NewValue(tftypes.Number, c.want.BigFloat()); !cost.Equal(want) {
			t.Errorf("%v: %s, want %s", c.loads, cost, c.want)
		}
	}
	if cost, failure := issuanceCost(t, []any{"50", acctest.Unknown}); failure != nil || cost.IsKnown() {
		t.Errorf("the cost of an unknown load is %s, %v", cost, failure)
	}
}

func TestIssuanceCostRefusals(t *testing.T) {
	t.Parallel()
	for want, loads := range map[string][]any{
		"amounts[1] must be at least 50.00 USD, the least that a card is issued with, got 49.99": {"50", "49.99"},
		"amounts[0] must be an amount in USD with at most two decimals, got 50.001":              {"50.001"},
		"amounts[2] must not be negative, got -70":                                               {"50", "60", "-70"},
		"amounts[0] must be an amount in USD of at most 999999999999.99, got 1e+18":              {"1e18"},
		"amounts[1] must not be null":                                                            {"50", nil},
	} {
		cost, failure := issuanceCost(t, loads)
		if failure == nil || failure.FunctionArgument == nil || *failure.FunctionArgument != 0 || failure.Text != want {
			t.Errorf("got %s, %+v; want %q of the first argument", cost, failure, want)
		}
	}
}

func TestIssuanceCostExample(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.8", "1.7")
	s := acctest.Start(t)
	text, err := os.ReadFile("../../examples/functions/issuance_cost/function.tf")
	if err != nil {
		t.Fatal(err)
	}
	cost := func(want usd.Amount) []statecheck.StateCheck {
		return []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("cost", knownvalue.NumberExact(want.BigFloat()))}
	}
	s.Test(t,
		resource.TestStep{
			Config: s.Provider() + `output "cost" {
				value = provider::vcard::issuance_cost([50, 49.99])
			}`,
			ExpectError: wrapped("amounts[1] must be at least 50.00 USD, the least that a card is issued with, got 49.99."),
		},
		resource.TestStep{Config: s.Provider() + string(text), ConfigStateChecks: cost(448_75)},
		resource.TestStep{
			Config: s.Provider() + `resource "terraform_data" "load" {
				input = 60.50
			}
			output "cost" {
				value = provider::vcard::issuance_cost([123.5 * 0.6, terraform_data.load.output])
			}`,
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownOutputValue("cost")}},
			ConfigStateChecks: cost(136_60),
		},
	)
}
