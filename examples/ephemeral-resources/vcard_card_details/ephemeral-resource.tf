resource "vcard_card" "search" {
  bin_id = "bin_ads_visa_us"
  amount = 250

  lifecycle {
    create_before_destroy = true
  }
}

ephemeral "vcard_card_details" "search" {
  card_id = vcard_card.search.id
}

# A write-only attribute takes the details: the secret store has them, the state does not.
resource "vault_kv_secret_v2" "search" {
  mount = "ads"
  name  = "cards/${vcard_card.search.id}"

  data_json_wo = jsonencode({
    number = ephemeral.vcard_card_details.search.pan
    cvv    = ephemeral.vcard_card_details.search.cvv
    expiry = format("%02d/%d", ephemeral.vcard_card_details.search.exp_month, ephemeral.vcard_card_details.search.exp_year)
  })
  data_json_wo_version = 1
}
