package card_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

func TestCardDataSource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	again := issue(s, map[string]any{"amount": 62, "label": "terminated"}).ID
	unlabelled := issue(s, map[string]any{"amount": 50}).ID
	s.Terminate(unlabelled)
	frozen := map[string]knownvalue.Check{
		"id": knownvalue.StringExact(ids["frozen"]), "bin_id": knownvalue.StringExact(bin), "network": knownvalue.StringExact("visa"),
		"last4": knownvalue.StringExact(read(s, ids["frozen"]).Last4), "status": knownvalue.StringExact("frozen"),
		"balance": acctest.Exactly("51"), "spending_limit": acctest.Exactly("50000"), "label": knownvalue.StringExact("frozen"),
	}
	config := s.Provider() + "data \"vcard_cards\" \"frozen\" { status = \"frozen\" }\n"
	checks := []statecheck.StateCheck{acctest.Is("data.vcard_cards.frozen", "cards", knownvalue.ListExact(
		[]knownvalue.Check{knownvalue.ObjectExact(frozen)}))}
	for name, c := range map[string]struct {
		config string
		shows  map[string]knownvalue.Check
	}{
		"by_id":    {fmt.Sprintf("id = %q", ids["frozen"]), frozen},
		"by_label": {`label = "frozen"`, frozen},
		"terminated": {fmt.Sprintf("id = %q", unlabelled), map[string]knownvalue.Check{
			"status": knownvalue.StringExact("terminated"), "label": knownvalue.Null(), "balance": acctest.Exactly("0"),
		}},
		"a_live_one": {`label = "terminated"`, map[string]knownvalue.Check{"id": knownvalue.StringExact(again), "balance": acctest.Exactly("62")}},
	} {
		config += fmt.Sprintf("data \"vcard_card\" %q {\n %s\n}\n", name, c.config)
		checks = append(checks, acctest.Is("data.vcard_card."+name, "created_at", acctest.Form(`\d{4}-\d\d-\d\dT.*Z`)))
		for field, value := range c.shows {
			checks = append(checks, acctest.Is("data.vcard_card."+name, field, value))
		}
	}
	resource.Test(t, acctest.Life(resource.TestStep{Config: config, ConfigStateChecks: checks}))
}

// What vcard_cards and the list resource find is in the same order: the active cards,
// then the frozen ones, the newest first.
var filters = map[string]struct {
	config object
	want   []string // labels
}{
	"all":              {object{}, []string{"newest", "other bin", "oldest", "frozen"}},
	"active":           {object{"status": "active"}, []string{"newest", "other bin", "oldest"}},
	"frozen":           {object{"status": "frozen"}, []string{"frozen"}},
	"BIN":              {object{"bin_id": bin}, []string{"newest", "oldest", "frozen"}},
	"both":             {object{"bin_id": bin, "status": "active"}, []string{"newest", "oldest"}},
	"label":            {object{"label": "frozen"}, []string{"frozen"}},
	"no such label":    {object{"label": "froze"}, nil},
	"terminated label": {object{"label": "terminated"}, nil},
	"label prefix":     {object{"label_prefix": "o"}, []string{"other bin", "oldest"}},
	"label and prefix": {object{"label": "newest", "label_prefix": "o"}, nil},
	"nothing found":    {object{"bin_id": "bin_general_visa_eu"}, nil},
}

func TestCardsDataSource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	all := map[string][]string{"status = \"terminated\"": {"terminated"}}
	for _, c := range filters {
		lines := ""
		for name, value := range c.config {
			lines += fmt.Sprintf("%s = %q\n", name, value)
		}
		all[lines] = c.want
	}
	config, checks := s.Provider(), []statecheck.StateCheck{}
	for lines, labels := range all {
		listed := []knownvalue.Check{}
		for _, label := range labels {
			listed = append(listed, knownvalue.StringExact(ids[label]))
		}
		name := fmt.Sprintf("test%d", len(checks))
		config += fmt.Sprintf("data \"vcard_cards\" %q {\n %s\n}\n", name, lines)
		checks = append(checks,
			acctest.Is("data.vcard_cards."+name, "ids", knownvalue.ListExact(listed)),
			acctest.Is("data.vcard_cards."+name, "cards", knownvalue.ListSizeExact(len(listed))))
	}
	resource.Test(t, acctest.Life(
		acctest.Fails(s.Provider()+`data "vcard_cards" "test" { status = "lost" }`, `status must be "active", "frozen" or "terminated", got "lost"`),
		resource.TestStep{Config: config, ConfigStateChecks: checks},
		resource.TestStep{
			PreConfig: func() { s.AddQuirks(object{"cards_per_page": 2}) }, Config: config, ConfigStateChecks: checks,
		},
	))
}

// issueFleet issues cards in all states and returns their ids by label. The
// newest has the label "newest".
func issueFleet(s *acctest.Service) map[string]string {
	ids := map[string]string{}
	add := func(label string, amount int, on string) {
		var issued shown
		s.Post("/cards", map[string]any{"bin_id": on, "label": label, "amount": amount}).Into(&issued)
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

func TestCardDetails(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"repeated_state": "ok", "exp_year_digits": 4})
	card := issue(s, map[string]any{"amount": 50})
	known := s.Get("/cards/" + card.ID + "/details").Must()
	is := []statecheck.StateCheck{
		acctest.Is("echo.card", "data", knownvalue.ObjectExact(map[string]knownvalue.Check{
			"card_id": knownvalue.StringExact(card.ID), "pan": knownvalue.StringExact(known.Text("pan")), "cvv": knownvalue.StringExact(known.Text("cvv")),
			"exp_month": acctest.Exactly(known.Text("exp_month")), "exp_year": acctest.Exactly(known.Text("exp_year")),
		})),
	}
	config := s.Provider() + fmt.Sprintf(`
		ephemeral "vcard_card_details" "test" { card_id = %q }
		provider "echo" { data = ephemeral.vcard_card_details.test }
		resource "echo" "card" {}`, card.ID)
	resource.Test(t, acctest.LifeSince(tfversion.Version1_10_0,
		resource.TestStep{Config: config, ConfigStateChecks: is},
		resource.TestStep{PreConfig: func() { s.Freeze(card.ID) }, Config: config, ConfigStateChecks: is},
	))
}
