list "vcard_card" "by_hand" {
  provider         = vcard
  limit            = 1000
  include_resource = true

  config {
    label_prefix = "ads-"
  }
}
