package card_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What a firewall answers says nothing about what the service did before.
func TestFirewallHidesWhatWasDone(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusTooManyRequests} {
		for what, amounts := range map[string][2]int{"issue": {0, 100}, "fund": {100, 140}, "withdraw": {100, 60}} {
			t.Run(fmt.Sprint(what, ", ", status), func(t *testing.T) {
				t.Parallel()
				withMoneyInEachKeyMode(t, func(m *money) {
					const config = "count = 3\n  amount = %d"
					if amounts[0] > 0 {
						m.apply(fmt.Sprintf(config, amounts[0]))
					}
					m.through(m.firewall(3, status))
					m.w.Write("main.tf", oneCard(fmt.Sprintf(config, amounts[1])))
					code, output := m.w.Run("apply", "-no-color", "-auto-approve")
					if code != 0 {
						m.t.Errorf("the apply failed:\n%s", output)
						_, _ = m.w.Run("apply", "-no-color", "-auto-approve") // as a user does
					}
					live := liveCards(m.s)
					if len(live) != 3 {
						m.t.Errorf("%d cards are live, want 3", len(live))
					}
					for _, card := range live {
						if card.Balance != usd.Amount(amounts[1])*usd.Dollar {
							m.t.Errorf("card %s holds %s USD, want %d", card.ID, card.Balance, amounts[1])
						}
					}
					plansNothing(m.t, m.w)
				})
			})
		}
	}
}

// A firewall that never lets an answer through leaves no card that nobody is told of.
func TestFirewallThatHidesEachIssue(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		m.through(m.firewall(always, http.StatusForbidden))
		m.w.Write("main.tf", oneCard("count = 2\n  amount = 60"))
		code, output := m.w.Run("apply", "-no-color", "-auto-approve")
		if code != 0 {
			if told := strings.Count(unwrapped(output), "it is not known whether this took effect"); told != 2 {
				m.t.Errorf("of 2 cards that may exist, %d are told:\n%s", told, output)
			}
		}
		if live := liveCards(m.s); len(live) != 2 {
			m.t.Errorf("%d cards are live, want 2", len(live))
		}
	})
}
