terraform {
  required_providers {
    vcard = { source = "vcard/vcard" }
  }
}

provider "vcard" {
  rate_limits = {
    requests_per_minute = 1000000
    requests_per_hour   = 1000000
    creates_per_minute  = 1000000
  }
}

variable "fleet" {
  type = number
}

variable "changed" {
  type = number
}

variable "load" {
  type    = number
  default = 60
}

variable "frozen" {
  type    = bool
  default = null
}

variable "issued" {
  type    = number
  default = 0
}

variable "imported" {
  type    = list(string)
  default = []
}

resource "vcard_card" "fleet" {
  count              = var.fleet
  bin_id             = "bin_ads_visa_us"
  amount             = count.index < var.changed ? var.load : 60
  label              = "campaign ${count.index}"
  allowed_categories = ["advertising"]
  metadata           = { team = "ads" }
  frozen             = count.index < var.changed ? var.frozen : null
}

resource "vcard_card" "issued" {
  count  = var.issued
  bin_id = "bin_ads_visa_us"
  amount = 60
}

import {
  for_each = { for index, id in var.imported : index => id }
  to       = vcard_card.imported[each.key]
  id       = each.value
}

resource "vcard_card" "imported" {
  for_each = { for index, id in var.imported : index => id }
  bin_id   = "bin_ads_visa_us"
}
