package card_test

import (
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
	plansNothing(t, w) // in another process, which has to wait for the card too
	serviceHolds(t, s, "frozen", 60*usd.Dollar, acctest.InitialBalance-61*usd.Dollar)
	w.Must("destroy", "-no-color", "-auto-approve")
}
