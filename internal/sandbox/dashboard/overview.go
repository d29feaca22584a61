package dashboard

import (
	"cmp"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
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

	Start     *gettingStarted // in place of figures, while there is no card
	Runs      []*requestlog.Run
	Attention attention
	Time      timeline
	Spending  []*transaction.Spending // of this month, the most first
	Spent     usd.Amount              // with all cards
	Limits    []limitUse
	Newest    []*activity.Record
}

// attention is what somebody should look at.
type attention struct {
	Failing    []*webhook.Delivery // the newest of each endpoint
	Declines   transaction.Sums    // of today and yesterday
	Declined   []*activity.Record  // the newest of them
	Since      string              // yesterday
	Cards      []cardFigures       // nearly empty, or near their limits
	Challenges int64               // that are pending
}

func readAttention(v *view) (a attention, err error) {
	const most = 3
	yesterday := v.Tx.Now().Truncate(24 * time.Hour).Add(-24 * time.Hour)
	a.Since = yesterday.Format(time.DateOnly)
	declines := transaction.Filter{State: transaction.Declined, From: yesterday, Purchases: true}
	if a.Failing, err = webhook.Failing(v.Tx, v.Account.ID, most); err != nil {
		return a, err
	}
	if a.Declines, err = transaction.Sum(v.Tx, v.Account.ID, declines); err != nil {
		return a, err
	}
	if a.Declined, err = activity.OfPurchases(v.Tx, v.Account.ID, declines, wire.Page{Number: 1, Size: most}); err != nil {
		return a, err
	}
	found, err := card.InNeed(v.Tx, v.Account.ID, 2*most)
	if err != nil {
		return a, err
	}
	if a.Cards, err = readAllFigures(v, found); err != nil {
		return a, err
	}
	a.Challenges, err = threeds.CountPending(v.Tx, v.Account.ID)
	return a, err
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
	const largest, newest, lastRuns = 8, 12, 5
	if o.Runs, _, err = requestlog.Runs(v.Tx, v.Account.ID, wire.Page{Number: 1, Size: lastRuns}); err != nil {
		return nil, err
	}
	if o.Attention, err = readAttention(v); err != nil {
		return nil, err
	}
	if o.Spending, err = transaction.LargestSpending(v.Tx, v.Account.ID, largest); err != nil {
		return nil, err
	}
	if o.Spent, err = transaction.Spent(v.Tx, v.Account.ID, 0); err != nil {
		return nil, err
	}
	if o.Limits, err = readLimits(v); err != nil {
		return nil, err
	}
	o.Newest, _, err = activity.OfAccount(v.Tx, v.Account.ID, wire.Page{Number: 1, Size: newest})
	return o, err
}

func readLimits(v *view) ([]limitUse, error) {
	limits, err := behavior.ReadLimits(v.Tx)
	used := v.Server.Counters.Used(v.Account.CountedBy(), v.Tx.Now())
	return []limitUse{
		{"Requests, last minute", used.RequestsPerMinute, limits.RequestsPerMinute},
		{"Requests, last hour", used.RequestsPerHour, limits.RequestsPerHour},
		{"Cards issued, last minute", used.CreatesPerMinute, limits.CreatesPerMinute},
		{"Details read, last minute", used.DetailsPerMinute, limits.DetailsPerMinute},
	}, err
}
