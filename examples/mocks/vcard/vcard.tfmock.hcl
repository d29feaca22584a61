# Values that a mocked vcard provider returns where the configuration sets none. Ids
# are omitted because Terraform generates them; lists and maps of objects, because
# it leaves them empty.

mock_resource "vcard_card" {
  defaults = {
    network        = "visa"
    last4          = "0000"
    status         = "active"
    frozen         = false
    balance        = 0
    topped_up      = 0
    issuance_fee   = 1
    spending_limit = 5000
    created_at     = "2026-01-01T00:00:00Z"
    expires_at     = "2030-01-31"
  }
}

mock_resource "vcard_webhook" {
  defaults = {
    secret     = "whsec_mocked"
    created_at = "2026-01-01T00:00:00Z"
  }
}

mock_data "vcard_card" {
  defaults = {
    bin_id         = "bin_ads_visa_us"
    network        = "visa"
    last4          = "0000"
    status         = "active"
    balance        = 0
    spending_limit = 5000
    created_at     = "2026-01-01T00:00:00Z"
  }
}

mock_data "vcard_cards" {
  defaults = {
    ids = []
  }
}

mock_data "vcard_bins" {
  defaults = {
    ids = ["bin_ads_visa_us"]
  }
}

mock_data "vcard_wallet_balance" {
  defaults = {
    balance             = 10000
    currency            = "USDT"
    pending_deposits    = 0
    cards_active        = 0
    cards_total_balance = 0
  }
}

mock_data "vcard_transactions" {
  defaults = {
    truncated = false
  }
}
