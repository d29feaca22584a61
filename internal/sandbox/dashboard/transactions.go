package dashboard

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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

// followUps are what a merchant does with an earlier transaction.
func followUps() []action {
	const control = "POST " + server.Control
	return []action{
		{name: "settle", route: control + "/settlements", texts: "transaction_id", numbers: "amount", done: "The authorization is settled.", row: "row"},
		{name: "refund", route: control + "/refunds", texts: "transaction_id", numbers: "amount", done: "The refund is credited.", row: "row"},
	}
}

// purchase is a purchase with all that came of it.
type purchase struct {
	*activity.Record

	Chain      []step
	Sum        step // of the chain
	Entries    []*ledger.Entry
	Deliveries []*webhook.Delivery
}

// step is a transaction of a purchase, with what it did to the owner's money and the hold.
type step struct {
	*transaction.Transaction

	Balance, Hold usd.Amount
}

// Title tells purchases apart.
func (p *purchase) Title() string { return p.Merchant + " " + p.Amount.String() }

func readTransaction(v *view) (any, error) {
	chain, err := transaction.Chain(v.Tx, v.Account.ID, v.request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p := new(purchase)
	var ids []string
	for _, t := range chain {
		p.Chain, ids = append(p.Chain, step{Transaction: t}), append(ids, t.ID)
	}
	records, err := activity.OfPurchases(v.Tx, v.Account.ID, transaction.Filter{ID: ids[0]}, firstPage(pageSize))
	if err != nil {
		return nil, err
	}
	p.Record = records[0]
	if p.Entries, _, err = ledger.Journal(v.Tx, v.Account.ID, ledger.Filter{Transactions: ids}, firstPage(pageSize)); err != nil {
		return nil, err
	}
	for _, e := range p.Entries {
		of := &p.Chain[slices.Index(ids, e.TransactionID)]
		for _, posting := range e.Postings {
			switch posting.Kind {
			case ledger.Card, ledger.Wallet:
				of.Balance, p.Sum.Balance = of.Balance+posting.Amount, p.Sum.Balance+posting.Amount
			case ledger.Holds:
				of.Hold, p.Sum.Hold = of.Hold+posting.Amount, p.Sum.Hold+posting.Amount
			}
		}
	}
	p.Deliveries, _, err = webhook.Newest(v.Tx, v.Account.ID, webhook.Filter{Subjects: ids}, firstPage(pageSize))
	return p, err
}

type ledgerData struct {
	Accounts []*ledger.Line
	Audit    *ledger.Report // only in response to the press that asks for it
	Journal  []*ledger.Entry
}

// Sum is what all accounts come to, which is nothing.
func (d *ledgerData) Sum() (sum usd.Amount) {
	for _, line := range d.Accounts {
		sum += line.Balance
	}
	return sum
}

// Unmoved tells whether the journal has nothing but the balance that the account began with.
func (d *ledgerData) Unmoved() bool {
	return !slices.ContainsFunc(d.Journal, func(e *ledger.Entry) bool { return e.Kind != ledger.OpeningBalance })
}

func readLedger(v *view) (any, error) {
	data := new(ledgerData)
	if report := new(ledger.Report); v.response("audit", report) {
		data.Audit = report
	}
	var err error
	if data.Accounts, err = ledger.Summary(v.Tx, v.Account.ID); err != nil {
		return nil, err
	}
	l := v.list(pick("kind", ledger.EntryKinds()...), search("entry", "Entry"))
	entries, more, err := ledger.Journal(v.Tx, v.Account.ID, ledger.Filter{Kind: l.text("kind"), ID: l.text("entry")}, l.page)
	data.Journal = entries
	l.shows(len(entries), more)
	return data, err
}
