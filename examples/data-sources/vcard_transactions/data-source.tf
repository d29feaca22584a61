data "vcard_transactions" "march" {
  from = "2026-03-01"
  to   = "2026-03-31"
}

output "net_spend_march" {
  description = "What the cards cost in March, in USD."
  value       = try(data.vcard_transactions.march.summary["USD"].net_spend, 0)
}

output "net_spend_march_by_card" {
  description = "What each card cost in March, in USD."
  value       = { for card, sums in data.vcard_transactions.march.by_card : card => try(sums.summary["USD"].net_spend, 0) }
}

data "vcard_transactions" "declines" {
  type        = "decline"
  max_results = 20
}

output "declines" {
  description = "The latest declines, and whether there are more."
  value = {
    merchants = [for t in data.vcard_transactions.declines.transactions : t.merchant.name]
    truncated = data.vcard_transactions.declines.truncated
  }
}
