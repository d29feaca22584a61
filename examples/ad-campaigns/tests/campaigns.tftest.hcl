# terraform test: the whole fleet on a sandbox of its own, which needs no account.
provider "vcard" {
  sandbox = {
    path = "campaigns-test.db"
  }
}

run "every_campaign_has_a_card" {
  assert {
    condition     = length(output.cards) == length(csvdecode(file("campaigns.csv")))
    error_message = "A row of campaigns.csv has no card of its own: is a name there twice?"
  }

  assert {
    condition     = output.loaded == sum(csvdecode(file("campaigns.csv"))[*].load)
    error_message = "The cards are not loaded as campaigns.csv says."
  }

  assert {
    condition     = alltrue([for card in output.cards : card.status == "active"])
    error_message = "A card is not active."
  }
}

run "a_paused_campaign_keeps_its_card" {
  variables {
    paused = ["newsletter"]
  }

  assert {
    condition     = output.cards["newsletter"].status == "frozen"
    error_message = "The paused campaign's card is not frozen."
  }

  assert {
    condition     = output.loaded == sum(csvdecode(file("campaigns.csv"))[*].load)
    error_message = "Pausing moved money."
  }
}
