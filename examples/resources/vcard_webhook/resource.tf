terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

# The service generates the signing secret. It is in the state, as secret.
resource "vcard_webhook" "spend" {
  url    = "https://hooks.example.com/cards"
  events = ["transaction.authorized", "transaction.declined", "card.frozen"]
}

output "spend_secret" {
  description = "What the receiver verifies signatures with."
  value       = vcard_webhook.spend.secret
  sensitive   = true
}

# A secret of your own that is in no plan and no state. To change it, raise the
# version with it: that registers a new endpoint.
variable "webhook_secret" {
  type      = string
  sensitive = true
  ephemeral = true
}

resource "vcard_webhook" "audit" {
  url               = "https://audit.example.com/cards"
  events            = ["*"]
  secret_wo         = var.webhook_secret
  secret_wo_version = 1
}
