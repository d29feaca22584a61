# Rules for a plan of cards, on what "terraform-provider-vcard statement -format json"
# prints of it. Every message is a reason to refuse the plan.
package main

import rego.v1

# What the wallet may pay in one plan, and what one card may get, in USD.
most_net := 500

most_per_card := 200

# Where a plan may terminate cards, and so their numbers.
may_terminate := {"module.trials"}

deny contains message if {
	some unknown in input.unknown
	message := sprintf("nobody can tell before apply: %s %s", [unknown.address, unknown.reason])
}

deny contains message if {
	pays := 0 - input.wallet.net
	pays > most_net
	message := sprintf("the wallet pays %v USD, and at most %v are allowed", [pays, most_net])
}

deny contains message if {
	some card in input.cards
	gets := (card.sums.loads + card.sums.funds) + card.sums.top_ups
	gets > most_per_card
	message := sprintf("%s gets %v USD, and at most %v are allowed", [card.address, gets, most_per_card])
}

deny contains message if {
	some card in input.cards
	some action in card.actions
	action in {"replace", "terminate"}
	not expendable(card)
	message := sprintf("%s: %s takes its number", [card.address, action])
}

expendable(card) if {
	some module in may_terminate
	startswith(card.address, concat("", [module, "."]))
}
