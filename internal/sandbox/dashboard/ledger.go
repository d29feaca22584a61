package dashboard

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func ledgerPage() *page {
	return &page{
		Path: "/ledger", Title: "Ledger", html: ledgerHTML, read: readLedger,
		actions: []action{{name: "audit", route: "GET " + server.Control + "/ledger"}},
	}
}

type ledgerData struct {
	Accounts []ledger.Line
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
