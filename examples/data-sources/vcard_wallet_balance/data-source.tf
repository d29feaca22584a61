variable "next_week" {
  description = "Loads in USD of the cards to be issued next week."
  type        = list(number)
  default     = [250, 120.50, 75.25]
}

data "vcard_wallet_balance" "now" {}

# Warns in every plan and apply while the wallet cannot pay for next week.
check "next_week" {
  assert {
    condition     = data.vcard_wallet_balance.now.balance >= provider::vcard::issuance_cost(var.next_week)
    error_message = "Next week's cards take ${provider::vcard::issuance_cost(var.next_week)} USD, but the wallet holds ${data.vcard_wallet_balance.now.balance} USD, and ${data.vcard_wallet_balance.now.pending_deposits} more are on their way."
  }
}
