terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

variable "campaigns" {
  description = "Load of each campaign's card in USD, by the campaign's name."
  type        = map(number)
}

resource "vcard_card" "campaign" {
  for_each = var.campaigns

  bin_id = "bin_ads_visa_us"
  label  = each.key
  amount = each.value

  lifecycle {
    create_before_destroy = true
  }
}

data "vcard_transactions" "campaign" {
  for_each = vcard_card.campaign

  card_id = each.value.id
}

output "card_ids" {
  description = "Ids of the cards, by campaign."
  value       = { for name, card in vcard_card.campaign : name => card.id }
}

output "spent" {
  description = "What each campaign has spent, in USD."
  value       = { for name, made in data.vcard_transactions.campaign : name => try(made.summary["USD"].net_spend, 0) }
}
