variable "card_id" {
  description = "A card that another configuration manages."
  type        = string
}

data "vcard_card" "shared" {
  id = var.card_id
}

data "vcard_card" "campaign" {
  label = "search" # one active or frozen card must have it
}

check "shared_card_is_usable" {
  assert {
    condition     = data.vcard_card.shared.status == "active" && data.vcard_card.shared.balance >= 100
    error_message = "The shared card ending in ${data.vcard_card.shared.last4} is ${data.vcard_card.shared.status} and holds ${data.vcard_card.shared.balance} USD."
  }
}
