# The service generates the signing secret. It is in the state, so protect the state.
# The pipeline copies it to the secret store:
#
#   terraform apply
#   terraform output -raw signing_secret | vault kv put ads/webhooks secret=-
terraform {
  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1.0"
    }
  }
}

# The embedded sandbox. For an account, replace sandbox with base_url, and set VCARD_API_KEY.
provider "vcard" {
  sandbox = {
    path = "webhooks.db"
  }
}

variable "url" {
  description = "Address that receives the events."
  type        = string
  default     = "https://hooks.example.com/cards"
}

# Any change registers a new endpoint, with a new secret. The service cannot remove
# the old one: the plan names it, and you remove it in the dashboard. To have a new
# secret with nothing else changed: terraform apply -replace=vcard_webhook.events
resource "vcard_webhook" "events" {
  url    = var.url
  events = ["card.frozen", "transaction.declined", "3ds.challenge"]

  lifecycle {
    create_before_destroy = true # so that there is always an endpoint
  }
}

output "endpoint" {
  description = "Id of the endpoint, as the dashboard shows it."
  value       = vcard_webhook.events.id
}

output "signing_secret" {
  description = "What the receiver verifies signatures with."
  value       = vcard_webhook.events.secret
  sensitive   = true
}
