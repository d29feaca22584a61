# Issues the cards that somebody would have issued in the dashboard, so that the
# sandbox has cards to import. With an account, you do not need this folder.
terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

provider "vcard" {
  sandbox = {
    path = "../fleet.db"
  }
}

resource "vcard_card" "search" {
  bin_id = "bin_ads_visa_us"
  label  = "ads-search"
  amount = 200

  lifecycle {
    create_before_destroy = true
  }
}

resource "vcard_card" "social" {
  bin_id = "bin_ads_visa_us"
  label  = "ads-social"
  amount = 120.50

  lifecycle {
    create_before_destroy = true
  }
}

resource "vcard_card" "display" {
  bin_id = "bin_ads_mastercard_us"
  label  = "ads-display"
  amount = 75.25
  frozen = true # since last summer

  lifecycle {
    create_before_destroy = true
  }
}

output "ids" {
  description = "The cards to import, by label."
  value       = { for card in [vcard_card.search, vcard_card.social, vcard_card.display] : card.label => card.id }
}
