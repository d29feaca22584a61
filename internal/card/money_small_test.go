package card_test

import (
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A purchase just before an import is in the balance that was imported.
func TestPurchaseJustBeforeAnImport(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		id := issue(m.s, map[string]any{"amount": 100}).ID
		m.s.Advance("1h")
		bought(m.s, id, "20")
		m.w.Write("main.tf", oneCard("amount = 100"))
		m.w.Must("import", "-no-color", "vcard_card.test", id)
		m.apply("amount = 100")
		printsNot(m.t, m.apply("amount = 120"), alarms...)
		m.holds(100 * usd.Dollar)
	})
}

// The wallet pays what a settlement takes beyond the card. Nothing came to the card.
func TestSettlementBeyondTheCard(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		m.apply("amount = 60")
		m.s.Settle(bought(m.s, onlyCard(m.s).ID, "50"), "90").OK(http.StatusCreated)
		m.holds(0)
		printsNot(m.t, m.apply("amount = 115"), alarms...)
		m.holds(55 * usd.Dollar)
	})
}

// Where a stop says that the next apply moves the money, it does: its key is
// another one than that of the killed run, which the service may answer again.
func TestStopThatSaysToApplyAgain(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		m.apply("amount = 100")
		m.killed("amount = 150", 1)
		m.byHand("/fund", 60)
		m.stops("amount = 150", 210*usd.Dollar, "apply again")
		m.apply("amount = 150")
		serviceHolds(m.t, m.s, "active", 260*usd.Dollar, 9739*usd.Dollar)
		plansNothing(m.t, m.w)
	})
}
