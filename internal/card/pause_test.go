package card_test

import (
	"fmt"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const keptLoaded = "amount = 100\n  top_up = {\n    below = 40\n    to = 80\n  }\n  frozen = "

// Whether a card is paused may be known only during apply.
func TestPauseThatIsNotKnownYet(t *testing.T) {
	t.Parallel()
	for paused, balance := range map[bool]usd.Amount{true: 10 * usd.Dollar, false: 80 * usd.Dollar} {
		config := func(paused any) object {
			return object{"amount": 100, "top_up": object{"below": 40, "to": 80}, "frozen": paused}
		}
		f := issued(t, config(false))
		f.buy(90 * usd.Dollar)
		f.refresh()
		_, diags := f.plan(config(acctest.Unknown))
		f.succeed(diags)
		f.says("the warning", diags.Warnings(), "is topped up is decided during apply")
		f.turnsOut(config(acctest.Unknown), config(paused))
		f.apply(config(paused))
		if got := f.service().Balance; got != balance {
			t.Errorf("paused %t: the card holds %s USD, want %s", paused, got, balance)
		}
	}
}

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
