# Cards of examples/world.yaml, which somebody issued by hand: taken over, and topped
# up from now on.
variable "fleet" {
  description = "The cards by label; the load in USD of those that are yet to be issued."
  type        = map(object({ amount = optional(number) }))
  default = {
    search-ads  = {}
    display-ads = {}
  }
}

resource "vcard_card" "fleet" {
  for_each = var.fleet

  bin_id = "bin_ads_visa_us"
  label  = each.key
  amount = each.value.amount
  top_up = { below = 75, to = 250 }

  lifecycle {
    create_before_destroy = true # keeps the old card if the new one is refused
  }
}
