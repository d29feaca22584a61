# Issues cards only while the wallet keeps a reserve: the plan fails if the new cards
# would use the reserve, and warns if next week's cards would.
terraform {
  required_version = ">= 1.8" # for the function issuance_cost

  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

# The embedded sandbox. For an account, replace sandbox with base_url, and set VCARD_API_KEY.
# wallet_check refuses every plan that takes more than the wallet holds, funds and top-ups
# included; the rules below add the reserve.
provider "vcard" {
  wallet_check = "error"

  sandbox = {
    path            = "wallet-guard.db"
    initial_balance = 2000
  }
}

variable "campaigns" {
  description = "Load of each campaign's card in USD, by the campaign's name."
  type        = map(number)
  default = {
    search  = 250
    social  = 120.50
    display = 75.25
  }
}

variable "reserve" {
  description = "USD that stay in the wallet, for the top-ups of the cards that are there."
  type        = number
  default     = 500
}

variable "next_week" {
  description = "Loads in USD of the cards to be issued next week."
  type        = list(number)
  default     = [300, 300]
}

locals {
  prefix = "guarded-"

  # What this plan takes: the cards that do not exist yet, with their fees.
  new  = [for name, load in var.campaigns : load if !contains(data.vcard_cards.live.cards[*].label, "${local.prefix}${name}")]
  cost = provider::vcard::issuance_cost(local.new)
}

data "vcard_cards" "live" {
  label_prefix = local.prefix
}

# Read before anything is issued. One error stops the whole plan if it issues cards.
# Plans that only freeze or terminate cards pass.
data "vcard_wallet_balance" "now" {
  lifecycle {
    postcondition {
      condition     = local.cost == 0 || self.balance - local.cost >= var.reserve
      error_message = "The new cards take ${local.cost} USD from a wallet that holds ${self.balance} USD, and ${var.reserve} USD are to stay. ${self.pending_deposits} USD more are on their way."
    }
  }
}

# A warning, in each plan and apply until there is a deposit.
check "next_week" {
  assert {
    condition     = local.left - provider::vcard::issuance_cost(var.next_week) >= var.reserve
    error_message = "Next week's cards take ${provider::vcard::issuance_cost(var.next_week)} USD. ${local.left} USD are left in the wallet, of which ${var.reserve} USD are to stay: deposit before Monday."
  }
}

resource "vcard_card" "campaign" {
  for_each = var.campaigns

  bin_id = "bin_ads_visa_us"
  label  = "${local.prefix}${each.key}"
  amount = each.value

  lifecycle {
    create_before_destroy = true # keeps the old card if the new one is refused
  }

  depends_on = [data.vcard_wallet_balance.now] # no card before the wallet is read
}

locals {
  left = data.vcard_wallet_balance.now.balance - local.cost
}

output "left" {
  description = "USD in the wallet once the new cards are issued."
  value       = local.left
}

output "spendable" {
  description = "USD that may still be spent on cards before the reserve is touched."
  value       = local.left - var.reserve
}

output "on_cards" {
  description = "Load of all campaigns' cards, in USD."
  value       = sum(concat([0], values(var.campaigns)))
}
