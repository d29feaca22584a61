# Every frozen card of the account, whoever issued it.
data "vcard_cards" "frozen" {
  status = "frozen"
}

output "money_on_frozen_cards" {
  description = "USD that no campaign can spend."
  value       = sum(concat([0], data.vcard_cards.frozen.cards[*].balance))
}

output "frozen_card_ids" {
  value = data.vcard_cards.frozen.ids
}
