variable "card_id" {
  description = "A card that another configuration manages."
  type        = string
}

# terraform apply -invoke=action.vcard_card_withdraw.rest
action "vcard_card_withdraw" "rest" {
  config {
    card_id = var.card_id # no amount: everything that is on the card
  }
}
