# Endpoints whose signing secret is in no plan and no state: each run reads it from
# your secret store and sends it to the service.
#
#   export TF_VAR_signing_secret="$(vault kv get -field=secret ads/webhooks)"
#   terraform apply
#
# A store with an ephemeral resource needs no variable: pass its value to secret_wo.
# For Terraform before 1.11, which has no write-only arguments, see the folder any-version.
terraform {
  required_version = ">= 1.11" # for write-only arguments

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

variable "receiver" {
  description = "Address of the service that receives the events, without a path."
  type        = string
  default     = "https://hooks.example.com"
}

variable "signing_secret" {
  description = "What the receiver verifies signatures with."
  type        = string
  ephemeral   = true
  sensitive   = true
}

variable "signing_secret_version" {
  description = "Raised whenever the secret changes, which Terraform cannot see by itself."
  type        = number
  default     = 1
}

locals {
  # Each event goes to one endpoint only, or it would arrive twice.
  endpoints = {
    alerts  = ["card.frozen", "transaction.declined", "3ds.challenge"]
    finance = ["card.funded", "transaction.settled", "transaction.refunded", "deposit.confirmed"]
  }
}

# Any change registers a new endpoint. The service cannot remove the old one, so it
# receives events until you remove it in the dashboard; the plan names it.
# To change the secret: let the receiver accept both secrets, raise the version, apply,
# remove the old endpoints, then remove the old secret from the receiver.
resource "vcard_webhook" "endpoint" {
  for_each = local.endpoints

  url               = "${var.receiver}/cards/${each.key}"
  events            = each.value
  secret_wo         = var.signing_secret
  secret_wo_version = var.signing_secret_version

  lifecycle {
    create_before_destroy = true # so that there is always an endpoint
  }
}

output "endpoints" {
  description = "Ids of the endpoints, as the dashboard shows them."
  value       = { for name, endpoint in vcard_webhook.endpoint : name => endpoint.id }
}
