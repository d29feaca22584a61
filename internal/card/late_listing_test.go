package card_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A service that shows new cards only after some seconds loses none of the run
// that issued them, and none in the plan right after it.
func TestCardsThatAreShownLate(t *testing.T) {
	t.Parallel()
	clock := new(acctest.Clock)
	s, w := acctest.StartOn(t, clock), acctest.NewWorkspace(t).On(clock)
	s.AddQuirks(object{"cards_hidden_seconds": 4})
	through(w, s, "")
	apply(w, oneCard("amount = 60"))
	plansNothing(t, w) // in another process, which has to wait for the card too
	w.Must("destroy", "-no-color", "-auto-approve")

	config := oneCard("amount = 60\n  frozen = true") + `
data "vcard_card" "one" {
  id = vcard_card.test.id
}
data "vcard_cards" "all" {
  status     = "frozen"
  depends_on = [vcard_card.test]
}
output "shown" {
  value = "${data.vcard_card.one.status}, ${length(data.vcard_cards.all.ids)} listed"
}
`
	prints(t, apply(w, config), "frozen, 1 listed")
	plansNothing(t, w)
	serviceHolds(t, s, "frozen", 60*usd.Dollar, acctest.InitialBalance-62*usd.Dollar)
	w.Must("destroy", "-no-color", "-auto-approve")
}

// A card that leaves a list between two pages takes no other one with it.
func TestListsOfCardsThatMove(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]func(p *acctest.Protocol) ([]string, string){
		"vcard_cards": func(p *acctest.Protocol) (ids []string, problem string) {
			read, diags := p.ReadDataSource("vcard_cards", object{"status": "active"})
			all, _ := read["ids"].([]any)
			for _, id := range all {
				ids = append(ids, plain(id))
			}
			return ids, diags.Errors()
		},
		"list resource": func(p *acctest.Protocol) (ids []string, problem string) {
			listed, diags := p.List("vcard_card", object{}, 100, false)
			for _, one := range listed {
				ids = append(ids, plain(one.Identity["id"]))
			}
			return ids, diags.Errors()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			s.AddQuirks(object{"cards_per_page": 2, "cards_total": "present"})
			var issued []string
			for range 6 {
				issued = append(issued, issue(s, map[string]any{"amount": 50}).ID)
			}
			var left sync.Once
			p := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("page") == "2" {
					left.Do(func() { s.Terminate(issued[5]) })
				}
				return false
			}).Protocol(nil)
			listed, problem := list(p)
			for _, id := range issued[:5] {
				if !slices.Contains(listed, id) {
					t.Errorf("%s is not listed in %q, %s", id, listed, problem)
				}
			}
		})
	}
}
