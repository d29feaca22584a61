# Runs with terraform test. Needs no account, no network and no sandbox.
mock_provider "vcard" {
  # The file vcard/vcard.tfmock.hcl. OpenTofu has no source here: write the content
  # of that file instead.
  source = "./vcard"
}

variables {
  campaigns = { spring = 60, summer = 80 }
}

run "plans_a_card_for_each_campaign" {
  command = plan

  assert {
    condition     = vcard_card.campaign["summer"].amount == 80
    error_message = "The card of a campaign is loaded with what the variable says."
  }
}

run "knows_the_cards_by_campaign" {
  assert {
    condition     = length(output.card_ids) == 2
    error_message = "Each campaign has a card of its own."
  }

  assert {
    condition     = vcard_card.campaign["spring"].status == "active" && output.spent["spring"] == 0
    error_message = "A new card is active, and nothing is spent."
  }
}
