package card_test

import (
	"fmt"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What an action moved after a movement is another run's for the next one, since
// the state was written already. The next one stops at most once, or counts as made
// where it is just as much and no key decides, and names actions.
func TestActionAfterAMovement(t *testing.T) {
	t.Parallel()
	const funded = `
			needs 1.14.0
			cli
			apply amount = 100
			funded after_update
			apply amount = 150
			holds 210
			funded`
	stories := map[string]story{"just as much, and no key decides": {[]string{"honoured", "ignored"}, funded + `
			apply amount = 210
			says an action
			holds 210`}}
	for raise, modes := range map[int][]string{50: eachMode, 60: toldMode, 70: eachMode} {
		stories[fmt.Sprint(raise, " after 60")] = story{modes, funded + fmt.Sprintf(`
			may-stop-once amount = %d
			if-said an action
			holds %d`, 150+raise, 210+raise)}
	}
	tell(t, stories)
}

// What an action of the same apply moved just before is no other hand's.
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
