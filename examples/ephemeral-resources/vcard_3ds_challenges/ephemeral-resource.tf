variable "card_id" {
  description = "Card whose payments are to be confirmed."
  type        = string
}

ephemeral "vcard_3ds_challenges" "pending" {
  card_id = var.card_id
}

# The codes by challenge. They may go where ephemeral values may: into a
# provider's configuration or a write-only argument, and into no state.
locals {
  codes = { for c in ephemeral.vcard_3ds_challenges.pending.challenges : c.id => c.otp }
}
