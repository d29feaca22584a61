package card_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// funding is a card that an action funds with 60 USD at an event.
func funding(event, id string, amount int) string {
	return oneCard(fmt.Sprintf("amount = %d\n  lifecycle {\n    action_trigger {\n      events = [%s]\n      actions = [action.vcard_card_fund.extra]\n    }\n  }", amount, event)) +
		fmt.Sprintf("action \"vcard_card_fund\" \"extra\" {\n  config {\n    card_id = %q\n    amount = 60\n  }\n}\n", id)
}

// What an action of the same apply moved just before is no other hand's.
func TestActionBeforeAMovement(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.14.0", "")
	withMoneyInEachKeyMode(t, func(m *money) {
		m.onCLI().apply("amount = 100")
		id := onlyCard(m.s).ID
		for i, amount := range []int{150, 140, 200} {
			printsNot(m.t, apply(m.w, funding("before_update", id, amount)), alarms...)
			m.holds(usd.Amount(amount+60*(i+1)) * usd.Dollar)
			plansNothing(m.t, m.w)
		}
	})
}

var anAction = regexp.MustCompile(`(?i)\bactions?\b`)

// What an action moved after a movement is another run's for the next one, since
// the state was written already. The next one stops at most once, or counts as made
// where it is just as much and no key decides, and names actions.
func TestActionAfterAMovement(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.14.0", "")
	for _, raise := range []int{50, 60, 70} {
		t.Run(fmt.Sprint(raise), func(t *testing.T) {
			t.Parallel()
			withMoneyInEachKeyMode(t, func(m *money) {
				m.onCLI().apply("amount = 100")
				apply(m.w, funding("after_update", onlyCard(m.s).ID, 150))
				m.holds(210 * usd.Dollar)
				var says string
				lines := fmt.Sprintf("amount = %d", 150+raise)
				if raise == 60 && m.settings != honoured {
					says = m.apply(lines)
					m.holds(210 * usd.Dollar)
				} else {
					says = m.applyTwice(lines, usd.Amount(210+raise)*usd.Dollar)
				}
				if _, diagnostics, _ := strings.Cut(says, "Modifying..."); says != "" && !anAction.MatchString(diagnostics) {
					m.t.Errorf("actions are not named:\n%s", says)
				}
			})
		})
	}
}

// The same through the protocol, for CLIs without actions.
func TestActionsOfTheSameProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action  string
		amount  int
		balance usd.Amount
	}{
		"fund, then fund":         {"vcard_card_fund", 150, 210},
		"fund, then withdraw":     {"vcard_card_fund", 60, 120},
		"withdraw, then withdraw": {"vcard_card_withdraw", 70, 10},
		"withdraw, then fund":     {"vcard_card_withdraw", 160, 100},
		"fund, then just as much": {"vcard_card_fund", 160, 220},
	} {
		for _, told := range []string{"unknown", "honoured"} {
			t.Run(name+", "+told, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				f.account = object{"idempotency_keys": told}
				f.apply(object{"amount": 100})
				config := object{"amount": c.amount}
				_, warnings := f.plan(config)
				f.succeed(warnings)
				p := f.protocol()
				change, diags := p.Plan(f.card, complete(config))
				f.succeed(diags)
				_, diags = p.InvokeAction(c.action, object{"card_id": f.id(), "amount": 60}, nil)
				f.succeed(diags)
				now, diags := p.Apply(change, nil)
				f.succeed(diags)
				f.says("the warning", diags.Warnings())
				f.card = now
				f.holds("active", c.balance*usd.Dollar, 9999*usd.Dollar-c.balance*usd.Dollar)
				f.refresh()
				f.unchanged(config)
			})
		}
	}
}
