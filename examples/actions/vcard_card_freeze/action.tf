variable "card_id" {
  description = "A card that another configuration manages."
  type        = string
}

# When fraud is suspected: terraform apply -invoke=action.vcard_card_freeze.now
action "vcard_card_freeze" "now" {
  config {
    card_id = var.card_id
  }
}
