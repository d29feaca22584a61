variable "card_id" {
  description = "A card that another configuration manages."
  type        = string
}

# A card that the service froze for its low balance is funded first.
action "vcard_card_fund" "refill" {
  config {
    card_id = var.card_id
    amount  = 200
  }
}

action "vcard_card_unfreeze" "again" {
  config {
    card_id = var.card_id
  }
}

resource "terraform_data" "restart" {
  input = "2026-W23"

  lifecycle {
    action_trigger {
      events  = [after_create, after_update]
      actions = [action.vcard_card_fund.refill, action.vcard_card_unfreeze.again]
    }
  }
}
