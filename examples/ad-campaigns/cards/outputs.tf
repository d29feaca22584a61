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
  description = "What each campaign has cost, in USD, with the cards that were replaced."
  value = {
    for name, row in local.campaigns : name => sum(concat([0], [
      for id in lookup(local.ids, row.label, []) : try(data.vcard_transactions.all.by_card[id].summary["USD"].net_spend, 0)
    ]))
  }
}

output "loaded" {
  description = "What Terraform has loaded onto the cards, in USD, including top-ups."
  value       = sum(concat([0], [for card in vcard_card.campaign : coalesce(card.amount, 0) + card.topped_up]))
}
