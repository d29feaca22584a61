package card_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A service whose answers and reads come from before a movement does not make it
// one that was not sent, and does not swallow the next one.
func TestStaleAnswerIsNoReplay(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		m.through(m.replica(3*time.Second, true).Service)
		m.apply("amount = 100")
		for _, amount := range []int{150, 200, 150, 100} {
			printsNot(m.t, m.apply(fmt.Sprintf("amount = %d", amount)), "Nothing was sent", "made before")
			m.holds(usd.Amount(amount) * usd.Dollar)
			m.passes(time.Minute)
		}
		m.through(m.s)
		plansNothing(m.t, m.w)
	})
}

// The next run reads from a replica that lags, and takes no anchor from it.
func TestStaleReadsBeforeAMovement(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		replica := m.replica(0, false)
		m.through(replica.Service)
		m.apply("amount = 100")
		plansNothing(m.t, m.w) // by the reads that are to lag
		replica.remember()
		m.apply("amount = 150")
		replica.lapse(12 * time.Second)
		m.apply("amount = 200")
		m.holds(200 * usd.Dollar)
		m.through(m.s)
		printsNot(m.t, m.apply("amount = 250"), alarms...)
		serviceHolds(m.t, m.s, "active", 250*usd.Dollar, 9749*usd.Dollar)
		plansNothing(m.t, m.w)
	})
}

// A plan within seconds of a top-up does not plan a second one, whether it reads
// cards or lists.
func TestStaleReadsAfterATopUp(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			withMoneyInEachKeyMode(t, func(m *money) {
				lines := fmt.Sprintf("count = %d\n  amount = 100\n  top_up = { below = 40, to = 80 }", n)
				replica := m.replica(0, false)
				m.through(replica.Service)
				m.apply(lines)
				plansNothing(m.t, m.w) // by the reads that are to lag
				for _, card := range liveCards(m.s) {
					bought(m.s, card.ID, "70")
				}
				replica.remember()
				m.apply(lines)
				replica.lapse(5 * time.Second)
				plansNothing(m.t, m.w)
				replica.lapse(5 * time.Second)
				m.apply(lines)
				for _, card := range liveCards(m.s) {
					if card.Balance != 80*usd.Dollar {
						m.t.Errorf("card %s holds %s USD, want 80", card.ID, card.Balance)
					}
				}
			})
		})
	}
}
