package dashboard

import (
	"net/url"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func transactionsPage() *page {
	return &page{Path: "/transactions", Title: "Transactions", template: "transactions", read: readTransactions}
}

type transactionList struct {
	Rows   []*activity.Record
	Sums   []*transaction.Sum
	Paging paging
}

func readTransactions(v *view) (any, error) {
	filter := transaction.Filter{CardText: strings.TrimSpace(v.Query.Get("q")), Type: transaction.Type(v.Query.Get("type"))}
	var err error
	if filter.From, filter.To, err = readDays(v.Query); err != nil {
		return nil, err
	}
	var list transactionList
	if list.Sums, err = transaction.Sums(v.Tx, v.Account.ID, filter); err != nil {
		return nil, err
	}
	var total int64
	for _, sum := range list.Sums {
		total += sum.Count
	}
	page := readPage(v.Query)
	list.Rows, err = activity.OfTransactions(v.Tx, v.Account.ID, filter, page)
	list.Paging = newPaging(v.Query, page, len(list.Rows), page.Offset()+int64(len(list.Rows)) < total)
	list.Paging.Total = total
	return list, err
}

// readDays reads from and to, of which an empty one is open.
func readDays(query url.Values) (from, to time.Time, err error) {
	days := url.Values{}
	for _, name := range []string{"from", "to"} {
		if day := query.Get(name); day != "" {
			days.Set(name, day)
		}
	}
	reader := wire.ReadQuery(days.Encode())
	from, to = reader.Period(24*time.Hour - time.Millisecond)
	return from, to, reader.Done()
}
