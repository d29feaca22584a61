package bins_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestBins(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.AddQuirks(map[string]any{"wallet_fields": []string{"orchard_pay", "robot_pay"}}) // which each service names
	catalogue := s.Get("/bins").Data()
	config, checks := s.Provider(), []statecheck.StateCheck{}
	for i, c := range []struct {
		filter string
		passes func(bin map[string]any) bool
	}{
		{``, func(map[string]any) bool { return true }},
		{`network = "mastercard"`, func(bin map[string]any) bool { return bin["network"] == "mastercard" }},
		{`category = "general"`, func(bin map[string]any) bool { return bin["category"] == "general" }},
		{`three_ds = true`, func(bin map[string]any) bool { return bin["3ds"] == true }},
		{`three_ds = false`, func(bin map[string]any) bool { return bin["3ds"] == false }},
		{"network = \"Visa\"\ncategory = \"ADS\"\nthree_ds = true", func(bin map[string]any) bool {
			return bin["network"] == "visa" && bin["category"] == "ads" && bin["3ds"] == true
		}},
		{`network = "other"`, func(map[string]any) bool { return false }},
	} {
		config += fmt.Sprintf("data \"vcard_bins\" \"test%d\" {\n%s\n}\n", i, c.filter)
		ids, bins := []knownvalue.Check{}, []knownvalue.Check{}
		for _, bin := range catalogue {
			if !c.passes(bin) {
				continue
			}
			text := func(field string) knownvalue.Check { return knownvalue.StringExact(fmt.Sprint(bin[field])) }
			is := func(field string) knownvalue.Check { return knownvalue.Bool(bin[field] == true) }
			ids = append(ids, text("id"))
			bins = append(bins, knownvalue.ObjectExact(map[string]knownvalue.Check{
				"id": text("id"), "network": text("network"), "category": text("category"), "three_ds": is("3ds"),
				"wallets": knownvalue.MapExact(map[string]knownvalue.Check{"orchard_pay": is("orchard_pay"), "robot_pay": is("robot_pay")}),
			}))
		}
		address := fmt.Sprintf("data.vcard_bins.test%d", i)
		checks = append(checks,
			acctest.Is(address, "ids", knownvalue.ListExact(ids)),
			acctest.Is(address, "bins", knownvalue.ListExact(bins)))
	}
	resource.Test(t, acctest.Life(t,
		acctest.Fails(s.Provider()+"data \"vcard_bins\" \"test\" {\n network = \"\"\n}", "network must not be empty"),
		acctest.Fails(s.Provider()+"data \"vcard_bins\" \"test\" {\n category = \"\"\n}", "category must not be empty"),
		resource.TestStep{Config: config, ConfigStateChecks: checks},
	))
}

// Filters that nothing passes are a warning that says what there is.
func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}
