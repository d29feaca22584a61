terraform {
  required_providers {
    vcard = { source = "vcard/vcard" }
  }
}

provider "vcard" {
  rate_limits = {
    requests_per_minute = 1000000
    requests_per_hour   = 1000000
  }
}

variable "fleet" {
  type = number
}

data "vcard_transactions" "all" {}

output "net_spend" {
  value = data.vcard_transactions.all.summary["USD"].net_spend
}
