# Imports cards that were issued in the dashboard. No card is replaced and no money moves.
#
# To rehearse it, issue some cards first, as if in the dashboard:
#
#   terraform -chdir=by-hand init
#   terraform -chdir=by-hand apply
#   terraform init
#   terraform apply
#
# The folder generated shows another way, for Terraform 1.14 and later: Terraform finds
# the cards and also writes the configuration.
terraform {
  required_version = ">= 1.7" # for for_each in import blocks; OpenTofu 1.12

  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

# The embedded sandbox. For an account, replace sandbox with base_url, and set VCARD_API_KEY.
provider "vcard" {
  sandbox = {
    path = "fleet.db"
  }
}

variable "campaigns" {
  description = "BIN and load in USD of each campaign's card, by the campaign's name. A campaign without a card gets one."
  type = map(object({
    bin_id = string
    amount = number
  }))
  default = {
    search  = { bin_id = "bin_ads_visa_us", amount = 200 }
    social  = { bin_id = "bin_ads_visa_us", amount = 120.50 }
    display = { bin_id = "bin_ads_mastercard_us", amount = 75.25 }
  }
}

locals {
  prefix = "ads-"

  # By campaign. Two live cards with the same label are an error here: terminate one of
  # them, or write the ids instead.
  found = { for card in data.vcard_cards.found.cards : trimprefix(card.label, local.prefix) => card.id }
}

data "vcard_cards" "found" {
  label_prefix = local.prefix
}

# One block for all cards. Remove it, with data and found, once it is applied.
import {
  for_each = { for campaign, id in local.found : campaign => id if contains(keys(var.campaigns), campaign) }
  to       = vcard_card.campaign[each.key]
  id       = each.value
}

# Label and BIN must match the card, or the plan replaces it. The first amount
# becomes the baseline, whatever the card holds.
resource "vcard_card" "campaign" {
  for_each = var.campaigns

  bin_id = each.value.bin_id
  label  = "${local.prefix}${each.key}"
  amount = each.value.amount

  lifecycle {
    create_before_destroy = true # keeps the old card if the new one is refused
  }
}

check "no_card_is_left_out" {
  assert {
    condition     = length(setsubtract(keys(local.found), keys(var.campaigns))) == 0
    error_message = "Cards of no campaign here: ${join(", ", setsubtract(keys(local.found), keys(var.campaigns)))}."
  }
}

output "cards" {
  description = "The card of each campaign."
  value = {
    for campaign, card in vcard_card.campaign : campaign => {
      id      = card.id
      last4   = card.last4
      balance = card.balance
    }
  }
}
