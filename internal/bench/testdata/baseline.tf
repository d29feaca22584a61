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

variable "issued" {
  type    = number
  default = 0
}

resource "terraform_data" "fleet" {
  count = var.fleet
  input = {
    bin_id             = "bin_ads_visa_us"
    amount             = count.index < var.changed ? var.load : 60
    allowed_categories = ["advertising"]
    metadata           = { team = "ads" }
  }
}

resource "terraform_data" "issued" {
  count = var.issued
  input = {
    bin_id = "bin_ads_visa_us"
    amount = 60
  }
}
