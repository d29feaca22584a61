package dashboard

import (
	"cmp"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func overviewPage() *page {
	return &page{
		Path: "/{$}", Title: "Overview", html: overviewHTML, read: readOverview,
		actions: []action{{name: "show-key", route: "GET " + server.Control + "/api-key"}},
	}
}

type overview struct {
	Wallet, OnCards, Held, Pending usd.Amount
	card.Counts

	Start    *gettingStarted // in place of figures, while there is no card
	Time     timeline
	Spending chart
	Limits   []limitUse
	Newest   []*activity.Record
}

// gettingStarted is what makes a first card.
type gettingStarted struct {
	Address string
	Key     string // only in response to the press that asks for it
}

// Environment is what the provider takes from the environment.
func (g *gettingStarted) Environment() string {
	return "export VCARD_BASE_URL=" + g.Address + "\nexport VCARD_API_KEY=" + cmp.Or(g.Key, "…")
}

// Config is a main.tf.
func (g *gettingStarted) Config() string {
	return `terraform {
  required_providers { vcard = { source = "vcard/vcard" } }
}
resource "vcard_card" "first" {
  bin_id = "bin_ads_visa_us"
  amount = 50
}
`
}

// limitUse is a limit of the account's key, and how much of it is used.
type limitUse struct {
	Name        string
	Used, Limit int64
}

func readOverview(v *view) (any, error) {
	lines, err := ledger.Summary(v.Tx, v.Account.ID)
	if err != nil {
		return nil, err
	}
	balances := map[string]usd.Amount{}
	for _, line := range lines {
		balances[line.Name] = line.Balance
	}
	o := &overview{Wallet: balances[string(ledger.Wallet)], Held: balances[string(ledger.Holds)], OnCards: balances[string(ledger.Card)]}
	if o.Pending, err = wallet.PendingDeposits(v.Tx, v.Account.ID); err != nil {
		return nil, err
	}
	if o.Counts, err = card.CountByStatus(v.Tx, v.Account.ID); err != nil {
		return nil, err
	}
	if o.Time, err = v.timeline(nil); err != nil {
		return nil, err
	}
	if o.Counts == (card.Counts{}) {
		o.Start = &gettingStarted{Address: v.Address}
		shown := struct {
			Key *string `json:"api_key"`
		}{&o.Start.Key}
		v.response("show-key", &shown)
	}
	const largest, newest = 8, 12
	spending, total, err := transaction.LargestSpending(v.Tx, v.Account.ID, largest)
	if err != nil {
		return nil, err
	}
	o.Spending = newChart(spending, total)
	if o.Limits, err = readLimits(v); err != nil {
		return nil, err
	}
	o.Newest, _, err = activity.OfAccount(v.Tx, v.Account.ID, wire.Page{Number: 1, Size: newest})
	return o, err
}

func readLimits(v *view) ([]limitUse, error) {
	limits, err := behavior.ReadLimits(v.Tx)
	used := v.Server.Counters.Used(v.Account.ID, v.Tx.Now())
	return []limitUse{
		{"Requests, last minute", used.RequestsPerMinute, limits.RequestsPerMinute},
		{"Requests, last hour", used.RequestsPerHour, limits.RequestsPerHour},
		{"Cards issued, last minute", used.CreatesPerMinute, limits.CreatesPerMinute},
		{"Details read, last minute", used.DetailsPerMinute, limits.DetailsPerMinute},
	}, err
}

// chart is the spending of some cards as bars, in pixels from the top and percent
// of the width.
type chart struct {
	Rows   []chartRow
	Height int
	Total  usd.Amount
	Others usd.Amount // spent by cards that have no bar
}

type chartRow struct {
	transaction.Spending
	Name  string // short enough for a narrow window
	TextY int
	BarY  int
	Width int64
}

func newChart(spending []transaction.Spending, total usd.Amount) chart {
	const row, text, bar, maxName = 36, 14, 20, 26
	c := chart{Height: row * len(spending), Total: total, Others: total}
	for i, s := range spending {
		name := []rune(s.Label)
		if len(name) > maxName {
			name = append(name[:maxName-1], '…')
		}
		if len(name) == 0 {
			name = []rune("••" + s.Last4)
		}
		c.Rows = append(c.Rows, chartRow{s, string(name), i*row + text, i*row + bar, newBar(s.Amount, spending[0].Amount).Percent})
		c.Others -= s.Amount
	}
	return c
}
