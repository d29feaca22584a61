terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

# One card per campaign. Raise amount to fund it, lower it to withdraw.
resource "vcard_card" "search" {
  bin_id             = "bin_ads_visa_us"
  amount             = 250.00
  label              = "search-ads"
  spending_limit     = 2000
  allowed_categories = ["advertising", "software"]
  metadata           = { campaign = "search", team = "growth" }

  lifecycle {
    create_before_destroy = true # keeps the old card if the new one is refused
  }
}

# A card that stays loaded: a plan that finds less than 100 USD funds it up to 300 USD.
resource "vcard_card" "always_on" {
  bin_id = "bin_ads_visa_us"
  amount = 300
  label  = "always-on"

  top_up = {
    below = 100
    to    = 300
  }

  deletion_protection = false # true refuses every plan that would terminate it

  lifecycle {
    create_before_destroy = true
  }
}

# A paused campaign keeps its card and its balance.
resource "vcard_card" "paused" {
  bin_id = "bin_ads_mastercard_us"
  amount = 75.50
  label  = "paused"
  frozen = true

  lifecycle {
    create_before_destroy = true
  }
}
