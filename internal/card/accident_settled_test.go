package card_test

import (
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// alarms are what must not be said where nothing happened but purchases.
var alarms = []string{"without Terraform", "made before", "may have been made", "More or less money", "is not known whether", "explain"}

func bought(s *acctest.Service, id, amount string, more ...string) (authorization string) {
	return s.Authorize(id, amount, "7311", more...).OK(http.StatusCreated).Transaction()
}

// On a service whose balances fall at settlement and not at authorization,
// purchases are no movement of money, and no movement is taken for made.
func TestBalancesThatFallAtSettlement(t *testing.T) {
	t.Parallel()
	inEachKeyMode(t, func(t *testing.T, s *acctest.Service, settings string) {
		t.Helper()
		s.AddQuirks(object{"balance": "settled"})
		w := applied(t, s, settings, oneCard("amount = 200"))
		id := onlyCard(s).ID
		moves := func(lines string, balance usd.Amount) {
			t.Helper()
			printsNot(t, apply(w, oneCard(lines)), alarms...)
			if now := onlyCard(s).Balance; now != balance {
				t.Errorf("%s: the card holds %s USD, want %s", lines, now, balance)
			}
			printsNot(t, plansNothing(t, w), alarms...)
		}
		first, second := bought(s, id, "30"), bought(s, id, "20", `"fee":1`)
		moves("amount = 240", 239*usd.Dollar)
		settlement := s.Settle(first, "27").Transaction()
		moves("amount = 230", 202*usd.Dollar)
		s.Refund(settlement, "5").OK(http.StatusCreated)
		s.Settle(second, "24.50", `"fee":0.25`).OK(http.StatusCreated)
		moves("amount = 260", 212*usd.Dollar+25*usd.Cent)
		s.Settle(bought(s, id, "12"), "12").OK(http.StatusCreated)
		moves("amount = 260\n  top_up = { below = 210, to = 250 }", 250*usd.Dollar)
		bought(s, id, "40")
		s.Fault(map[string]any{"method": "POST", "path": "/cards/*/withdraw", "times": 1, "when": "after", "then": "drop"})
		apply(w, oneCard("amount = 250\n  top_up = { below = 210, to = 250 }"))
		serviceHolds(t, s, "active", 240*usd.Dollar, s.Wallet())
		plansNothing(t, w)
		s.Balanced()
	})
}

// A movement that a cut-off run made is recognized beside purchases that a
// balance shows, and beside those that it does not show yet.
func TestMovementOfACutOffRunWhereBalancesFallAtSettlement(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settles bool
		amount  string
		balance usd.Amount
	}{
		"fund, open purchase":        {false, "240", 240 * usd.Dollar},
		"fund, settled purchase":     {true, "240", 213 * usd.Dollar},
		"withdraw, open purchase":    {false, "150", 150 * usd.Dollar},
		"withdraw, settled purchase": {true, "150", 123 * usd.Dollar},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			s.AddQuirks(object{"balance": "settled", "idempotency": "ignored"})
			w := applied(t, s, "", oneCard("amount = 200"))
			killed := stateOf(t, w)
			if authorization := bought(s, onlyCard(s).ID, "27"); test.settles {
				s.Settle(authorization, "").OK(http.StatusCreated)
			}
			printsNot(t, apply(w, oneCard("amount = "+test.amount)), alarms...)
			killed()
			prints(t, apply(w, oneCard("amount = "+test.amount)), "made before")
			plansNothing(t, w)
			if now := onlyCard(s).Balance; now != test.balance {
				t.Errorf("the card holds %s USD, want %s", now, test.balance)
			}
		})
	}
}
