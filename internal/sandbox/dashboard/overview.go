package dashboard

import (
	"errors"
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
	found, err := card.InNeed(v.Tx, v.Account.ID, 2*most)
	errs := [6]error{err}
	a.Failing, errs[1] = webhook.Failing(v.Tx, v.Account.ID, most)
	a.Declines, errs[2] = transaction.Sum(v.Tx, v.Account.ID, declines)
	a.Declined, errs[3] = activity.OfPurchases(v.Tx, v.Account.ID, declines, wire.Page{Number: 1, Size: most})
	a.Cards, errs[4] = readAllFigures(v, found)
	a.Challenges, errs[5] = threeds.CountPending(v.Tx, v.Account.ID)
	return a, errors.Join(errs[:]...)
}

// gettingStarted is what makes a first card.
type gettingStarted struct {
	Address string `json:"-"`
	Key     string `json:"api_key"` // only in response to the press that asks for it
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
	const largest, newest, lastRuns = 8, 12, 5
	var errs [9]error
	o.Pending, errs[0] = wallet.PendingDeposits(v.Tx, v.Account.ID)
	o.Counts, errs[1] = card.CountByStatus(v.Tx, v.Account.ID)
	o.Time, errs[2] = v.timeline(nil)
	o.Runs, _, errs[3] = requestlog.Runs(v.Tx, v.Account.ID, wire.Page{Number: 1, Size: lastRuns})
	o.Attention, errs[4] = readAttention(v)
	o.Spending, errs[5] = transaction.LargestSpending(v.Tx, v.Account.ID, largest)
	o.Spent, errs[6] = transaction.Spent(v.Tx, v.Account.ID, 0)
	o.Limits, errs[7] = readLimits(v)
	o.Newest, _, errs[8] = activity.OfAccount(v.Tx, v.Account.ID, wire.Page{Number: 1, Size: newest})
	if o.Counts == (card.Counts{}) {
		o.Start = &gettingStarted{Address: v.Address}
		v.response("show-key", o.Start)
	}
	return o, errors.Join(errs[:]...)
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
