package card_test

import (
	"fmt"
	"strings"
	"testing"
)

// What a service refuses for good is said at once, and not after the wait for a lost
// response.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const meant = " must be at most 500.00 USD, which is max_card_load in the provider configuration, got 25000.00." +
		" If 25000.00 was meant in cents, write 250.00: amounts are in USD."
	tell(t, map[string]story{
		"at once": {nil, `
			apply amount = 60
			on POST /freeze 409 card_blocked ask support
			stops amount = 60; frozen = true
			says 409 (card_blocked): ask support
			at-once POST /freeze
			apply
			on POST /fund 400 E2001 ask support
			stops amount = 100; frozen = true
			says 400 (E2001): ask support. The card is frozen, which may be the reason. Unfreeze it with frozen = false
			at-once POST /fund
			on POST /fund 400 INSUFFICIENT_FUNDS too little
			stops
			says (INSUFFICIENT_FUNDS): too little. The wallet cannot pay for this. | vcard_deposit_addresses
			says-not may be the reason
			at-once POST /fund
			holds frozen 60 9939`},
		"the money, and not the freezing": {nil, `
			apply amount = 60
			on POST /fund x1 400 invalid_request not today
			stops amount = 100; frozen = true
			says Could not fund card {card} | with 40.00 USD | not today
			holds frozen 60 9939
			shows amount = 60 | frozen = true | status = "frozen" | balance = 60
			apply
			holds frozen 100 9899`},
		"the unfreezing, and the money with it": {nil, `
			apply amount = 60; frozen = true
			on POST /unfreeze x1 400 card_frozen not under its threshold
			stops amount = 100; frozen = false
			says Could not unfreeze card {card} | its threshold. | take frozen out of the configuration, raise amount
			says-not frozen = false
			holds frozen 60 9939
			shows amount = 60 | frozen = true`},
		"the termination": {nil, `
			apply amount = 60; frozen = true
			on DELETE /cards/* 409 bad_request not today
			run-stops destroy -auto-approve
			says Could not terminate card {card} | not today | Unfreeze it with frozen = false
			shows amount = 60
			holds frozen 60 9939`},
		"of a card in a state of its own": {nil, `
			any-responses
			apply amount = 60
			on GET /cards* replace "active" "Closed"
			on POST /fund 400 card_closed no
			on POST /freeze 400 card_closed no
			on DELETE /cards/* 400 card_closed no
			stops amount = 100
			says Could not fund card {card} | (card_closed): no. | shows it as closed | dashboard | terraform state rm
			stops amount = 60; frozen = true
			says Could not freeze card {card} | (card_closed): no. | shows it as closed | dashboard | terraform state rm
			run-stops destroy -auto-approve
			says Could not terminate card {card} | (card_closed): no. | shows it as closed | dashboard | terraform state rm
			holds active 60 9939`},
		"none of a card that is at top_up.below then": {nil, `
			apply amount = 100; top_up = { below = 40, to = 80 }
			save amount = 60; top_up = { below = 40, to = 80 }
			buy 20
			run apply saved
			holds active 40 9939`},
		// What apply would refuse for what is known, the plan refuses.
		"by the plan": {eachMode, `
			apply amount = 100; top_up = { below = 80.5, to = 90 }
			buy 33.91
			plan-stops amount = 96.67; top_up = { below = 80.5, to = 90 }
			says top_up.below
			says-not may have been made`},
		"of cents for dollars": {nil, `
			told max_card_load = 500
			apply amount = 250; frozen = true; top_up = { below = 50, to = 500 }
			plan-stops amount = 25000
			says Error: More than one card may be given | amount` + meant + `
			plan-stops amount = 250; top_up = { below = 50, to = 25000 }
			says Error: More than one card may be given | top_up.to` + meant + `
			plan-stops amount = 500.01
			says got 500.01. Where so much is wanted, raise max_card_load
			plan-stops amount = 4999
			says got 4999.00. Where
			plan-stops amount = 5000
			says write 50.00
			holds 250`},
	})
	const toppedUp = "; top_up = { below = 40, to = 80 }"
	for happens, c := range map[string]struct{ before, planned, says, wallet string }{
		"terminate {ours}":              {"amount = 60", "amount = 100", "(card_terminated) | the next apply issues a new card", "9999"},
		"issue other {\"amount\":9938}": {"amount = 60", "amount = 100", "(insufficient_funds) | vcard_deposit_addresses", "0"},
		"buy 50":                        {"amount = 60", "amount = 20", "(insufficient_card_balance) | Run terraform plan again", "9939"},
		// Apply withdraws nothing that the next plan would fund again.
		"buy 20.01": {"amount = 100" + toppedUp, "amount = 60" + toppedUp, "39.99 USD | top_up.below (40.00 USD)", "9899"},
	} {
		tell(t, map[string]story{"after the plan, " + happens: {nil, `
			apply ` + c.before + `
			call ours
			save ` + c.planned + `
			` + happens + `
			run-stops apply saved
			says 40.00 USD | card {ours} | ` + c.says + `
			shows ` + strings.TrimSuffix(c.before, toppedUp) + `
			wallet ` + c.wallet}})
	}
	for _, status := range []int{400, 404, 409, 422} {
		tell(t, map[string]story{fmt.Sprint("as terminated, ", status): {nil, fmt.Sprintf(`
			any-responses
			quirks {"terminated_status":%d}
			apply amount = 60
			terminate {card}
			run destroy -auto-approve -refresh=false`, status)}})
	}
}

// What was refused is asked for anew, since a service may repeat a refusal under its
// key, unless an attempt before it may still be on its way.
func TestKeys(t *testing.T) {
	t.Parallel()
	const asked = `
			apply amount = 100
			told idempotency_keys = "honoured"; max_retries = 0
			count`
	tell(t, map[string]story{
		"after a refusal": {toldMode, asked + `
			on POST /fund x1 400 insufficient_funds no
			stops amount = 140
			says Could not fund card
			apply
			sent POST /fund 2 2`},
		"after a loss and a refusal": {toldMode, asked + `
			on POST /fund x1 drop
			on POST /fund x1 400 insufficient_funds no
			stops amount = 140
			stops-unread # nothing has settled it
			says Could not fund card
			apply-unread
			sent POST /fund 3 1`},
		"that was refused itself": {toldMode, asked + `
			on POST /fund x1 400 idempotency_key_used no
			stops amount = 140
			says Could not fund card | has met the idempotency key before | Applying again moves the money once more
			apply
			nothing
			sent POST /fund 2 2
			holds active 140 9859`},
		// A reading that is refused says nothing of the movement that is on its way.
		"when the look is refused": {toldMode, asked + `
			on POST /fund drop
			stops amount = 140
			clear
			save
			on GET /cards/* 400 try_later no
			run-stops apply saved
			says Could not fund card {card} | (try_later)
			says-not shows it as
			clear
			apply
			sent POST /fund any 1`},
	})
}

// A response that is lost, or that a firewall hides, says nothing about what the
// service did before.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	const hidden = " <html>Request blocked</html>"
	for what, c := range map[string]struct{ call, before, after, holds string }{
		"issue":    {"/cards", "count = 0; amount = 100", "count = 3; amount = 100", "100"},
		"fund":     {"/fund", "count = 3; amount = 100", "count = 3; amount = 140", "140"},
		"withdraw": {"/withdraw", "count = 3; amount = 100", "count = 3; amount = 60", "60"},
		"freeze":   {"/freeze", "count = 3; amount = 60", "count = 3; amount = 60; frozen = true", "60"},
	} {
		hows := map[string][]string{"drop": nil, "made drop": nil, "made 403" + hidden: eachMode, "made 429" + hidden: eachMode}
		for how, modes := range hows {
			tell(t, map[string]story{what + ", " + strings.TrimSuffix(how, hidden): {modes, `
			apply ` + c.before + `
			on POST ` + c.call + ` x3 ` + how + `
			apply ` + c.after + `
			cards 3 ` + c.holds + `
			nothing`}})
		}
	}
	tell(t, map[string]story{
		"each issue behind a firewall": {eachMode, `
			on POST /cards made 403 <html>Request blocked</html>
			may-stop count = 2; amount = 60
			cards 2
			if-said it is not known whether this took effect`},
		"unfreeze under the threshold": {nil, `
			apply amount = 60; auto_freeze_at = 70; frozen = true
			on POST /unfreeze x1 drop
			apply amount = 60; auto_freeze_at = 70; frozen = false
			holds frozen 60 9939
			run refresh
			shows frozen = true | status = "frozen"`},
		"terminate": {nil, `
			apply amount = 60
			on DELETE /cards/* x1 made drop
			run destroy -auto-approve
			cards 0
			wallet 9999`},
		"terminate, before": {nil, `
			apply amount = 60
			on DELETE /cards/* x1 drop
			run destroy -auto-approve
			cards 0
			wallet 9999`},
		"one answer that the card is terminated": {nil, `
			apply amount = 60
			on GET /cards/card_* x1 replace "active" "terminated"
			nothing
			on GET /cards/card_* x1 replace "active" "terminated"
			on GET /cards/card_* x1 400 invalid_request busy
			plan-stops
			says Could not read card | busy`},
		"a wait is not said, and a lost response is": {nil, `
			apply amount = 60
			on POST /fund x1 limit 1800
			apply amount = 100
			says-not 30m
			on POST /fund x1 made drop
			apply amount = 140
			says the outcome found out | When asked to fund card | response was lost on the way
			holds active 140 9859
			on GET * limit 1800
			stops amount = 150
			says Wait until 20`},
	})
}
