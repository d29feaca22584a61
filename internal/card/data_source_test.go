package card_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/querycheck"
	"github.com/hashicorp/terraform-plugin-testing/querycheck/queryfilter"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
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
	resource.Test(t, acctest.Life(t, resource.TestStep{Config: config, ConfigStateChecks: checks}))
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
	resource.Test(t, acctest.Life(t,
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
	resource.Test(t, acctest.LifeSince(t, tfversion.Version1_10_0,
		resource.TestStep{Config: config, ConfigStateChecks: is},
		resource.TestStep{PreConfig: func() { s.Freeze(card.ID) }, Config: config, ConfigStateChecks: is},
	))
}

// labelled lists cards and returns the labels that ids has for them.
func labelled(t *testing.T, p *acctest.Protocol, ids map[string]string, config object, limit int64, whole bool) (labels []string, problem string) {
	t.Helper()
	labelOf := map[any]string{}
	for label, id := range ids {
		labelOf[id] = label
	}
	listed, diags := p.List("vcard_card", config, limit, whole)
	for _, one := range listed {
		if labels = append(labels, labelOf[one.Identity["id"]]); (one.Resource != nil) != whole {
			t.Errorf("asked for the resource: %t, got %v", whole, one.Resource)
		}
	}
	return labels, diags.Errors()
}

func TestListCards(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	for _, perPage := range []int{100, 2} {
		s.AddQuirks(object{"cards_per_page": perPage})
		p := s.Protocol(nil)
		for _, whole := range []bool{false, true} {
			for name, c := range filters {
				for _, limit := range []int{1, 2, 3, 100} {
					want := c.want[:min(limit, len(c.want))]
					got, problem := labelled(t, p, ids, c.config, int64(limit), whole)
					if problem != "" || !slices.Equal(got, want) {
						t.Errorf("%s, at most %d, pages of %d: %v are listed, want %v, %s", name, limit, perPage, got, want, problem)
					}
				}
			}
		}
	}
	for _, status := range []string{"lost", "terminated"} {
		_, problem := labelled(t, s.Protocol(nil), ids, object{"status": status}, 100, false)
		sandboxtest.Says(t, status, problem, `status must be "active" or "frozen"`)
	}
}

func TestListIsNeverCutShort(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	ids := issueFleet(s)
	s.AddQuirks(object{"cards_per_page": 2})
	s.Fault(fault("GET", "/cards", "before", 1, "pass"))
	s.Fault(fault("GET", "/cards", "before", 1, object{"status": 400, "body": `{"error": "invalid_request", "message": "no such page today"}`}))
	got, problem := labelled(t, s.Protocol(nil), ids, object{}, 100, false)
	sandboxtest.Says(t, "a page that fails", problem, "list the cards", "400 (invalid_request)", "no such page today")
	if !slices.Equal(got, []string{"newest", "other bin"}) {
		t.Errorf("before the error come %v", got)
	}
	s.Fault(fault("GET", "/cards/"+ids["other bin"], "before", 0, object{"status": 404, "body": `{"error": "not_found", "message": "there is none"}`}))
	got, problem = labelled(t, s.Protocol(nil), ids, object{}, 100, true)
	sandboxtest.Says(t, "a card that fails", problem, ids["other bin"], "404 (not_found)")
	const noID = `{"data": [{"id": "card 1", "bin_id": "b", "status": "frozen", "balance": 1, "spending_limit": 1}], "total": 1}`
	s.Fault(fault("GET", "/cards", "before", 0, object{"status": 200, "body": noID}))
	_, diags := s.Protocol(nil).List("vcard_card", object{"status": "frozen"}, 100, false)
	sandboxtest.Says(t, "a card without an id", diags.Warnings(), "Left out for their ids: 1 cards", "(no id, ")
	if !slices.Equal(got, []string{"newest"}) {
		t.Errorf("before the error come %v", got)
	}
}

// A listed card has what an imported one has.
func TestListedCard(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"timestamps": "utc"})
	for range 11 { // more than are read side by side
		issue(s, map[string]any{"amount": 60, "auto_freeze_at": 5, "metadata": map[string]string{"team": "ads"}})
	}
	s.Freeze(issue(s, map[string]any{"amount": 70, "label": "search", "spending_limit": 500}).ID)
	listed, diags := s.Protocol(nil).List("vcard_card", object{}, 100, true)
	if text := diags.Errors() + diags.Warnings(); text != "" || len(listed) != 12 {
		t.Fatalf("%d cards are listed, %s", len(listed), text)
	}
	for i, one := range listed {
		id := fmt.Sprint(one.Identity["id"])
		card, name := s.Get("/cards/"+id).Must(), id
		if i == len(listed)-1 {
			name = "search"
		}
		if want := fmt.Sprintf("%s (visa ending in %s)", name, card.Text("last4")); one.DisplayName != want {
			t.Errorf("it is displayed as %q, want %q", one.DisplayName, want)
		}
		for _, field := range []string{"id", "bin_id", "network", "last4", "status", "created_at"} {
			if one.Resource[field] != card.Text(field) {
				t.Errorf("%s is listed as %v", field, one.Resource[field])
			}
		}
		if one.Resource["balance"] != map[bool]any{true: acctest.Number("70"), false: acctest.Number("60")}[name == "search"] {
			t.Errorf("balance is listed as %v", one.Resource["balance"])
		}
		for _, unread := range []string{"amount", "allowed_categories", "auto_freeze_at", "metadata", "top_up", "issuance_fee", "expires_at"} {
			if one.Resource[unread] != nil {
				t.Errorf("%s is listed as %v", unread, one.Resource[unread])
			}
		}
	}
}

func TestListAsksNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issueFleet(s)
	s.AddQuirks(object{"cards_per_page": 2})
	s.Delete("/_sandbox/requests").Must()
	if listed, _ := s.Protocol(nil).List("vcard_card", object{}, 2, false); len(listed) != 2 {
		t.Fatalf("%d cards are listed", len(listed))
	}
	if calls := s.Requests(); len(calls) != 1 {
		t.Errorf("two cards on a page of two took %v", calls)
	}
}

// A card may change between the calls of one list.
func TestListWhileCardsChange(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"repeated_state": "ok"})
	ids := issueFleet(s)
	frozenMeanwhile := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("status") == "frozen" {
			s.Freeze(ids["newest"])
		}
		return false
	})
	got, problem := labelled(t, frozenMeanwhile.Protocol(nil), ids, object{}, 100, false)
	if problem != "" || !slices.Equal(got, []string{"newest", "other bin", "oldest", "frozen"}) {
		t.Errorf("with a card that is frozen meanwhile, %v is listed, %s", got, problem)
	}
	terminatedMeanwhile := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1/cards/"+ids["oldest"] {
			s.Terminate(ids["oldest"])
		}
		return false
	})
	got, problem = labelled(t, terminatedMeanwhile.Protocol(nil), ids, object{"status": "active"}, 100, true)
	if problem != "" || !slices.Equal(got, []string{"other bin"}) {
		t.Errorf("with a card that is terminated meanwhile, %v is listed, %s", got, problem)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	identity := func(label string) map[string]knownvalue.Check {
		return map[string]knownvalue.Check{"id": knownvalue.StringExact(ids[label])}
	}
	const address = "vcard_card.test"
	if acctest.OpenTofu() {
		t.Skip("OpenTofu has no query")
	}
	resource.Test(t, acctest.LifeSince(t, tfversion.Version1_14_0,
		resource.TestStep{Config: s.Provider()},
		resource.TestStep{
			Query: true,
			Config: fmt.Sprintf(`list "vcard_card" "test" {
				provider         = vcard
				include_resource = true
				config {
					status = "active"
					bin_id = %q
				}
			}`, bin),
			QueryResultChecks: []querycheck.QueryResultCheck{
				querycheck.ExpectLength(address, 2),
				querycheck.ExpectIdentity(address, identity("newest")), querycheck.ExpectIdentity(address, identity("oldest")),
				querycheck.ExpectNoIdentity(address, identity("frozen")),
				querycheck.ExpectResourceDisplayName(address, queryfilter.ByResourceIdentity(identity("newest")),
					knownvalue.StringExact("newest (visa ending in "+read(s, ids["newest"]).Last4+")")),
				querycheck.ExpectResourceKnownValues(address, queryfilter.ByResourceIdentity(identity("oldest")), []querycheck.KnownValueCheck{
					{Path: tfjsonpath.New("balance"), KnownValue: acctest.Exactly("50")}, {Path: tfjsonpath.New("amount"), KnownValue: knownvalue.Null()},
				}),
			},
		},
	))
}
