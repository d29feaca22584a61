package dashboard

import (
	"math"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// transactionList is the data of the page with the purchases.
type transactionList struct {
	Records []*activity.Record
	Sums    transaction.Sums // of the purchases that match the filter, including those on other pages
}

func readTransactions(v *view) (any, error) {
	l := v.readList(
		search("q", "Card, merchant or reason"),
		pick("state",
			string(transaction.Authorized), string(transaction.Settled), string(transaction.Refunded), string(transaction.Declined)),
		pickDay("from", "From (UTC)"),
		pickDay("to", "To, inclusive"),
	)
	filter := transaction.Filter{Text: l.text("q"), State: transaction.State(l.text("state")), Purchases: true}
	data := new(transactionList)
	var err error
	filter.From, filter.To, err = l.days()
	if err != nil {
		v.filterErr = err
		return data, nil //nolint:nilerr // the page shows the error
	}
	data.Sums, err = transaction.Sum(v.Tx, v.Account.ID, filter)
	if err != nil {
		return nil, err
	}
	data.Records, err = activity.ListPurchases(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	l.setRowsOfTotal(len(data.Records), data.Sums.Count)
	return data, nil
}

// followUpActions returns the actions of a merchant on an earlier transaction.
func followUpActions() []action {
	const control = "POST " + server.Control
	return []action{
		{
			name: "settle", route: control + "/settlements", texts: []string{"transaction_id"}, numbers: []string{"amount"},
			done: "The authorization is settled.", row: "row",
		},
		{
			name: "refund", route: control + "/refunds", texts: []string{"transaction_id"}, numbers: []string{"amount"},
			done: "The refund is credited.", row: "row",
		},
	}
}

// purchase is the data of the page with one purchase. The chain consists of the purchase and its later
// transactions.
type purchase struct {
	*activity.Record

	Chain      []step
	Sum        step // the changes of the whole chain; its Transaction is nil
	Entries    []*ledger.Entry
	Deliveries []*webhook.Delivery
}

// step is a transaction of a purchase, with the changes of balances that it made.
type step struct {
	*transaction.Transaction

	Balance usd.Amount // the change of the balances of card and wallet together
	Hold    usd.Amount // the change of the amount that authorizations hold
}

// Title returns the title of the page.
func (p *purchase) Title() string { return p.Merchant + " " + p.Amount.String() }

func readTransaction(v *view) (any, error) {
	chain, err := transaction.Chain(v.Tx, v.Account.ID, v.request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p := new(purchase)
	var ids []string
	for _, t := range chain {
		p.Chain = append(p.Chain, step{Transaction: t})
		ids = append(ids, t.ID)
	}
	purchaseID := ids[0] // a chain starts with its purchase
	records, err := activity.ListPurchases(v.Tx, v.Account.ID, transaction.Filter{ID: purchaseID}, firstPage(1))
	if err != nil {
		return nil, err
	}
	p.Record = records[0]
	allEntries := firstPage(math.MaxInt32) // because the entries are added up
	p.Entries, _, err = ledger.Journal(v.Tx, v.Account.ID, ledger.Filter{Transactions: ids}, allEntries)
	if err != nil {
		return nil, err
	}
	steps := map[string]*step{} // by the ids of their transactions
	for i := range p.Chain {
		steps[p.Chain[i].ID] = &p.Chain[i]
	}
	for _, e := range p.Entries {
		s := steps[e.TransactionID] // not nil, because ids selects the entries
		for _, posting := range e.Postings {
			switch posting.Kind {
			case ledger.Card, ledger.Wallet:
				s.Balance += posting.Amount
				p.Sum.Balance += posting.Amount
			case ledger.Holds:
				s.Hold += posting.Amount
				p.Sum.Hold += posting.Amount
			}
		}
	}
	p.Deliveries, _, err = webhook.NewestDeliveries(v.Tx, v.Account.ID, webhook.Filter{Subjects: ids}, firstPage(pageSize))
	if err != nil {
		return nil, err
	}
	return p, nil
}

// ledgerData is the data of the page with the ledger.
type ledgerData struct {
	Accounts []*ledger.Line
	Audit    *ledger.Report // nil unless the user has just asked for an audit
	Journal  []*ledger.Entry
}

// Sum returns the sum of the lines. It is always zero, because ledger.Summary computes the cards' total from the other
// lines. Only the audit checks the ledger.
func (d *ledgerData) Sum() usd.Amount {
	var sum usd.Amount
	for _, line := range d.Accounts {
		sum += line.Balance
	}
	return sum
}

// HasOnlyOpening reports whether the page of the journal has no entries except the opening balance.
func (d *ledgerData) HasOnlyOpening() bool {
	for _, e := range d.Journal {
		if e.Kind != ledger.OpeningBalance {
			return false
		}
	}
	return true
}

func readLedger(v *view) (any, error) {
	data := new(ledgerData)
	report := new(ledger.Report)
	if v.decodeResponse("audit", report) {
		data.Audit = report
	}
	var err error
	data.Accounts, err = ledger.Summary(v.Tx, v.Account.ID)
	if err != nil {
		return nil, err
	}
	l := v.readList(pick("kind", ledger.EntryKinds()...), search("entry", "Entry"))
	filter := ledger.Filter{Kind: l.text("kind"), ID: l.text("entry")}
	entries, more, err := ledger.Journal(v.Tx, v.Account.ID, filter, l.page)
	if err != nil {
		return nil, err
	}
	data.Journal = entries
	l.setRows(len(entries), more)
	return data, nil
}
