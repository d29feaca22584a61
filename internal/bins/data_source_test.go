package bins_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// Filters that nothing passes are a warning that names the catalogue.
func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

func TestTitles(t *testing.T) {
	t.Parallel()
	acctest.CheckTitles(t, []string{
		"No BINs found",
	})
}

func TestAccBinsDataSource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.AddQuirks(map[string]any{"wallet_fields": []string{"orchard_pay", "robot_pay"}}) // each service has names of its own
	catalogue := s.Get("/bins").Data()
	all := func(map[string]any) bool { return true }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					data "vcard_bins" "test" { network = "" }`,
				ExpectError: acctest.Error("Invalid Attribute Value Length", "network"),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_bins" "test" { category = "" }`,
				ExpectError: acctest.Error("Invalid Attribute Value Length", "category"),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_bins" "all" {}
					data "vcard_bins" "mastercard" {
						network = "mastercard"
					}
					data "vcard_bins" "general" {
						category = "general"
					}
					data "vcard_bins" "with_3ds" {
						three_ds = true
					}
					data "vcard_bins" "without_3ds" {
						three_ds = false
					}
					data "vcard_bins" "any_case" {
						network  = "Visa"
						category = "ADS"
						three_ds = true
					}
					data "vcard_bins" "none" {
						network = "other"
					}`,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("data.vcard_bins.all", tfjsonpath.New("bins"), binsOf(catalogue, all)),
					statecheck.ExpectKnownValue("data.vcard_bins.all", tfjsonpath.New("ids"), idsOf(catalogue, all)),
					statecheck.ExpectKnownValue("data.vcard_bins.mastercard", tfjsonpath.New("bins"), binsOf(catalogue, func(bin map[string]any) bool {
						return bin["network"] == "mastercard"
					})),
					statecheck.ExpectKnownValue("data.vcard_bins.general", tfjsonpath.New("bins"), binsOf(catalogue, func(bin map[string]any) bool {
						return bin["category"] == "general"
					})),
					statecheck.ExpectKnownValue("data.vcard_bins.with_3ds", tfjsonpath.New("bins"), binsOf(catalogue, func(bin map[string]any) bool {
						return bin["3ds"] == true
					})),
					statecheck.ExpectKnownValue("data.vcard_bins.without_3ds", tfjsonpath.New("bins"), binsOf(catalogue, func(bin map[string]any) bool {
						return bin["3ds"] == false
					})),
					statecheck.ExpectKnownValue("data.vcard_bins.any_case", tfjsonpath.New("bins"), binsOf(catalogue, func(bin map[string]any) bool {
						return bin["network"] == "visa" && bin["category"] == "ads" && bin["3ds"] == true
					})),
					statecheck.ExpectKnownValue("data.vcard_bins.any_case", tfjsonpath.New("ids"), idsOf(catalogue, func(bin map[string]any) bool {
						return bin["network"] == "visa" && bin["category"] == "ads" && bin["3ds"] == true
					})),
					statecheck.ExpectKnownValue("data.vcard_bins.none", tfjsonpath.New("bins"), knownvalue.ListSizeExact(0)),
					statecheck.ExpectKnownValue("data.vcard_bins.none", tfjsonpath.New("ids"), knownvalue.ListSizeExact(0)),
				},
			},
		},
	})
}

// idsOf expects the ids of the catalogue's BINs that pass, in its order.
func idsOf(catalogue []map[string]any, passes func(bin map[string]any) bool) knownvalue.Check {
	ids := []knownvalue.Check{}
	for _, bin := range catalogue {
		if passes(bin) {
			ids = append(ids, knownvalue.StringExact(fmt.Sprint(bin["id"])))
		}
	}
	return knownvalue.ListExact(ids)
}

// binsOf expects the catalogue's BINs that pass, in its order.
func binsOf(catalogue []map[string]any, passes func(bin map[string]any) bool) knownvalue.Check {
	bins := []knownvalue.Check{}
	for _, bin := range catalogue {
		if !passes(bin) {
			continue
		}
		bins = append(bins, knownvalue.ObjectExact(map[string]knownvalue.Check{
			"id":       knownvalue.StringExact(fmt.Sprint(bin["id"])),
			"network":  knownvalue.StringExact(fmt.Sprint(bin["network"])),
			"category": knownvalue.StringExact(fmt.Sprint(bin["category"])),
			"three_ds": knownvalue.Bool(bin["3ds"] == true),
			"wallets": knownvalue.MapExact(map[string]knownvalue.Check{
				"orchard_pay": knownvalue.Bool(bin["orchard_pay"] == true),
				"robot_pay":   knownvalue.Bool(bin["robot_pay"] == true),
			}),
		}))
	}
	return knownvalue.ListExact(bins)
}
