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
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
)

func TestAccCardListResource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	newest := map[string]knownvalue.Check{"id": knownvalue.StringExact(ids["newest"])}
	oldest := map[string]knownvalue.Check{"id": knownvalue.StringExact(ids["oldest"])}
	frozen := map[string]knownvalue.Check{"id": knownvalue.StringExact(ids["frozen"])}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		TerraformVersionChecks:   acctest.SkipBelow("1.14.0", ""), // list resources
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig(),
			},
			{
				Query: true,
				Config: `
					list "vcard_card" "test" {
						provider         = vcard
						include_resource = true
						config {
							status = "active"
							bin_id = "bin_ads_visa_us"
						}
					}`,
				QueryResultChecks: []querycheck.QueryResultCheck{
					querycheck.ExpectLength("vcard_card.test", 2),
					querycheck.ExpectIdentity("vcard_card.test", newest),
					querycheck.ExpectIdentity("vcard_card.test", oldest),
					querycheck.ExpectNoIdentity("vcard_card.test", frozen),
					querycheck.ExpectResourceDisplayName("vcard_card.test", queryfilter.ByResourceIdentity(newest),
						knownvalue.StringExact("newest (visa ending in "+read(s, ids["newest"]).Last4+")")),
					querycheck.ExpectResourceKnownValues("vcard_card.test", queryfilter.ByResourceIdentity(oldest), []querycheck.KnownValueCheck{
						{Path: tfjsonpath.New("balance"), KnownValue: acctest.Exactly("50")},
						{Path: tfjsonpath.New("amount"), KnownValue: knownvalue.Null()},
					}),
				},
			},
		},
	})
}

// list asks for cards by the protocol, and returns the labels that ids has for them.
func list(t *testing.T, p *acctest.Protocol, ids map[string]string, config object, limit int64, whole bool) ([]string, acctest.Diagnostics) {
	t.Helper()
	labelOf := map[any]string{}
	for label, id := range ids {
		labelOf[id] = label
	}
	listed, diags := p.List("vcard_card", config, limit, whole)
	var labels []string
	for _, one := range listed {
		labels = append(labels, labelOf[one.Identity["id"]])
		if (one.Resource != nil) != whole {
			t.Errorf("asked for the resource: %t, got %v", whole, one.Resource)
		}
	}
	return labels, diags
}

func TestListCards_filters(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	for _, perPage := range []int{100, 2} {
		s.AddQuirks(object{"cards_per_page": perPage})
		p := s.Protocol(nil)
		for _, whole := range []bool{false, true} {
			for _, filter := range filters {
				for _, limit := range []int{1, 2, 3, 100} {
					got, diags := list(t, p, ids, filter.config, int64(limit), whole)
					diags.ExpectError(t, "")
					if want := filter.labels[:min(limit, len(filter.labels))]; !slices.Equal(got, want) {
						t.Errorf("%s, at most %d, pages of %d: got %v, want %v", filter.name, limit, perPage, got, want)
					}
				}
			}
		}
	}
	for _, status := range []string{"lost", "terminated"} {
		_, diags := list(t, s.Protocol(nil), ids, object{"status": status}, 100, false)
		diags.ExpectError(t, "Invalid Attribute Value Match", `"active" "frozen"`, status)
	}
}

// A list that cannot be read to its end is an error, after the cards that were found.
func TestListCards_refused(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	ids := issueFleet(s)
	s.AddQuirks(object{"cards_per_page": 2})

	s.Fault(fault("GET", "/cards", "before", 1, "pass"))
	s.Fault(fault("GET", "/cards", "before", 1, object{"status": 400, "body": `{"error": "invalid_request", "message": "no such page today"}`}))
	got, diags := list(t, s.Protocol(nil), ids, object{}, 100, false)
	diags.ExpectError(t, "Could not list the cards", "400 (invalid_request)", "no such page today")
	if !slices.Equal(got, []string{"newest", "other bin"}) {
		t.Errorf("before the error come %v", got)
	}

	s.Fault(fault("GET", "/cards/"+ids["other bin"], "before", 0, object{"status": 404, "body": `{"error": "not_found", "message": "there is none"}`}))
	got, diags = list(t, s.Protocol(nil), ids, object{}, 100, true)
	diags.ExpectError(t, "Could not …", ids["other bin"], "404 (not_found)")
	if !slices.Equal(got, []string{"newest"}) {
		t.Errorf("before the error come %v", got)
	}
}

func TestListCards_withoutID(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.Fault(fault("GET", "/cards", "before", 0, object{
		"status": 200,
		"body":   `{"data": [{"id": "card 1", "bin_id": "b", "status": "frozen", "balance": 1, "spending_limit": 1}], "total": 1}`,
	}))
	listed, diags := s.Protocol(nil).List("vcard_card", object{"status": "frozen"}, 100, false)
	diags.ExpectError(t, "")
	diags.ExpectWarning(t, "Records with invalid ids were left out", "(invalid id, hash ")
	if len(listed) > 0 {
		t.Errorf("%v are listed", listed)
	}
}

// A listed card has what an imported one has.
func TestListCards_resources(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"timestamps": "utc"})
	const others = 11 // more than are read side by side
	for range others {
		issue(s, object{"amount": 60, "auto_freeze_at": 5, "metadata": map[string]string{"team": "ads"}})
	}
	s.Freeze(issue(s, object{"amount": 70, "label": "search", "spending_limit": 500}).ID)
	listed, diags := s.Protocol(nil).List("vcard_card", object{}, 100, true)
	diags.ExpectError(t, "")
	diags.ExpectWarning(t, "")
	if len(listed) != others+1 {
		t.Fatalf("%d cards are listed, want %d", len(listed), others+1)
	}
	for i, one := range listed {
		id := fmt.Sprint(one.Identity["id"])
		name, balance := id, acctest.Number("60")
		if i == others { // the frozen card is the last
			name, balance = "search", acctest.Number("70")
		}
		card := s.Get("/cards/" + id).Must()
		if want := fmt.Sprintf("%s (visa ending in %s)", name, card.Text("last4")); one.DisplayName != want {
			t.Errorf("it is displayed as %q, want %q", one.DisplayName, want)
		}
		if one.Resource["balance"] != balance {
			t.Errorf("the balance is %v, want %s", one.Resource["balance"], balance)
		}
		for _, attribute := range []string{"id", "bin_id", "network", "last4", "status", "created_at"} {
			if one.Resource[attribute] != card.Text(attribute) {
				t.Errorf("%s is %v, want %s", attribute, one.Resource[attribute], card.Text(attribute))
			}
		}
		for _, attribute := range []string{"amount", "allowed_categories", "auto_freeze_at", "metadata", "top_up", "issuance_fee", "expires_at"} {
			if one.Resource[attribute] != nil {
				t.Errorf("%s is %v, which the service does not show", attribute, one.Resource[attribute])
			}
		}
	}
}

func TestListCards_requests(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issueFleet(s)
	s.AddQuirks(object{"cards_per_page": 2})
	s.Delete("/_sandbox/requests").Must()
	if listed, _ := s.Protocol(nil).List("vcard_card", object{}, 2, false); len(listed) != 2 {
		t.Fatalf("%d cards are listed, want 2", len(listed))
	}
	if requests := s.Requests(); len(requests) != 1 {
		t.Errorf("two cards on a page of two took %v", requests)
	}
}

// A card may change between the requests of one list.
func TestListCards_whileCardsChange(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"repeated_state": "ok"})
	ids := issueFleet(s)

	freezing := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("status") == "frozen" {
			s.Freeze(ids["newest"])
		}
		return false
	})
	got, diags := list(t, freezing.Protocol(nil), ids, object{}, 100, false)
	diags.ExpectError(t, "")
	if !slices.Equal(got, []string{"newest", "other bin", "oldest", "frozen"}) {
		t.Errorf("with a card that is frozen meanwhile, %v are listed", got)
	}

	terminating := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1/cards/"+ids["oldest"] {
			s.Terminate(ids["oldest"])
		}
		return false
	})
	got, diags = list(t, terminating.Protocol(nil), ids, object{"status": "active"}, 100, true)
	diags.ExpectError(t, "")
	if !slices.Equal(got, []string{"other bin"}) {
		t.Errorf("with a card that is terminated meanwhile, %v are listed", got)
	}
}
