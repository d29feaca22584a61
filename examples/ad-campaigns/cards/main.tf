terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1"
    }
  }
}

locals {
  # By name: a row that moves in the file is still the same card.
  campaigns = { for row in var.campaigns : row.campaign => row }
}

resource "vcard_card" "campaign" {
  for_each = local.campaigns

  bin_id             = var.bin_id
  label              = each.value.label
  amount             = tonumber(each.value.load)
  allowed_categories = ["advertising"]
  frozen             = contains(var.paused, each.key)

  top_up = each.value.top_up_below == "" ? null : {
    below = tonumber(each.value.top_up_below)
    to    = tonumber(each.value.top_up_to)
  }

  lifecycle {
    # The service may refuse a card: the old one goes when the new one is there.
    create_before_destroy = true
  }
}

# Sums by card over all transactions; the list itself is not needed.
data "vcard_transactions" "all" {
  max_results = 1
}
