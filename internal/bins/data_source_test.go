package bins_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
)

type object = acctest.Object

// bin is an entry as the service shows it.
type bin struct {
	ID       string `json:"id"`
	Network  string `json:"network"`
	Category string `json:"category"`
	ThreeDS  bool   `json:"3ds"`
}

func catalogue(s *acctest.Service) []bin {
	var response struct{ Data []bin }
	s.Get("/bins").Into(&response)
	return response.Data
}

func TestExample(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.Quirks(nil) // the example names no wallets, the test does
	text, err := os.ReadFile("../../examples/data-sources/vcard_bins/data-source.tf")
	if err != nil {
		t.Fatal(err)
	}
	const address = "data.vcard_bins.ads"
	s.Test(t, resource.TestStep{
		Config:           s.Provider() + string(text),
		ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("ids"), knownvalue.ListExact([]knownvalue.Check{
				knownvalue.StringExact("bin_ads_visa_us"), knownvalue.StringExact("bin_ads_visa_eu"),
			})),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("bins").AtSliceIndex(1), knownvalue.ObjectExact(map[string]knownvalue.Check{
				"id": knownvalue.StringExact("bin_ads_visa_eu"), "network": knownvalue.StringExact("visa"), "category": knownvalue.StringExact("ads"), "three_ds": knownvalue.Bool(true),
				"wallets": knownvalue.MapExact(map[string]knownvalue.Check{"wallet_a_pay": knownvalue.Bool(true), "wallet_b_pay": knownvalue.Bool(false)}),
			})),
			statecheck.ExpectKnownOutputValue("bins_with_mobile_wallets", knownvalue.ListSizeExact(2)),
		},
	})
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	all := catalogue(s)
	for name, c := range map[string]struct {
		filter object
		passes func(bin) bool
	}{
		"none":        {object{}, func(bin) bool { return true }},
		"network":     {object{"network": "mastercard"}, func(b bin) bool { return b.Network == "mastercard" }},
		"category":    {object{"category": "general"}, func(b bin) bool { return b.Category == "general" }},
		"with 3DS":    {object{"three_ds": true}, func(b bin) bool { return b.ThreeDS }},
		"no 3DS":      {object{"three_ds": false}, func(b bin) bool { return !b.ThreeDS }},
		"all":         {object{"network": "visa", "category": "ads", "three_ds": true}, func(b bin) bool { return b.Network == "visa" && b.Category == "ads" && b.ThreeDS }},
		"in capitals": {object{"network": "Visa", "category": "ADS"}, func(b bin) bool { return b.Network == "visa" && b.Category == "ads" }},
		"nowhere":     {object{"network": "other"}, func(bin) bool { return false }},
	} {
		got, diags := p.ReadDataSource("vcard_bins", c.filter)
		if text := diags.Errors(); text != "" {
			t.Fatal(text)
		}
		want := []any{}
		for _, b := range all {
			if c.passes(b) {
				want = append(want, b.ID)
			}
		}
		if told := strings.Contains(diags.Warnings(), "No BIN passes the filters: ids and bins are empty. The catalogue has 9 BINs, of the networks mastercard, visa and the categories"); told != (len(want) == 0) {
			t.Errorf("%s: warns %q", name, diags.Warnings())
		}
		if ids, _ := got["ids"].([]any); ids == nil || !slices.Equal(ids, want) {
			t.Errorf("%s: ids %v, want %v", name, got["ids"], want)
		}
		if bins, _ := got["bins"].([]any); bins == nil || len(bins) != len(want) {
			t.Errorf("%s: %d bins, want %d", name, len(bins), len(want))
		}
	}
	for _, filter := range []object{{"network": ""}, {"category": ""}} {
		if _, diags := p.ReadDataSource("vcard_bins", filter); !strings.Contains(diags.Errors(), "must not be empty") {
			t.Errorf("%v: %s", filter, diags.Errors())
		}
	}
}

func TestWalletsHaveTheServicesNames(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.Quirks(object{"wallet_fields": []string{"orchard_pay", "robot_pay"}})
	got, diags := s.Protocol(nil).ReadDataSource("vcard_bins", object{"category": "software", "network": "mastercard"})
	if text := diags.Errors(); text != "" {
		t.Fatal(text)
	}
	if text := fmt.Sprint(got["bins"]); !strings.Contains(text, "wallets:map[orchard_pay:false robot_pay:true]") {
		t.Errorf("read %s", text)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	for name, c := range map[string]struct {
		provider object
		want     string
	}{
		"unknown provider": {object{"base_url": acctest.Unknown, "api_key": acctest.Unknown}, "read the BIN catalogue, but they depend on values that are known only after apply"},
		"foreign key":      {object{"base_url": s.URL, "api_key": "sk_live_unknown"}, "Could not read the BIN catalogue: The service answered 401"},
	} {
		if _, diags := acctest.Configure(t, c.provider).ReadDataSource("vcard_bins", object{}); !strings.Contains(diags.Errors(), c.want) {
			t.Errorf("%s: %s", name, diags.Errors())
		}
	}
}
