package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
)

func transactionsPage() *page {
	return &page{Path: "/transactions", Title: "Transactions", html: transactionsHTML, read: readTransactions}
}

type transactionList struct {
	Records []*activity.Record
	Sums    []transaction.Sum
}

func readTransactions(v *view) (any, error) {
	l := v.list(search("Card: label, last four or id"), pick("state", string(transaction.Authorized), string(transaction.Settled), string(transaction.Refunded), string(transaction.Declined)),
		day("from", "From (UTC)"), day("to", "To, inclusive"))
	filter := transaction.Filter{CardText: l.text("q"), State: transaction.State(l.text("state")), Purchases: true}
	var err error
	if filter.From, filter.To, err = l.days(); err != nil {
		return nil, err
	}
	var total, cards int64
	if filter.CardText != "" {
		if cards, err = card.Count(v.Tx, v.Account.ID, card.Filter{Text: filter.CardText}); err != nil {
			return nil, err
		}
	}
	data := new(transactionList)
	summed := cards <= maxSummed
	switch {
	case summed && filter.State != "":
		total, err = transaction.Count(v.Tx, v.Account.ID, filter)
	case summed:
		data.Sums, err = transaction.Sums(v.Tx, v.Account.ID, filter)
	}
	if err != nil {
		return nil, err
	}
	for _, sum := range data.Sums {
		if sum.Type == transaction.Authorization || sum.Type == transaction.Decline {
			total += sum.Count
		}
	}
	data.Records, err = activity.OfPurchases(v.Tx, v.Account.ID, filter, l.page)
	rows := len(data.Records)
	if summed {
		l.showsOf(rows, total)
	} else {
		l.shows(rows, int64(rows) == l.page.Size)
	}
	return data, err
}

// maxSummed is how many cards a search may find for its sums to be worked out, which
// takes long for many.
const maxSummed = 500
