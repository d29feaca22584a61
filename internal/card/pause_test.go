package card_test

import (
	"fmt"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

const keptLoaded = "amount = 100\n  top_up = {\n    below = 40\n    to = 80\n  }\n  frozen = "

func TestExpiry(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t) // in March 2026; cards are good for three years
	w := applied(t, s, "", oneCard("amount = 100"))
	id := onlyCard(s).ID
	advance := func(days int) { s.Advance(fmt.Sprintf("%dh", 24*days)) }
	advance(1081) // to the last day of February 2029
	printsNot(t, plansNothing(t, w), "expire")
	advance(2)
	prints(t, plansNothing(t, w), "Warning: Card "+id, "expires on 2029-03-31", "-replace", "create_before_destroy")
	w.Write("main.tf", oneCard("amount = 120"))
	prints(t, w.Must("plan", "-no-color"), "expires on 2029-03-31", "This plan still loads 20.00 USD onto it")
	advance(29)
	prints(t, w.Must("plan", "-no-color"), "expires on 2029-03-31") // good on its last day
	advance(1)
	prints(t, w.Must("plan", "-no-color"), "expired on 2029-03-31", "This plan loads 20.00 USD onto it, which nobody can spend")
	w.Must("destroy", "-no-color", "-auto-approve")
	apply(w, oneCard("amount = 120"))
	printsNot(t, plansNothing(t, w), "expire")
}
