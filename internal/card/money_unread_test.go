package card_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// unread changes the service's lists of transactions.
func (m *money) unread(change func(string) (int, string)) *acctest.Service {
	return m.s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodGet, "/transactions") {
			return false
		}
		list := forward(m.s, r)
		status, body := change(list.Raw)
		relay(w, list, status, body)
		return true
	})
}

// What cannot be read may be what changed a balance: it is no proof that a
// movement was made. It stops once at most, and then the movement is made.
func TestUnreadableTransactionsProveNothing(t *testing.T) {
	t.Parallel()
	replaced := func(was, is string) func(string) (int, string) {
		return func(list string) (int, string) { return http.StatusOK, strings.ReplaceAll(list, was, is) }
	}
	for how, change := range map[string]func(string) (int, string){
		"forbidden": func(string) (int, string) {
			return http.StatusForbidden, `{"error":"forbidden","message":"this key reads no transactions"}`
		},
		"in EUR": replaced(`"USD"`, `"EUR"`),
		"of unknown types": func(list string) (int, string) {
			return http.StatusOK, strings.NewReplacer(`"refund"`, `"reversal"`, `"authorization"`, `"presentment"`).Replace(list)
		},
	} {
		for what, c := range map[string]struct {
			happens func(s *sandboxtest.Client, card, settlement string)
			lines   string
			balance usd.Amount
		}{
			"a refund as much as the fund":         {func(s *sandboxtest.Client, _, settlement string) { s.Refund(settlement, "40") }, "amount = 250", 250},
			"a purchase as much as the withdrawal": {func(s *sandboxtest.Client, card, _ string) { s.Authorize(card, "40", "7311") }, "amount = 170", 90},
		} {
			t.Run(how+", "+what, func(t *testing.T) {
				t.Parallel()
				test := func(m *money) {
					// The lists are changed as the document has them.
					m.s.Quirks(object{"idempotency": m.s.Get("/_sandbox/quirks").OK(http.StatusOK).Body["idempotency"]})
					m.apply("amount = 200")
					id := onlyCard(m.s).ID
					settlement := m.s.Settle(bought(m.s, id, "40"), "").Transaction()
					m.apply("amount = 210")
					m.s.Advance("5m")
					c.happens(m.s.Client, id, settlement)
					m.through(m.unread(change))
					printsNot(m.t, m.applyTwice(c.lines, c.balance*usd.Dollar), "made before")
					m.holds(c.balance * usd.Dollar)
				}
				if how == "forbidden" {
					withMoneyInEachKeyMode(t, test)
				} else { // which says no more about keys
					test(newMoney(t, "honoured", ""))
				}
			})
		}
	}
}
