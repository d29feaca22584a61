package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
)

func transactionsPage() *page {
	return &page{
		Path: "/transactions", Title: "Transactions", html: transactionsHTML, read: readTransactions,
		csv: []string{
			"id", "time", "state", "card_id", "label", "last4", "merchant", "mcc", "category", "amount", "settled", "refunded", "fee", "decline_reason", "why",
		},
	}
}

type transactionList struct {
	Records []*activity.Record
	Sums    []transaction.Sum
}

func readTransactions(v *view) (any, error) {
	l := v.list(search("Card: label, last four or id"), pick("state", string(transaction.Authorized), string(transaction.Settled), string(transaction.Refunded), string(transaction.Declined)),
		day("from", "From (UTC)"), day("to", "To, inclusive"))
	filter := transaction.Filter{CardText: l.text("q"), State: transaction.State(l.text("state")), Purchases: true}
	filter.Sort, filter.Descending = l.order()
	var err error
	if filter.From, filter.To, err = l.days(); err != nil {
		return nil, err
	}
	var total, cards int64
	if filter.CardText != "" {
		cards = card.Count(v.Tx, v.Account.ID, card.Filter{Text: filter.CardText})
	}
	data := new(transactionList)
	summed := cards <= maxSummed && v.csv == 0
	switch {
	case !summed:
	case filter.State != "":
		total = transaction.Count(v.Tx, v.Account.ID, filter)
	default:
		data.Sums = transaction.Sums(v.Tx, v.Account.ID, filter)
	}
	for _, sum := range data.Sums {
		if sum.Type == transaction.Authorization || sum.Type == transaction.Decline {
			total += sum.Count
		}
	}
	data.Records = activity.OfPurchases(v.Tx, v.Account.ID, filter, l.page)
	rows := len(data.Records)
	if summed {
		l.showsOf(rows, total)
	} else {
		l.shows(rows, int64(rows) == l.page.Size)
	}
	for _, r := range data.Records {
		v.rows = append(v.rows, []string{
			r.ID, timestamp(r.At.Time), string(r.State), r.CardID, cell(r.Label), r.Last4, cell(r.Merchant), r.MCC, card.CategoryOf(r.MCC),
			r.Amount.String(), r.Settled.String(), r.Refunded.String(), r.Fee.String(), r.Reason, newWhat(r).Why,
		})
	}
	return data, nil
}

// maxSummed is how many cards a search may find for its sums to be worked out, which
// takes long for many.
const maxSummed = 500
