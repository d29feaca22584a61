variable "card_id" {
  description = "A card that another configuration manages."
  type        = string
}

# Moves 25 USD once per launch. To run it now:
# terraform apply -invoke=action.vcard_card_fund.boost
action "vcard_card_fund" "boost" {
  config {
    card_id = var.card_id
    amount  = 25
  }
}

resource "terraform_data" "launch" {
  input = "spring sale"

  lifecycle {
    action_trigger {
      events  = [after_create, after_update]
      actions = [action.vcard_card_fund.boost]
    }
  }
}
