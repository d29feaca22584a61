# terraform test: the whole story on a sandbox of its own, which needs no account.
provider "vcard" {
  sandbox = {
    path            = "quickstart-test.db"
    initial_balance = 2000
  }
}

run "each_campaign_has_a_card" {
  assert {
    condition     = alltrue([for card in output.cards : card.status == "active"])
    error_message = "A card is not active."
  }

  assert {
    condition     = output.wallet_balance == 2000 - 250 - 120.5 - 75.25 - 3
    error_message = "The wallet did not pay for three loads and three fees: it holds ${output.wallet_balance} USD."
  }
}

run "next_week" {
  variables {
    campaigns = {
      search  = { amount = 400 }
      social  = { amount = 90.50 }
      display = { amount = 75.25, paused = true }
    }
  }

  assert {
    condition     = output.cards["search"].balance == 400 && output.cards["social"].balance == 90.5
    error_message = "The cards do not hold what the campaigns have now."
  }

  assert {
    condition     = output.cards["display"].status == "frozen" && output.cards["display"].balance == 75.25
    error_message = "The paused campaign's card is not frozen, or its balance changed."
  }
}
