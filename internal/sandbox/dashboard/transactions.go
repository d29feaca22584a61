package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
)

func transactionsPage() *page {
	return &page{Path: "/transactions", Title: "Transactions", template: "transactions", read: readTransactions, csv: true}
}

type transactionList struct {
	*list

	Records []*activity.Record
	Sums    []*transaction.Sum
}

func readTransactions(v *view) (any, error) {
	l := v.list(search("Card: label, last four or id"), pick("type", "authorization", "settlement", "refund", "decline"),
		day("from", "From (UTC)"), day("to", "To, inclusive"))
	filter := transaction.Filter{CardText: l.text("q"), Type: transaction.Type(l.text("type"))}
	filter.Sort, filter.Descending = l.order()
	var err error
	if filter.From, filter.To, err = l.days(); err != nil {
		return nil, err
	}
	data := transactionList{list: l}
	if data.Sums, err = transaction.Sums(v.Tx, v.Account.ID, filter); err != nil {
		return nil, err
	}
	var total int64
	for _, sum := range data.Sums {
		total += sum.Count
	}
	data.Records, err = activity.OfTransactions(v.Tx, v.Account.ID, filter, l.page)
	l.showsOf(len(data.Records), total)
	return data, err
}

// Header makes transactionList a table.
func (transactionList) Header() []string {
	return []string{"id", "time", "type", "card_id", "label", "last4", "merchant", "mcc", "amount", "fee", "decline_reason"}
}

// Rows makes transactionList a table.
func (t transactionList) Rows() (rows [][]string) {
	for _, r := range t.Records {
		rows = append(rows, []string{
			r.ID, timestamp(r.At), string(r.Kind), r.CardID, cell(r.Label), r.Last4, cell(r.Merchant), r.MCC, r.Amount.String(), r.Fee.String(), r.Reason,
		})
	}
	return rows
}
