package card_test

import (
	"fmt"
	"testing"
)

// A card that another run issued, or another pipeline, is not taken for the own one,
// and nothing is issued beside an own one that cannot be seen.
func TestIssuedCards(t *testing.T) {
	t.Parallel()
	tell(t, map[string]story{
		// Nothing else names the cards that an earlier run left behind.
		"could not be looked for": {nil, `
			issue first {"amount":60,"label":"${shared}"}
			issue newest {"amount":60,"label":"${shared}"}
			on GET /cards 404 not_found no such card
			plan amount = 60; label = "$${shared}"
			says Could not look for cards that an earlier run left behind | plan again before you apply | 404 (not_found)
			clear
			plan
			says Live cards have labels of cards that this plan issues: {newest} and 1 more | "${shared}": card_
			says "$${shared}" = "card_ | "$${shared} {first}" = "{first}"`},
		"by a run that was killed": {nil, `
			needs 1.7.0 # of several blocks for one resource, Terraform 1.16.0 carries out one
			cli
			on POST /cards x2 made stall
			kill for_each = toset(["search", "social"]); amount = 60; label = each.key
			plan
			says Live cards have labels of cards that this plan issues | "search": card_ | "social": card_ | active, 60.00 USD
			adopt
			nothing
			cards 2
			wallet 9878`},
		"by two pipelines with one label, honoured": {toldMode, `
			on POST /cards x1 drop while issue other {"amount":60,"label":"shared"}
			apply amount = 60; label = "shared"
			says A response was lost, and the outcome found out
			cards 2
			wallet 9878
			shows-not {other}
			nothing`},
		"by two pipelines with one label": {nil, `
			on POST /cards x1 drop while issue other {"amount":60,"label":"shared"}
			apply amount = 60; label = "shared"
			says A card was recognized by its label: card | Another pipeline that issues cards with this label might own it
			says an alias runs in a process of its own | terraform state rm
			cards 1
			shows id = "{other}"
			nothing`},
		// To take a card with another limit would hide the limit, and give one card two owners.
		"with another limit": {nil, `
			on POST /cards x1 drop while issue other {"amount":60,"label":"shared","spending_limit":100}
			stops amount = 60; label = "shared"; spending_limit = 500
			says it is not known whether this took effect | a spending limit of 100.00 in place of 500.00 USD
			says Cards that may be the one | terraform import <address> {other}
			holds active 60 9939
			shows-not {other}`},
		// A card that was there long before is another's, though no list showed it.
		"long ago, and listed late": {nil, `
			issue old {"amount":60,"label":"shared"}
			passes 1h
			on POST /cards x1 drop
			on until POST:/cards GET /cards 200 {"data":[],"page":1,"per_page":100,"total":0}
			stops amount = 60; label = "shared"
			says it is not known whether this took effect | card {old} looks like it, but was issued | before it was asked for
			cards 1
			shows-not {old}`},
		// An object without the list is a wrong response and no empty list, which would make a
		// card that is there look new.
		"with a list that has no data": {nil, `
			issue old {"amount":60,"label":"shared"}
			passes 1h
			on GET /cards 200 {}
			stops amount = 60; label = "shared"
			says nothing was issued | data
			holds active 60 9939`},
		// A card that looks older than its request by clocks that differ may be its own.
		"too long ago by the clock": {eachMode, `
			on POST /cards x1 made drop
			ahead 200s
			may-stop amount = 60; label = "search"
			if-said it is not known whether this took effect | terraform import <address> {card}
			holds active 60 9939`},
		// A list may be later than the wait for a lost response.
		"listed after the wait": {eachMode, `
			quirks {"cards_hidden_seconds":45}
			on POST /cards x1 made drop
			apply amount = 60; label = "search"
			passes 1m # for what the test itself reads
			holds active 60 9939
			nothing`},
		"listed after the wait, with a generated label": {eachMode, `
			quirks {"cards_hidden_seconds":45}
			on POST /cards x1 made drop
			apply amount = 60
			passes 1m
			holds active 60 9939
			nothing`},
		"by a state without private state, from an import": {[]string{"honoured", "honoured, and said so"}, `
			issue card {"amount":60}
			import amount = 60
			apply
			forget
			nothing
			apply amount = 60; metadata = { team = "ads" }; auto_freeze_at = 5
			says Taken over without proof
			says-not must be replaced
			shows id = "{card}"
			cards 1
			nothing`},
		"as the service tidied them, in a state without private state": {[]string{"honoured", "honoured, and said so"}, `
			any-responses
			quirks {"card_values":"tidied"}
			apply amount = 60; label = " ads "; spending_limit = 60000
			call card
			forget
			nothing
			apply amount = 70; label = " ads "; spending_limit = 60000
			says-not must be replaced
			shows id = "{card}"
			cards 1
			nothing`},
	})
}

const anEmptyList = `{"data":[],"page":1,"per_page":100,"total":0}`

// A card is dropped from the state, or replaced, only for what the service itself
// says of it.
func TestCardsThatAreSaidToBeMissing(t *testing.T) {
	t.Parallel()
	const hour = `
			apply amount = 60
			passes 1h # so that it is no new card`
	kept := func(method, stops, shown string) (steps string) {
		for says, answers := range map[string][]string{
			"a gateway or another server answered in its place": {"404 <html>Not Found</html>", "410 <html>Gone</html>"},
			shown: {"404 not_found no such card", "410 not_found no such card"},
		} {
			for _, answer := range answers {
				steps += `
			on ` + method + ` /cards/* ` + answer + `
			` + stops + `
			says ` + says + `
			clear`
			}
		}
		return steps
	}
	rotated := "replace"
	for _, network := range []string{"Ethereum", "Solana", "(TRC-20)", "Chain", "Tron", "Polygon", "Litecoin", "One"} {
		rotated += fmt.Sprintf(` %[1]s","address":" %[1]s","address":"new-`, network)
	}
	tell(t, map[string]story{
		"are kept by a destroy": {nil, hour + kept("DELETE", "run-stops destroy -auto-approve", "the service shows it as active") + `
			nothing
			freeze
			on DELETE /cards/* 404 not_found no such card
			on GET /cards 200 ` + anEmptyList + `
			run-stops destroy -auto-approve
			says the service shows it as frozen
			clear
			unfreeze
			holds active 60 9939
			on DELETE /cards/* x1 404 <html>404 Not Found</html>
			run destroy -auto-approve
			cards 0
			wallet 9999`},
		"are kept by a refresh": {nil, hour + kept("GET", "stops", "The list of cards still shows it, active and with 60.00 USD") + `
			on GET /cards/* x1 404 <html>404 Not Found</html>
			nothing
			holds active 60 9939`},
		"were issued minutes ago": {nil, `
			apply amount = 60
			on GET /cards/* 404 not_found no such card
			on GET /cards 200 ` + anEmptyList + `
			stops
			says issued only minutes ago
			clear
			nothing
			holds active 60 9939`},
		"with other deposit addresses": {nil, hour + `
			terminate {card}
			on GET /cards/* 404 not_found no such card
			on GET /wallet/deposit-address ` + rotated + `
			plan
			says is no longer known to the service | 1 to add, 0 to change, 0 to destroy`},
		"with one more deposit address": {nil, hour + `
			terminate {card}
			on GET /cards/* 404 not_found no such card
			on GET /wallet/deposit-address replace "data":[ "data":[{"currency":"doge","network":"New","address":"sandbox-doge-1"},
			plan
			says is no longer known to the service | 1 to add, 0 to change, 0 to destroy`},
		// Under another account's key every card is missing, and one that was taken out of the
		// configuration is not gone.
		"under another account's key, at once": {nil, `
			apply count = 2; amount = 60
			key-of-another
			stops
			says The API key belongs to another account
			apply-none
			says The API key belongs to another account
			direct
			cards 2`},
		// That takes lists to find out, and no request for each card.
		"under another account's key, later": {nil, `
			default-quirks # lists say how many cards there are
			apply count = 12; amount = 60
			passes 1h
			key-of-another
			count
			plan-stops
			says The API key belongs to another account
			at-most 8
			apply-none
			says The API key belongs to another account
			direct
			write count = 12; amount = 60
			nothing
			cards 12 60`},
	})
	for _, field := range []string{"bin_id", "spending_limit", "status", "balance"} {
		tell(t, map[string]story{"without " + field: {nil, `
			apply count = 3; amount = 60; spending_limit = 500
			on GET /cards* replace "` + field + `" "other"
			stops
			says ` + field + `
			says-not must be replaced | Plan:
			clear
			nothing`}})
	}
}

// A freezing that nobody configured is left alone, and one that is configured is made,
// whatever happened between plan and apply.
func TestFrozenBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	tell(t, map[string]story{
		"by the service": {nil, `
			apply amount = 200; auto_freeze_at = 50
			save amount = 190; auto_freeze_at = 50
			buy 155
			holds frozen 45 9799
			run apply saved
			holds frozen 35 9809
			nothing`},
		"unfrozen by hand": {nil, `
			apply amount = 200
			freeze
			save amount = 190
			unfreeze
			run apply saved
			holds active 190 9809
			nothing`},
		"by the service, and configured to be active": {nil, `
			apply auto_freeze_at = 50; frozen = false; amount = 200
			save auto_freeze_at = 50; frozen = false; amount = 190
			buy 155
			run apply saved
			apply
			holds active 35 9809`},
		// A service that freezes at another threshold is not waited for once it shows the
		// balance after the withdrawal.
		"not by the service, though it is configured": {nil, `
			on POST /cards asks "auto_freeze_at":50 "auto_freeze_at":1
			apply amount = 200; auto_freeze_at = 50
			on after POST:/withdraw GET /cards/* x1 pass
			on after POST:/withdraw GET /cards/* 500
			apply amount = 40; auto_freeze_at = 50
			holds active 40 9959`},
	})
	// Somebody freezes a card for fraud, or unfreezes it, and the configuration says that
	// this is nothing to change. At apply, core hands over what it says without that.
	const ignored, at60 = "; lifecycle { ignore_changes = [frozen] }", "frozen = false; auto_freeze_at = 60; "
	for name, c := range map[string]struct{ config, by, then, holds string }{
		"ignored, then funded":           {"frozen = false; ", "freeze", "amount = 140", "frozen 140 9859"},
		"ignored, then withdrawn from":   {at60, "freeze", "amount = 50", "frozen 50 9949"},
		"ignored, then protected":        {"frozen = false; ", "freeze", "amount = 100; deletion_protection = true", "frozen 100 9899"},
		"unfrozen, ignored, then funded": {"frozen = true; ", "unfreeze", "amount = 140", "active 140 9859"},
		"by the own withdrawal alone":    {at60, "# nobody", "amount = 50", "active 50 9949"},
	} {
		tell(t, map[string]story{name: {[]string{"honoured", "honoured, and said so"}, `
			apply ` + c.config + `amount = 100` + ignored + `
			` + c.by + `
			apply ` + c.config + c.then + ignored + `
			holds ` + c.holds + `
			nothing`}})
	}
}
