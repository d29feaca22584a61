package card_test

import (
	"fmt"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Money that another hand moved is not the planned movement, as far as can be told.
func TestMoneyFromElsewhere(t *testing.T) {
	t.Parallel()
	for happens, c := range map[string][2]string{
		"fund 25":     {"Money moved on a card | 25.00 USD came to it | holds 165.00 USD now", "165 9834"},
		"withdraw 40": {"Money moved on a card | 40.00 USD went from it | holds 100.00 USD now", "100 9899"},
		"fund 40":     {"It was made before | change amount by 40.00 USD once more", "140 9859"},
	} {
		tell(t, map[string]story{happens + " before a fund of 40": {nil, `
			apply amount = 100
			` + happens + `
			apply amount = 140
			says ` + c[0] + `
			holds active ` + c[1] + `
			nothing`}})
	}
	tell(t, map[string]story{
		"more than planned": {nil, `
			apply amount = 100
			fund 55
			stops amount = 140
			says it may have been made already | Nothing was sent | holds 155.00 USD | up to 55.00 USD may have come to it
			says set amount back by 40.00 USD | apply again
			holds active 155 9844
			apply
			holds active 195 9804
			nothing`},
		"less than planned, and keys decide": {[]string{"honoured, and said so"}, `
			apply amount = 100
			fund 25
			stops amount = 140
			says it may have been made already | up to 25.00 USD may have come to it
			apply
			holds active 165 9834`},
		// A fund beside a purchase is one by every reading of what a purchase does to a
		// balance, and the plan that tops up was made before it.
		"before a top-up": {nil, `
			apply amount = 250; top_up = { below = 100, to = 250 }
			buy 200
			save
			fund 300
			run-stops apply saved
			says it is not due any more | Nothing was sent | 350.00 USD by now | Plan again
			apply-unread # by the balance that the stop has seen
			holds active 350 9449
			nothing`},
		"as plans show it": {nil, `
			apply amount = 60
			plan amount = 100
			quiet
			buy 5 # which its transactions explain
			plan
			quiet
			fund 30
			plan
			says A card holds what its transactions do not explain | holds 85.00 USD | 30.00 USD came to it
			says The fund of 40.00 USD comes on top
			plan amount = 60
			quiet`},
		// What a run that was cut off may have moved is not planned as if it were to be moved
		// for certain.
		"as plans count with it": {nil, `
			apply amount = 100; top_up = { below = 40, to = 80 }
			fund 40
			issue other {"amount":9848}
			plan amount = 140; top_up = { below = 150, to = 150 }
			says-not topped_up
			plan amount = 144.44
			says-not may not be payable
			plan amount = 144.45
			says may not be payable
			terminate {other}
			withdraw 80 # of 140, as after a withdrawal of 40 and more
			plan amount = 60; top_up = { below = 40, to = 80 }
			says The withdrawal of 40.00 USD may have been made already
			plan amount = 60.01; top_up = { below = 40, to = 80 }
			says may have been made already`},
		"as much bought as is withdrawn": {nil, `
			apply amount = 100
			buy 40
			apply amount = 60
			quiet
			holds 20`},
		// On a service whose balances fall at settlement, a run that was cut off might have
		// made this fund: it stops once.
		"as much settled as is funded": {nil, `
			apply amount = 100
			buy 40
			apply amount = 110
			settle
			stops amount = 150
			says it may have been made already | {card}
			apply
			holds 110`},
		// The balance that was imported has it in.
		"bought just before an import": {eachMode, `
			issue card {"amount":100}
			passes 1h
			buy 20
			import amount = 100
			apply amount = 100
			apply amount = 120
			quiet
			holds 100`},
		// The wallet pays what a settlement takes beyond the card. Nothing came to the card.
		"settled beyond the card": {eachMode, `
			apply amount = 60
			buy 50
			settle 90
			holds 0
			apply amount = 115
			quiet
			holds 55`},
	})
}

// alarms are what must not be said where nothing happened but purchases.
var alarms = []string{
	"without Terraform", "made before", "may have been made", "More or less money", "is not known whether", "explain", "still undecided",
}

// On a service whose balances fall at settlement and not at authorization, purchases
// are no movement of money, and no movement is taken for made.
func TestBalancesThatFallAtSettlement(t *testing.T) {
	t.Parallel()
	const settled = `
			quirks {"balance":"settled"}
			apply amount = 200`
	tell(t, map[string]story{
		"movements between purchases": {eachMode, settled + `
			buy 30
			buy 20 "fee":1
			apply amount = 240
			quiet
			holds 239
			settle 27
			apply amount = 230
			quiet
			holds 202
			refund 5
			settle 24.50 "fee":0.25
			apply amount = 260
			quiet
			holds 212.25
			nothing
			quiet
			buy 12
			settle 12
			apply amount = 260; top_up = { below = 210, to = 250 }
			quiet
			holds 250
			nothing
			quiet
			buy 40
			on POST /withdraw x1 made drop
			apply amount = 250; top_up = { below = 210, to = 250 }
			holds 240
			nothing`},
	})
	// What a run that was cut off has moved is recognized beside purchases that a balance
	// shows, and beside those that it does not show yet.
	for amount, balances := range map[string]map[string]string{
		"240": {"# an open purchase": "240", "settle": "213"},
		"150": {"# an open purchase": "150", "settle": "123"},
	} {
		for purchase, balance := range balances {
			tell(t, map[string]story{"cut off at " + amount + ", " + purchase: {[]string{"ignored"}, settled + `
			remember
			buy 27
			` + purchase + `
			apply amount = ` + amount + `
			quiet
			restore
			apply
			says made before
			nothing
			holds ` + balance}})
		}
	}
}

// What cannot be read may be what changed a balance: it is no proof that a movement
// was made. It stops once at most, and then the movement is made.
func TestUnreadableTransactionsProveNothing(t *testing.T) {
	t.Parallel()
	for how, c := range map[string]struct {
		modes []string
		rule  string
	}{
		"forbidden":        {eachMode, "403 forbidden this key reads no transactions"},
		"in EUR":           {[]string{"honoured"}, `replace "USD" "EUR"`},
		"of unknown types": {[]string{"honoured"}, `replace "refund" "reversal" "authorization" "presentment"`},
	} {
		for what, then := range map[string][3]string{
			"a refund as much as the fund":         {"refund 40", "amount = 250", "250"},
			"a purchase as much as the withdrawal": {"buy 40", "amount = 170", "90"},
		} {
			tell(t, map[string]story{how + ", " + what: {c.modes, `
			default-quirks # the lists are changed as the document has them
			apply amount = 200
			buy 40
			settle
			apply amount = 210
			passes 5m
			` + then[0] + `
			on GET /transactions ` + c.rule + `
			may-stop-once ` + then[1] + `
			says-not made before
			holds ` + then[2]}})
		}
	}
}

// A service whose answers and reads come from before a movement does not make it one
// that was not sent, and does not swallow the next one.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	stories := map[string]story{
		"answers and reads": {eachMode, `
			lags 3s old
			apply amount = 100
			apply amount = 150
			says-not Nothing was sent | made before
			holds 150
			waits 1m
			apply amount = 200
			says-not Nothing was sent | made before
			waits 1m
			apply amount = 150
			says-not Nothing was sent | made before
			waits 1m
			apply amount = 100
			says-not Nothing was sent | made before
			holds 100
			direct
			nothing`},
		// The next run takes no anchor from a replica that lags.
		"before a movement": {eachMode, `
			lags 0s
			apply amount = 100
			nothing # by the reads that are to lag
			note
			apply amount = 150
			lapse 12s
			apply amount = 200
			holds 200
			direct
			apply amount = 250
			quiet
			holds active 250 9749
			nothing`},
		// The balance of its response says whether the card is frozen.
		"of a card that it froze": {nil, `
			lags 3s
			apply amount = 200; auto_freeze_at = 50
			nothing
			apply amount = 40; auto_freeze_at = 50
			shows status = "frozen" | balance = 40
			holds frozen 40 9959
			direct
			nothing`},
		"of a card that is to stay active": {nil, `
			lags 3s
			apply amount = 200; auto_freeze_at = 50; frozen = false
			nothing
			apply amount = 40; auto_freeze_at = 50; frozen = false
			shows status = "active" | balance = 40
			holds active 40 9959
			direct
			nothing`},
	}
	for _, n := range []string{"1", "3"} { // of which cards are read, or lists
		lines := "count = " + n + "; amount = 100; top_up = { below = 40, to = 80 }"
		stories["after top-ups, "+n] = story{eachMode, `
			lags 0s
			apply ` + lines + `
			nothing # by the reads that are to lag
			buy 70
			note
			apply
			lapse 5s
			nothing
			lapse 5s
			apply
			cards ` + n + ` 80`}
	}
	tell(t, stories)
}

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
				warnings.Must(f.t)
				p := f.protocol()
				change, diags := p.Plan(f.card, complete(config))
				diags.Must(f.t)
				_, diags = p.InvokeAction(c.action, object{"card_id": f.id(), "amount": 60}, nil)
				diags.Must(f.t)
				diags = f.tryChange(p, change)
				diags.Must(f.t)
				f.says("the warning", diags.Warnings())
				f.holds("active", c.balance*usd.Dollar, 9999*usd.Dollar-c.balance*usd.Dollar)
				f.refresh()
				f.unchanged(config)
			})
		}
	}
}
