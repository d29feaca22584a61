terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

# From the environment: VCARD_SANDBOX=campaigns.db for the embedded sandbox, or VCARD_BASE_URL and
# VCARD_API_KEY for an account.
provider "vcard" {}

variable "paused" {
  description = "Campaigns to pause: their cards are frozen and not topped up."
  type        = set(string)
  default     = []
}

module "campaigns" {
  source = "./cards"

  campaigns = csvdecode(file("${path.module}/campaigns.csv"))
  paused    = var.paused
}

output "cards" {
  description = "The card of each campaign."
  value       = module.campaigns.cards
}

output "spend" {
  description = "What each campaign has cost, in USD."
  value       = module.campaigns.spend
}

output "loaded" {
  description = "What the cards were loaded with, top-ups included, in USD."
  value       = module.campaigns.loaded
}
