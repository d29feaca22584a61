terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

# The embedded sandbox: the whole service on one local file, no account needed.
provider "vcard" {
  sandbox = {
    path            = "vcard-sandbox.db"
    initial_balance = 2000
  }
}

variable "campaigns" {
  description = "One ad-spend card for each campaign: its load in USD, and whether it is paused."
  type = map(object({
    amount = number
    paused = optional(bool, false)
  }))
  default = {
    search  = { amount = 250 }
    social  = { amount = 120.50 }
    display = { amount = 75.25 }
  }
}

resource "vcard_card" "campaign" {
  for_each = var.campaigns

  bin_id             = "bin_ads_visa_us"
  label              = "campaign-${each.key}"
  amount             = each.value.amount
  frozen             = each.value.paused
  allowed_categories = ["advertising"]
  metadata           = { campaign = each.key }

  lifecycle {
    create_before_destroy = true # keeps the old card if the new one is refused
  }
}

resource "vcard_webhook" "spend" {
  url    = "https://example.com/hooks/cards"
  events = ["card.frozen", "transaction.authorized", "transaction.declined"]
}

# Read after the cards, so that the outputs show the result.
data "vcard_wallet_balance" "now" {
  depends_on = [vcard_card.campaign]
}

data "vcard_transactions" "recent" {
  max_results = 50
  depends_on  = [vcard_card.campaign]
}

data "vcard_deposit_addresses" "usdt" {
  currency = "usdt"
}

output "cards" {
  description = "The cards by campaign."
  value = {
    for name, card in vcard_card.campaign : name => {
      id      = card.id
      last4   = card.last4
      status  = card.status
      balance = card.balance
    }
  }
}

output "wallet_balance" {
  description = "What the wallet holds after the cards, in USD."
  value       = data.vcard_wallet_balance.now.balance
}

output "transactions" {
  description = "How many transactions there are."
  value       = length(data.vcard_transactions.recent.transactions)
}

output "deposit_address" {
  description = "Where to top up the wallet."
  value       = data.vcard_deposit_addresses.usdt.addresses[0].address
}
