output "cards" {
  description = "The card of each campaign."
  value = {
    for name, card in vcard_card.campaign : name => {
      id      = card.id
      last4   = card.last4
      status  = card.status
      balance = card.balance
    }
  }
}

output "spend" {
  description = "What each campaign has cost, in USD."
  value = {
    for name, card in vcard_card.campaign : name =>
    try(data.vcard_transactions.all.by_card[card.id].summary["USD"].net_spend, 0)
  }
}

output "loaded" {
  description = "What the cards were loaded with, top-ups included, in USD."
  value       = sum(concat([0], [for card in vcard_card.campaign : card.amount + card.topped_up]))
}
