data "vcard_bins" "ads" {
  category = "ads"
  network  = "visa"
  three_ds = true
}

resource "vcard_card" "search" {
  bin_id = data.vcard_bins.ads.ids[0]
  amount = 250

  lifecycle {
    create_before_destroy = true
  }
}

output "bins_with_mobile_wallets" {
  description = "Ids of the BINs whose cards some mobile wallet takes."
  value       = [for bin in data.vcard_bins.ads.bins : bin.id if anytrue(values(bin.wallets))]
}
