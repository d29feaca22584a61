data "vcard_bins" "ads" {
  category = "ads"
  network  = "visa"
  three_ds = true
}

# Write the id instead of looking it up: if the order of the list changed, every card
# would be replaced. The data source checks the id.
resource "vcard_card" "search" {
  bin_id = "bin_ads_visa_us"
  amount = 250

  lifecycle {
    create_before_destroy = true
  }
}

check "bin" {
  assert {
    condition     = contains(data.vcard_bins.ads.ids, vcard_card.search.bin_id)
    error_message = "bin_ads_visa_us is no longer a Visa BIN for ads with 3-D Secure."
  }
}

output "bins_with_mobile_wallets" {
  description = "Ids of the BINs whose cards some mobile wallet takes."
  value       = [for bin in data.vcard_bins.ads.bins : bin.id if anytrue(values(bin.wallets))]
}
