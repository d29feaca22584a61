# terraform test: cards are issued by hand on a sandbox of its own, then imported.
provider "vcard" {
  sandbox = {
    path = "fleet-test.db"
  }
}

run "issued_by_hand" {
  module {
    source = "./by-hand"
  }
}

run "they_are_taken_over" {
  variables {
    by_hand = run.issued_by_hand.ids
  }

  assert {
    condition     = alltrue([for campaign, card in output.cards : card.id == var.by_hand["ads-${campaign}"]])
    error_message = "A card was issued in place of the one that was there."
  }

  assert {
    condition     = output.cards["display"].balance == 75.25
    error_message = "Money moved on a card that was taken over."
  }
}

run "a_larger_amount_is_a_fund_now" {
  variables {
    campaigns = {
      search  = { bin_id = "bin_ads_visa_us", amount = 250 }
      social  = { bin_id = "bin_ads_visa_us", amount = 120.50 }
      display = { bin_id = "bin_ads_mastercard_us", amount = 75.25 }
    }
  }

  assert {
    condition     = output.cards["search"].balance == 250 && output.cards["social"].balance == 120.5
    error_message = "The fund went to another card, or nowhere."
  }
}
