package card_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A killed run moved for amount and for top_up. The next plan has amount alone, of
// which nothing tells whether it was made besides: it stops, and is not paid on top.
func TestTopUpThatWasKilledWithAmount(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		lines := func(amount int) string {
			return fmt.Sprintf("amount = %d\n  top_up = { below = 50, to = 100 }", amount)
		}
		m.apply(lines(100))
		m.spends("60")
		m.killedAt(lines(105), 100*usd.Dollar)
		m.stops(lines(105), 100*usd.Dollar, "60.00 USD")
		m.apply(lines(100)) // it has the money
		serviceHolds(m.t, m.s, "active", 100*usd.Dollar, 9839*usd.Dollar)
	})
}

// Killed with +50, then another sum is planned: the key is another one, and both
// are paid unless the next run stops.
func TestAnotherPlanAfterAKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		killed, then string
		balance      usd.Amount
		found        string
	}{
		"fund":     {"amount = 150", "amount = 140", 150, "50.00 USD"},
		"withdraw": {"amount = 50", "amount = 60", 50, "50.00 USD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withMoneyInEachKeyMode(t, func(m *money) {
				m.apply("amount = 100")
				m.killed(c.killed, 1)
				m.stops(c.then, c.balance*usd.Dollar, c.found)
				m.apply("amount = 100") // the stop said what there is
				m.holds(c.balance * usd.Dollar)
				m.apply("amount = 110") // and does not come again for the same
				m.holds((c.balance + 10) * usd.Dollar)
			})
		})
	}
}

// The plan says what apply would stop for, though purchases have taken the balance
// under what it was.
func TestPlanSeesAKilledFundBehindSpending(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		m.apply("amount = 100")
		m.killed("amount = 150", 1)
		m.spends("60")
		code, output := m.plan("amount = 140")
		if code != 0 {
			m.t.Errorf("the plan failed:\n%s", output)
		}
		prints(m.t, output, "50.00 USD")
		m.stops("amount = 140", 90*usd.Dollar, "50.00 USD")
	})
}

// What apply would refuse for what is known, the plan refuses.
func TestPlanRefusesToLowerAmountIntoTheTopUpRange(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		lines := func(amount string) string { return "amount = " + amount + "\n  top_up = { below = 80.5, to = 90 }" }
		m.apply(lines("100"))
		bought(m.s, onlyCard(m.s).ID, "33.91")
		code, output := m.plan(lines("96.67"))
		if code == 0 {
			m.t.Errorf("the plan lowers amount below top_up.below:\n%s", output)
		}
		prints(m.t, output, "top_up.below")
		printsNot(m.t, output, "may have been made")
	})
}

// The card that a killed -replace issued is in no state. A refresh that reads lists
// sees it by its label.
func TestKilledReplacementIsNamed(t *testing.T) {
	t.Parallel()
	m := newMoney(t, "honoured", "").onCLI()
	m.s.Quirks(nil) // lists say how many cards there are
	lines := "for_each = toset([\"search\", \"social\", \"video\"])\n  label = each.key\n  amount = 60\n  lifecycle {\n    create_before_destroy = true\n  }"
	m.apply(lines)
	known := map[string]bool{}
	for _, card := range liveCards(m.s) {
		known[card.ID] = true
	}
	slow, due := stalled(m.s, 1, "/cards", all)
	m.through(slow)
	m.w.RunUntil(due, syscall.SIGKILL, "apply", "-no-color", "-auto-approve", "-replace=vcard_card.test[\"social\"]")
	m.through(m.s)
	output := plansNothing(t, m.w)
	for _, card := range liveCards(m.s) {
		if !known[card.ID] && !strings.Contains(output, card.ID) {
			t.Errorf("the plan does not name card %s (%s), which the killed run left:\n%s", card.ID, card.Label, output)
		}
	}
}
