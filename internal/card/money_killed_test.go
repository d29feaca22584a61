package card_test

import (
	"fmt"
	"testing"
)

// What a run that was killed has moved moves no second time, and the next one says
// what it found.
func TestKilledRuns(t *testing.T) {
	t.Parallel()
	const had24 = "in March 2026 it has had 24.00 USD, of at most 25.00 USD (max_top_up_per_month); the cap begins anew on 2026-04-01"
	stories := map[string]story{
		"ten funds, of which half were made": {eachMode, `
			apply count = 10; amount = 100
			on POST /fund x10 made half stall
			kill count = 10; amount = 140
			apply
			told-times 5 It was made before: fund card
			says an apply that was cut off
			cards 10 140
			wallet 8590
			nothing`},
		"another amount is configured then": {[]string{"honoured", "ignored"}, `
			apply amount = 100
			kill amount = 140
			plan amount = 150
			says holds what its transactions do not explain | 40.00 USD came to it | The fund of 50.00 USD comes on top
			apply
			says Money moved on a card | 40.00 USD came to it | a run that was cut off | holds 190.00 USD now
			nothing
			apply amount = 110 # what the warning leaves to do
			holds active 150 9849`},
		"another amount, and keys decide": {toldMode, `
			apply amount = 100
			kill amount = 140
			plan amount = 150
			says The fund of 50.00 USD may have been made already | stops once
			stops
			says it may have been made already | up to 40.00 USD may have come to it | set amount back by 50.00 USD
			apply
			nothing
			holds active 190 9809`},
		// The request of a killed run may arrive when the next one has looked already. The
		// same key makes the service count it once.
		"the fund arrives late": {[]string{"honoured, and said so", "honoured"}, `
			apply amount = 100
			on POST /fund x1 stall
			kill amount = 140
			on POST /fund x1 pass while late
			apply
			sent POST /fund 2 1
			holds active 140 9859
			nothing`},
		// A withdrawal of more than half leaves less than it takes, which a plan that does
		// not look at the anchor cannot make any more.
		"more than half was withdrawn": {eachMode, `
			apply amount = 100
			kill amount = 30
			forget
			plan
			says The withdrawal of 70.00 USD may have been made already | holds 30.00 USD
			apply
			says It was made before: withdraw 70.00 USD
			holds active 30 9969
			nothing`},
		// The card is as an earlier run left it, and the movement is another one each time.
		"movements after a death are others": {eachMode, `
			apply amount = 100
			kill amount = 150
			forget
			apply
			holds 150
			forget
			apply amount = 200
			quiet
			forget
			apply amount = 150
			quiet
			forget
			apply amount = 200
			quiet
			holds active 200 9799`},
		// The plan says what apply would stop for, though purchases have taken the balance
		// under what it was.
		"the card was used then": {eachMode, `
			apply amount = 100
			kill amount = 150
			buy 60
			settle
			plan amount = 140
			says 50.00 USD
			stops
			says 50.00 USD
			holds 90`},
		// Where a stop says that the next apply moves the money, it does: its key is another
		// one than that of the killed run, which the service may answer again.
		"it says to apply again": {eachMode, `
			apply amount = 100
			kill amount = 150
			fund 60
			stops
			says apply again
			holds 210
			apply
			holds active 260 9739
			nothing`},
		// A service that keeps keys answers what it answered before, which shows what was
		// hoped for and not what the card holds.
		"it was taken back by hand": {eachMode, `
			apply amount = 100
			kill amount = 150
			withdraw 50
			may-stop-once
			if-said 50.00 USD | 100.00 USD
			says-not Nothing was sent | made before
			holds active 150 9849`},
		"an older state was restored": {eachMode, `
			apply amount = 100
			remember
			apply amount = 150
			apply amount = 100
			restore
			may-stop-once amount = 150
			if-said 50.00 USD | 100.00 USD
			says-not Nothing was sent | made before
			holds active 150 9849`},
		"a withdrawal was paid back by hand": {eachMode, `
			apply amount = 100
			kill amount = 70
			fund 30
			may-stop-once
			holds active 70 9929`},
		"a top-up was taken back by hand": {eachMode, `
			apply amount = 100; top_up = { below = 40, to = 80 }
			buy 70
			kill
			holds 80
			withdraw 50
			may-stop-once
			holds active 80 9849`},
		"a card with a generated label": {nil, `
			kill amount = 60
			cards 1 60 tf-`},
		"a replacement": {nil, `
			cli
			apply amount = 60; label = "search"; spending_limit = 100; lifecycle { create_before_destroy = true }
			call old
			kill amount = 60; label = "search"; spending_limit = 200; lifecycle { create_before_destroy = true }
			call orphan
			plan
			says Live cards have labels of cards that this plan issues | "search": {orphan}, active, 60.00 USD | id = "{orphan}"
			says-not "search": {old}
			terminate {orphan} # what the warning leaves to do
			save
			says-not Live cards
			run apply saved
			says If this is an apply that replaces these cards (create_before_destroy), there is nothing to do. Otherwise they
			holds active 60 9937
			run taint vcard_card.test # which is planned as a new card, and without a refresh
			run plan -refresh=false
			says-not Live cards`},
		// A refresh that reads lists sees by its label the card that is in no state.
		"a forced replacement": {nil, `
			cli
			default-quirks # lists say how many cards there are
			apply for_each = toset(["search", "social", "video"]); label = each.key; amount = 60; lifecycle { create_before_destroy = true }
			on POST /cards x1 made stall
			kill-run apply -no-color -auto-approve -replace=vcard_card.test["social"]
			call orphan
			nothing
			says {orphan}`},
		// The month's cap, as the plans of that month and of the next show it, by the service's
		// clock: this machine's is months ahead. What a killed run topped up counts.
		"a top-up under a cap": {toldMode, `
			told idempotency_keys = "honoured"; wallet_check = "off"
			apply amount = 60; max_top_up_per_month = 25; top_up = { below = 50, to = 60 }
			waits 1m
			buy 11
			settle
			apply
			says-not A top-up
			holds 60
			waits 1m
			buy 12
			settle
			kill
			holds 60
			waits 1m
			buy 13
			settle
			stops
			says with 13.00 USD: it would pass max_top_up_per_month | and no transaction explains counts: ` + had24 + `
			holds 47
			plan
			says A top-up is cut to 1.00 USD by the month's cap | ` + had24 + ` | topped_up = 11 -> 12
			waits-until 2026-03-31T23:59:00Z
			on POST * pass while waits 1m # it arrives in April
			apply
			clear
			holds 48
			waits 1m
			buy 20
			settle
			plan
			says A top-up is cut to 24.00 USD by the month's cap | in April 2026 it has had 1.00 USD, of at most 25.00 USD
			says topped_up = 12 -> 36
			apply
			holds 52
			waits 1m
			buy 20
			settle
			plan
			says A top-up is due, and the month's cap is reached | the cap begins anew on 2026-05-01 | No changes.
			waits 720h
			plan
			says topped_up = 36 -> 61 | in May 2026 it has had nothing
			apply
			holds 57`},
		"the same again, and the cap knows of its top-up": {toldMode, `
			apply amount = 100; top_up = { below = 50, to = 105 }; max_top_up_per_month = 60
			buy 60
			on POST /fund x1 made pass
			on POST /fund x1 made stall
			kill amount = 105; top_up = { below = 50, to = 105 }; max_top_up_per_month = 60
			plan
			says which the service counts once. Where that run had another amount, the fund comes on top
			apply
			buy 62
			apply
			holds 43`},
		"a top-up after a fund is lost, refused, and arrives": {toldMode, `
			apply amount = 100; top_up = { below = 50, to = 100 }
			buy 60
			settle
			on POST /fund x1 pass
			on POST /fund x1 drop
			on POST /fund x1 400 insufficient_funds The wallet holds too little
			stops amount = 105; top_up = { below = 50, to = 100 }
			on POST /fund x1 pass while late
			apply
			holds 100`},
		"what was refused before is pending, and somebody withdraws": {toldMode, `
			apply amount = 100
			on POST /fund x1 400 insufficient_funds The wallet holds too little
			stops amount = 140
			on POST /fund drop
			stops amount = 140
			clear
			withdraw 10
			apply amount = 140
			holds 130`},
		"a top-up, in the service's month": {nil, `
			apply amount = 100; top_up = { below = 50, to = 100 }; max_top_up_per_month = 60
			ahead 7000h
			buy 60
			settle
			run refresh
			on after POST:/fund GET /transactions 500 down no
			on POST /fund x1 made drop
			stops
			clear
			run refresh
			buy 60
			apply
			says in January 2027 it has had 60.00 USD
			holds 40`},
	}
	// What is kept of a run before is another key's, when its request arrives at last.
	for name, c := range map[string][2]string{
		"a refusal": {"on POST /fund x1 400 insufficient_funds The wallet holds too little", "140"}, "a stop": {"fund 60", "200"},
	} {
		stories["the fund arrives after "+name] = story{eachMode, `
			apply amount = 100
			on POST /fund x1 stall
			kill amount = 140
			` + c[0] + `
			stops amount = 140
			clear
			late
			apply amount = 140
			holds ` + c[1]}
	}
	// The key is another one, and both are paid unless the next run stops.
	for killed, c := range map[string][3]string{"150": {"140", "150", "160"}, "50": {"60", "50", "60"}} {
		stories["at "+killed+", and another amount is planned"] = story{eachMode, `
			apply amount = 100
			kill amount = ` + killed + `
			stops amount = ` + c[0] + `
			says 50.00 USD
			apply amount = 100 # the stop said what there is
			holds ` + c[1] + `
			apply amount = 110 # and does not come again for the same
			holds ` + c[2]}
	}
	for how, mode := range map[string]string{"provider-dies": "honoured, and said so", "is-cancelled": "ignored"} {
		stories[how] = story{[]string{mode}, `
			cli
			apply ` + tenCards(100, 100) + `
			buy 70
			on POST * x10 made half stall
			` + how + ` ` + tenCards(150, 70) + `
			apply
			cards 4 80 funded
			cards 4 0 withdrawn
			cards 2 100 topped
			wallet 8770
			nothing`}
	}
	// Both were made of amount and top_up; the next plan has amount alone, and stops.
	const toppedUp = "; top_up = { below = 50, to = 100 }"
	for name, c := range map[string]struct{ load, purchase, killed, since, next, says, holds string }{
		"settled":                    {"100", "60\nsettle", "105", "", toppedUp, "which may be this movement or hold it", "100"},
		"not settled":                {"100", "60", "105", "", toppedUp, "and a top-up beside it", "100"},
		"loaded with more":           {"150", "110", "155", "", toppedUp, "and a top-up beside it", "100"},
		"frozen then":                {"100", "60", "105", "", toppedUp + "; frozen = true", "and a top-up beside it", "100"},
		"less below then":            {"100", "60", "105", "", "; top_up = { below = 30, to = 100 }", "and a top-up beside it", "100"},
		"without top_up then":        {"100", "60", "105", "", "", "and a top-up beside it", "100"},
		"refunded since":             {"100" + toppedUp + "\nbuy 20\nsettle\napply amount = 120", "1\nwaits 1m\nbuy 60", "125", "refund 20", toppedUp, "and a top-up beside it", "120"},
		"two, and another one since": {"100", "31\nbuy 30", "105", "buy 3", toppedUp, "and a top-up beside it", "97"},
	} {
		stories["both, "+name] = story{eachMode[1:], `
			apply amount = ` + c.load + toppedUp + `
			buy ` + c.purchase + `
			on POST /fund x1 made pass
			on POST /fund x1 made stall
			kill amount = ` + c.killed + toppedUp + `
			` + c.since + `
			plan amount = ` + c.killed + c.next + `
			says may have been made already | ` + c.says + `
			stops
			says ` + c.says + `: a run that was cut off
			holds ` + c.holds}
	}
	tell(t, stories)
}

// tenCards are labelled by what an apply does to them.
func tenCards(funded, withdrawn int) string {
	const topped = `{ "topped 1" = 100, "topped 2" = 100 }`
	four := func(label string, amount int) string {
		return fmt.Sprintf(`{ for i in range(4) : "%s ${i}" => %d }`, label, amount)
	}
	return "for_each = merge(" + four("funded", funded) + ", " + four("withdrawn", withdrawn) + ", " + topped + ")" +
		`; label = each.key; amount = each.value; top_up = substr(each.key, 0, 1) == "t" ? { below = 40, to = 100 } : null`
}
