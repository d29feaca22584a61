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
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

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
	resource.Test(t, acctest.LifeSince(tfversion.Version1_14_0,
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
