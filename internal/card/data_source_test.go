package card_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// issueFleet issues cards in all states and returns their ids by label, which "newest" is the last of.
func issueFleet(s *acctest.Service) map[string]string {
	ids := map[string]string{}
	add := func(label string, amount int, on string) {
		var issued shown
		s.Post("/cards", object{"bin_id": on, "label": label, "amount": amount}).Into(&issued)
		ids[label] = issued.ID
	}
	add("oldest", 50, bin)
	add("frozen", 51, bin)
	s.Freeze(ids["frozen"])
	add("terminated", 52, bin)
	s.Terminate(ids["terminated"])
	add("other bin", 53, "bin_ads_mastercard_us")
	add("newest", 54, bin)
	return ids
}

func TestAccCardDataSource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	live := issue(s, object{"amount": 62, "label": "terminated"}).ID // a label that a terminated card has as well
	unlabelled := issue(s, object{"amount": 50}).ID
	s.Terminate(unlabelled)
	createdAt := knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					data "vcard_card" "test" {}`,
				ExpectError: acctest.Error(titleIDOrLabel),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_card" "test" {
						id    = "card_1"
						label = "search"
					}`,
				ExpectError: acctest.Error(titleIDOrLabel),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_card" "test" { label = "froze" }`,
				ExpectError: acctest.Error(titleNoCardLabelled, `"froze"`),
			},
			{
				Config: s.ProviderConfig() + fmt.Sprintf(`
					data "vcard_card" "by_id" {
						id = %q
					}
					data "vcard_card" "by_label" {
						label = "frozen"
					}
					data "vcard_card" "terminated" {
						id = %q
					}
					data "vcard_card" "live" {
						label = "terminated"
					}`, ids["frozen"], unlabelled),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("id"), knownvalue.StringExact(ids["frozen"])),
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("bin_id"), knownvalue.StringExact(bin)),
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("network"), knownvalue.StringExact("visa")),
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("last4"), knownvalue.StringExact(read(s, ids["frozen"]).Last4)),
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("status"), knownvalue.StringExact("frozen")),
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("balance"), acctest.Exactly("51")),
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("spending_limit"), acctest.Exactly("50000")),
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("label"), knownvalue.StringExact("frozen")),
					statecheck.ExpectKnownValue("data.vcard_card.by_id", tfjsonpath.New("created_at"), createdAt),

					statecheck.ExpectKnownValue("data.vcard_card.by_label", tfjsonpath.New("id"), knownvalue.StringExact(ids["frozen"])),
					statecheck.ExpectKnownValue("data.vcard_card.by_label", tfjsonpath.New("bin_id"), knownvalue.StringExact(bin)),
					statecheck.ExpectKnownValue("data.vcard_card.by_label", tfjsonpath.New("network"), knownvalue.StringExact("visa")),
					statecheck.ExpectKnownValue("data.vcard_card.by_label", tfjsonpath.New("last4"), knownvalue.StringExact(read(s, ids["frozen"]).Last4)),
					statecheck.ExpectKnownValue("data.vcard_card.by_label", tfjsonpath.New("status"), knownvalue.StringExact("frozen")),
					statecheck.ExpectKnownValue("data.vcard_card.by_label", tfjsonpath.New("balance"), acctest.Exactly("51")),
					statecheck.ExpectKnownValue("data.vcard_card.by_label", tfjsonpath.New("spending_limit"), acctest.Exactly("50000")),
					statecheck.ExpectKnownValue("data.vcard_card.by_label", tfjsonpath.New("created_at"), createdAt),

					statecheck.ExpectKnownValue("data.vcard_card.terminated", tfjsonpath.New("status"), knownvalue.StringExact("terminated")),
					statecheck.ExpectKnownValue("data.vcard_card.terminated", tfjsonpath.New("label"), knownvalue.Null()),
					statecheck.ExpectKnownValue("data.vcard_card.terminated", tfjsonpath.New("balance"), acctest.Exactly("0")),
					statecheck.ExpectKnownValue("data.vcard_card.terminated", tfjsonpath.New("created_at"), createdAt),

					statecheck.ExpectKnownValue("data.vcard_card.live", tfjsonpath.New("id"), knownvalue.StringExact(live)),
					statecheck.ExpectKnownValue("data.vcard_card.live", tfjsonpath.New("balance"), acctest.Exactly("62")),
					statecheck.ExpectKnownValue("data.vcard_card.live", tfjsonpath.New("created_at"), createdAt),
				},
			},
		},
	})
}

// filters are those of vcard_cards and of the list resource. Both have the same order: the active cards, then the frozen
// ones, the newest first.
var filters = []struct {
	name   string // of the data source
	config object
	labels []string // that are found
}{
	{"all", object{}, []string{"newest", "other bin", "oldest", "frozen"}},
	{"active", object{"status": "active"}, []string{"newest", "other bin", "oldest"}},
	{"frozen", object{"status": "frozen"}, []string{"frozen"}},
	{"of_a_bin", object{"bin_id": bin}, []string{"newest", "oldest", "frozen"}},
	{"active_of_a_bin", object{"bin_id": bin, "status": "active"}, []string{"newest", "oldest"}},
	{"label", object{"label": "frozen"}, []string{"frozen"}},
	{"part_of_a_label", object{"label": "froze"}, nil},
	{"terminated_label", object{"label": "terminated"}, nil},
	{"prefix", object{"label_prefix": "o"}, []string{"other bin", "oldest"}},
	{"label_and_prefix", object{"label": "newest", "label_prefix": "o"}, nil},
	{"unused_bin", object{"bin_id": "bin_general_visa_eu"}, nil},
}

func TestAccCardsDataSource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	config := s.ProviderConfig() + `
		data "vcard_cards" "terminated" {
			status = "terminated"
		}
		`
	frozen := knownvalue.ObjectExact(map[string]knownvalue.Check{
		"id":             knownvalue.StringExact(ids["frozen"]),
		"bin_id":         knownvalue.StringExact(bin),
		"network":        knownvalue.StringExact("visa"),
		"last4":          knownvalue.StringExact(read(s, ids["frozen"]).Last4),
		"status":         knownvalue.StringExact("frozen"),
		"balance":        acctest.Exactly("51"),
		"spending_limit": acctest.Exactly("50000"),
		"label":          knownvalue.StringExact("frozen"),
	})
	checks := []statecheck.StateCheck{
		statecheck.ExpectKnownValue("data.vcard_cards.frozen", tfjsonpath.New("cards"), knownvalue.ListExact([]knownvalue.Check{frozen})),
		statecheck.ExpectKnownValue("data.vcard_cards.terminated", tfjsonpath.New("ids"), knownvalue.ListExact([]knownvalue.Check{
			knownvalue.StringExact(ids["terminated"]),
		})),
	}
	for _, filter := range filters {
		config += fmt.Sprintf("data %q %q {\n", "vcard_cards", filter.name)
		for attribute, value := range filter.config {
			config += fmt.Sprintf("%s = %q\n", attribute, value)
		}
		config += "}\n"
		found := []knownvalue.Check{}
		for _, label := range filter.labels {
			found = append(found, knownvalue.StringExact(ids[label]))
		}
		checks = append(checks,
			statecheck.ExpectKnownValue("data.vcard_cards."+filter.name, tfjsonpath.New("ids"), knownvalue.ListExact(found)),
			statecheck.ExpectKnownValue("data.vcard_cards."+filter.name, tfjsonpath.New("cards"), knownvalue.ListSizeExact(len(found))),
		)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					data "vcard_cards" "test" { status = "lost" }`,
				ExpectError: acctest.Error("Invalid Attribute Value Match", "status", `"terminated"`, `"lost"`),
			},
			{
				Config:            config,
				ConfigStateChecks: checks,
			},
			{
				PreConfig:         func() { s.AddQuirks(object{"cards_per_page": 2}) },
				Config:            config,
				ConfigStateChecks: checks,
			},
		},
	})
}
