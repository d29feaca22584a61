# Three loads and three fees of 1 USD: 448.75
output "cost" {
  description = "What issuing these cards takes from the wallet, in USD."
  value       = provider::vcard::issuance_cost([250, 120.50, 75.25])
}
