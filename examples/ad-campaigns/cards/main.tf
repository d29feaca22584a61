terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
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
  amount             = each.value.load == "" ? null : tonumber(each.value.load)
  allowed_categories = ["advertising"]
  frozen             = contains(var.paused, each.key)

  top_up = each.value.top_up_below == "" ? null : {
    below = tonumber(each.value.top_up_below)
    to    = tonumber(each.value.top_up_to)
  }

  lifecycle {
    create_before_destroy = true # keeps the old card if the new one is refused
  }
}

# The sums cover all transactions; the list itself is not needed.
data "vcard_transactions" "all" {
  max_results = 1
}

data "vcard_cards" "live" {
}

data "vcard_cards" "ended" {
  status = "terminated"
}

locals {
  # By label, so that a campaign keeps its spend when its card is replaced.
  ids = { for card in concat(data.vcard_cards.live.cards, data.vcard_cards.ended.cards) : coalesce(card.label, card.id) => card.id... }
}
