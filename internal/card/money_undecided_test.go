package card_test

import "testing"

// What cannot be told stays undecided for as many runs as it takes, and nothing
// moves meanwhile.
func TestUndecidedMovements(t *testing.T) {
	t.Parallel()
	const unread = `
			on after POST:/fund GET /transactions 500 down no transactions today
			told max_retries = 0
			stops amount = 140
			says Could not fund card {card} | it is not known whether this took effect | no transactions today
			says Money may or may not have moved`
	tell(t, map[string]story{
		"made": {nil, `
			apply amount = 100
			on POST /fund made drop` + unread + `
			sent POST /fund 1
			stops amount = 140
			stops
			says An earlier movement of money is undecided | fund of 40.00 USD | no transactions today
			sent POST /fund 1
			clear
			apply
			holds active 140 9859
			nothing`},
		"not made": {nil, `
			apply amount = 100
			on POST /fund drop` + unread + `
			stops
			says An earlier movement of money is undecided | fund of 40.00 USD
			sent POST /fund 1
			clear
			apply
			holds active 140 9859
			nothing`},
		"settled by a refresh": {nil, `
			apply amount = 100
			on POST /fund made drop` + unread + `
			shows amount = 100
			write amount = 100
			run refresh
			says still undecided | 40.00 | {card}
			plan-stops amount = 120
			says An earlier movement of money is undecided | {card} | 40.00 USD
			clear
			run refresh
			says-not undecided
			shows amount = 140 | balance = 140
			write amount = 140
			nothing
			apply amount = 120
			holds active 120 9879`},
		"a top-up, settled by a refresh": {nil, `
			apply amount = 100; top_up = { below = 40, to = 80 }
			withdraw 70
			run refresh
			on after POST:/fund GET /transactions 500 down no
			on POST /fund made drop
			stops
			says Could not fund card {card} | Money may or may not have moved
			shows topped_up = 0
			clear
			run refresh
			says-not undecided
			shows amount = 100 | topped_up = 50 | balance = 80
			nothing`},
		// A fund that lands after the card was read, and before it is settled, is in the
		// balance that plans count with: else they top up once more.
		"a top-up that lands while it is settled": {nil, `
			apply amount = 100; top_up = { below = 40, to = 80 }
			withdraw 70
			run refresh
			told max_retries = 0
			on POST /fund x1 drop
			on after POST:/fund GET /transactions 500
			stops
			says Money may or may not have moved
			clear
			on GET /cards/* x1 made pass while late
			run refresh
			says-not undecided
			shows amount = 100 | topped_up = 50 | balance = 80
			nothing`},
		// The way out that the error names moves nothing, and ends it.
		"given up": {nil, `
			apply amount = 100
			on POST /fund made drop` + unread + `
			apply amount = 100
			says gives up an undecided movement | 40.00 USD | moves no money | Look in the dashboard whether it was made
			nothing
			clear
			nothing
			apply amount = 140 # the same again, which is another movement
			holds active 180 9819`},
		// A movement is asked for again under its key, once the service is known to honour it.
		"asked for again": {nil, `
			apply amount = 100
			on POST /fund x1 made drop` + unread + `
			told idempotency_keys = "honoured"
			plan-stops amount = 141
			says An earlier movement of money is undecided | {card}
			apply amount = 140
			sent POST /fund 2 1
			holds active 140 9859`},
		// A guess about what a service moved never changes amount.
		"a purchase during a withdrawal": {nil, `
			apply amount = 100
			on POST /withdraw pass while buy 25
			on after POST:/withdraw GET /transactions 500 down -
			apply amount = 90
			says 25.00 USD other than | amount in the state is as it was planned
			says-not 35.00
			clear
			nothing
			holds active 65 9909
			apply amount = 95
			holds active 70 9904`},
		"a purchase during an interrupted withdrawal": {nil, `
			apply amount = 100
			told max_retries = 0
			on POST /withdraw due pass while buy 25
			on after POST:/withdraw GET /transactions 500 down -
			interrupt amount = 90
			says-not 35.00 | did not respond
			nothing
			holds active 65 9909`},
		// An interrupted run that waits for the service's limits sends nothing more.
		"interrupted before the fund is accepted": {nil, `
			apply amount = 100
			on POST /fund due limit 5
			interrupt amount = 140
			sent POST /fund 1
			says Nothing more was sent
			holds active 100 9899
			apply
			holds active 140 9859`},
		// An interruption leaves no card that Terraform would issue anew for being active.
		"interrupted while a frozen card is issued": {nil, `
			on POST /cards due pass
			interrupt amount = 60; frozen = true
			holds frozen 60 9939
			nothing`},
		// A network repeats a request, and the service counts it twice.
		"repeated": {[]string{"ignored"}, `
			apply amount = 100
			on POST /fund pass while late
			apply amount = 140
			says More or less money moved than asked: fund card {card} | holds 180.00 USD | 40.00 USD other than
			nothing
			holds active 180 9819`},
		"a withdrawal takes all": {nil, `
			quirks {"withdraw_amount":"ignored"}
			apply amount = 60
			apply amount = 50
			says More or less money moved than asked: withdraw 10.00 USD from card {card} | holds 0.00 USD
			says 50.00 USD other than | vcard_card_fund
			shows amount = 50 | balance = 0
			run refresh
			nothing # what the service did by itself changes no amount
			holds active 0 9999`},
		// A settlement between the lost response and the look leaves nothing undecided.
		"a settlement during a lost fund": {eachMode, `
			apply amount = 100
			buy 20
			on POST /fund x1 made drop while settle 17
			on POST /fund x8 made drop
			may-stop-once amount = 140
			if-said it is not known whether this took effect
			holds active 123 9859`},
		// What the service made of a withdrawal under the threshold has to be seen.
		"the card cannot be read after it": {nil, `
			apply amount = 100; auto_freeze_at = 60
			told max_retries = 0
			on after POST:/withdraw GET /cards/* 500
			stops amount = 50; auto_freeze_at = 60
			says could not be read after it
			shows amount = 100 | status = "active"
			clear
			run refresh
			shows amount = 50 | balance = 50 | frozen = true | status = "frozen"
			holds frozen 50 9949`},
		// An outage in which cards may have been issued is not told as one: whoever only
		// tries again issues them twice.
		"issued before an outage": {nil, `
			on POST /cards made drop
			on after POST:/cards * * 503
			stops count = 2; amount = 60
			says Could not issue the card | it is not known whether this took effect | idempotency key
			says-not The service is not available
			clear
			told-times live Look for a new card on that BIN in the dashboard before you issue it again`},
	})
}
