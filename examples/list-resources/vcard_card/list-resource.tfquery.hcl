# terraform query -generate-config-out=cards.tf
# writes an import and a resource for each card that it finds.
list "vcard_card" "ads" {
  provider         = vcard
  limit            = 1000
  include_resource = true

  config {
    status = "active"
    bin_id = "bin_ads_visa_us"
  }
}
