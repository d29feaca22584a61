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

variable "added" {
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

resource "terraform_data" "added" {
  count = var.added
  input = {
    bin_id = "bin_ads_visa_us"
    amount = 60
  }
}
