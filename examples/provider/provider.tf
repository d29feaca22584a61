terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

# The service itself. The API key comes from VCARD_API_KEY, so that no file has it.
provider "vcard" {
  base_url = "https://cards.example.com/api/v1"
}

# The embedded sandbox: the whole service in a local file, with no account and no network.
provider "vcard" {
  alias = "rehearsal"

  sandbox = {
    path            = "vcard-sandbox.db"
    initial_balance = 5000
  }
}

# A share of the rate limits, for a key that several pipelines use.
provider "vcard" {
  alias    = "nightly"
  base_url = "https://cards.example.com/api/v1"

  rate_limits = {
    requests_per_minute = 250
    requests_per_hour   = 2500
    creates_per_minute  = 10
  }
}
