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

// The same of a withdrawal, and of a top-up, which is due again.
func TestReplayedMovementIsMadeAgain(t *testing.T) {
	t.Parallel()
	const topUp = "amount = 100\n  top_up = { below = 40, to = 80 }"
	for name, c := range map[string]struct {
		before, then, buys, by string
		amount                 int
		balance, wallet        usd.Amount
	}{
		"withdrawal": {"amount = 100", "amount = 70", "", "/fund", 30, 70, 9929},
		"top-up":     {topUp, topUp, "70", "/withdraw", 50, 80, 9849},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withMoneyInEachKeyMode(t, func(m *money) {
				m.apply(c.before)
				if c.buys != "" {
					bought(m.s, onlyCard(m.s).ID, c.buys)
				}
				m.killed(c.then, 1)
				m.holds(c.balance * usd.Dollar)
				m.byHand(c.by, c.amount)
				m.applyTwice(c.then, c.balance*usd.Dollar)
				serviceHolds(m.t, m.s, "active", c.balance*usd.Dollar, c.wallet*usd.Dollar)
			})
		})
	}
}
