# Rules for the output of "vcard statement --format json".
# Every message is a reason to refuse the plan.
package main

import rego.v1

# What the wallet may pay in one plan, and what one card may get, in USD.
most_net := 500

most_per_card := 200

# Modules whose cards a plan may terminate.
may_terminate := {"module.trials"}

# Refuses what this policy cannot read, because the rules below would find nothing in it.
deny contains `this is not a complete statement of a plan, as "vcard statement --format json" prints it` if not is_complete

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
	gets := given(card)
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

is_complete if {
	input.format_version == "1.0"
	input.complete == true
	input.unknown == []
	is_array(input.cards)
	every card in input.cards {
		is_string(card.address)
		is_string(card.id)
		is_number(card.wallet)
		count(card.actions) > 0
		every sum in ["loads", "funds", "top_ups"] {
			is_number(card.sums[sum])
		}
	}
	cents(input.wallet.net) == sum([cents(card.wallet) | some card in input.cards])
}

cents(usd) := round(usd * 100)

# What a card gets from its resource and from actions.
given(card) := sum([paid(by) | some by in array.concat(own(card), actions_on(card))])

own(card) := [card | not is_action(card)]

# An action whose card is known only during apply may be on any.
actions_on(card) := [action |
	some action in actions
	action.id in {card.id, ""}
]

actions := [card |
	some card in input.cards
	is_action(card)
]

is_action(card) if regex.match(`(^|\.)action\.vcard_card_[a-z]+\.`, card.address)

paid(card) := (card.sums.loads + card.sums.funds) + card.sums.top_ups

expendable(card) if {
	some module in may_terminate
	startswith(card.address, concat("", [module, "."]))
}
