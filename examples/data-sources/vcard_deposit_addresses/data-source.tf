data "vcard_deposit_addresses" "all" {}

output "deposit_usdt" {
  description = "Where to send USDT, and on which network."
  value = {
    address = data.vcard_deposit_addresses.all.by_currency["usdt"].address
    network = data.vcard_deposit_addresses.all.by_currency["usdt"].network
  }
}
