# Endpoints for a pipeline, signed with a secret that is in no plan and no state: it
# comes from your secret store, for each run, and goes to the service.
#
#   export TF_VAR_signing_secret="$(vault kv get -field=secret ads/webhooks)"
#   terraform apply
#
# A store with an ephemeral resource needs no variable: hand its value to secret_wo.
# The folder any-version has the form for command lines without write-only arguments.
terraform {
  required_version = ">= 1.11" # for write-only arguments

  required_providers {
    vcard = {
      source  = "vcard/vcard"
      version = "~> 0.1"
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
  # No event goes to two of them, or it would arrive twice.
  endpoints = {
    alerts  = ["card.frozen", "transaction.declined", "3ds.challenge"]
    finance = ["card.funded", "transaction.settled", "transaction.refunded", "deposit.confirmed"]
  }
}

# Any change registers a new endpoint. The service cannot remove the old one, so it
# goes on receiving events until you remove it in the dashboard; the plan names it.
# To change the secret: raise the version, have the receiver accept both secrets,
# apply, remove the old endpoints, then have it forget the old secret.
resource "vcard_webhook" "endpoint" {
  for_each = local.endpoints

  url               = "${var.receiver}/cards/${each.key}"
  events            = each.value
  secret_wo         = var.signing_secret
  secret_wo_version = var.signing_secret_version

  lifecycle {
    create_before_destroy = true # no moment without an endpoint
  }
}

output "endpoints" {
  description = "Ids of the endpoints, as the dashboard shows them."
  value       = { for name, endpoint in vcard_webhook.endpoint : name => endpoint.id }
}
