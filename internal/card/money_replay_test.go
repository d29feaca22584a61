package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A service that keeps keys answers what it answered before, which shows what was
// hoped for and not what the card holds.
func TestReplayedAnswerIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, moved := range map[string]func(m *money){
		"killed, and taken back by hand": func(m *money) {
			m.killed("amount = 150", 1)
			m.byHand("/withdraw", 50)
		},
		"restored": func(m *money) {
			restore := stateOf(m.t, m.w)
			m.apply("amount = 150")
			m.apply("amount = 100")
			restore()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withMoneyInEachKeyMode(t, func(m *money) {
				m.apply("amount = 100")
				moved(m)
				if stopped := m.applyTwice("amount = 150", 150*usd.Dollar); stopped != "" {
					prints(m.t, stopped, "50.00 USD", "100.00 USD")
					printsNot(m.t, stopped, "Nothing was sent", "made before")
				}
				serviceHolds(m.t, m.s, "active", 150*usd.Dollar, 9849*usd.Dollar)
			})
		})
	}
}

// The same of a withdrawal: what the state says must have gone back to the wallet.
func TestReplayedWithdrawalIsNotBelieved(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		m.apply("amount = 100")
		m.killed("amount = 70", 1)
		m.byHand("/fund", 30)
		m.applyTwice("amount = 70", 70*usd.Dollar)
		serviceHolds(m.t, m.s, "active", 70*usd.Dollar, 9929*usd.Dollar)
	})
}

// A person takes back what a killed run topped up. The top-up is due again.
func TestReplayedTopUpIsNotBelieved(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		const lines = "amount = 100\n  top_up = { below = 40, to = 80 }"
		m.apply(lines)
		bought(m.s, onlyCard(m.s).ID, "70")
		m.killed(lines, 1)
		m.holds(80 * usd.Dollar)
		m.byHand("/withdraw", 50)
		m.applyTwice(lines, 80*usd.Dollar)
		serviceHolds(m.t, m.s, "active", 80*usd.Dollar, 9849*usd.Dollar)
	})
}
