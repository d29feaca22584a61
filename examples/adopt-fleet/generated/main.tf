# Terraform 1.14 and later: terraform query finds the cards and writes a resource and
# an import block for each of them.
#
#   terraform -chdir=../by-hand init && terraform -chdir=../by-hand apply
#   terraform init
#   terraform query                               # which cards there are
#   terraform query -generate-config-out=cards.tf # the configuration
#   terraform apply                               # imports them, and changes nothing
terraform {
  required_version = ">= 1.14"

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
    path = "../fleet.db"
  }
}
