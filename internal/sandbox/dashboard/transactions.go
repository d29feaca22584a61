package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
)

func transactionsPage() *page {
	return &page{Path: "/transactions", Title: "Transactions", html: transactionsHTML, read: readTransactions}
}

type transactionList struct {
	Records []*activity.Record
	Sums    transaction.Sums // of all that the filter picks
}

func readTransactions(v *view) (any, error) {
	l := v.list(search("q", "Card, merchant or reason"), pick("state", string(transaction.Authorized), string(transaction.Settled), string(transaction.Refunded), string(transaction.Declined)),
		day("from", "From (UTC)"), day("to", "To, inclusive"))
	filter := transaction.Filter{Text: l.text("q"), State: transaction.State(l.text("state")), Purchases: true}
	data := new(transactionList)
	if filter.From, filter.To, v.refused = l.days(); v.refused != nil {
		return data, nil //nolint:nilerr // the page tells of it
	}
	var err error
	if data.Sums, err = transaction.Sum(v.Tx, v.Account.ID, filter); err != nil {
		return nil, err
	}
	data.Records, err = activity.OfPurchases(v.Tx, v.Account.ID, filter, l.page)
	l.showsOf(len(data.Records), data.Sums.Count)
	return data, err
}
