package dashboard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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
	var failing, sums, declined, cards, pending error
	found, err := card.InNeed(v.Tx, v.Account.ID, 2*most)
	a.Failing, failing = webhook.Failing(v.Tx, v.Account.ID, most)
	a.Declines, sums = transaction.Sum(v.Tx, v.Account.ID, declines)
	a.Declined, declined = activity.OfPurchases(v.Tx, v.Account.ID, declines, firstPage(most))
	a.Cards, cards = readAllFigures(v, found)
	a.Challenges, pending = threeds.CountPending(v.Tx, v.Account.ID)
	return a, errors.Join(err, failing, sums, declined, cards, pending)
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
	var pending, counts, days, runs, attention, spending, spent, limits, all error
	o.Pending, pending = wallet.PendingDeposits(v.Tx, v.Account.ID)
	o.Counts, counts = card.CountByStatus(v.Tx, v.Account.ID)
	o.Time, days = v.timeline(nil)
	o.Runs, _, runs = requestlog.Runs(v.Tx, v.Account.ID, firstPage(lastRuns))
	o.Attention, attention = readAttention(v)
	o.Spending, spending = transaction.LargestSpending(v.Tx, v.Account.ID, largest)
	o.Spent, spent = transaction.Spent(v.Tx, v.Account.ID, 0)
	o.Limits, limits = readLimits(v)
	o.Newest, _, all = activity.OfAccount(v.Tx, v.Account.ID, firstPage(newest))
	if o.Counts == (card.Counts{}) {
		o.Start = &gettingStarted{Address: v.Address}
		v.response("show-key", o.Start)
	}
	return o, errors.Join(pending, counts, days, runs, attention, spending, spent, limits, all)
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

// timeline is what the purchases of each day came to, as charts of one scale each.
type timeline struct {
	Days   []*timelineDay
	Dates  []string // of the axis
	Plots  []*plot
	Spans  []span
	CardID string           // empty: of all cards
	Sums   transaction.Sums // of all days
}

type timelineDay struct {
	transaction.Day

	Date       string
	Balance    usd.Amount // of a card, in the end
	HasBalance bool
}

// plot is a chart of bars that stand on each other, or a line, 100 units high.
type plot struct {
	Class, Title, Max, Half string
	Width                   int64
	Columns                 []column
	Line                    string // its points
}

// column is a day of a plot.
type column struct {
	X, Y1, H1, Y2, H2 int64 // of the bar at the bottom, and of the one upon it
	Day               *timelineDay
}

const columnWidth = 10

// span is a number of days that can be chosen.
type span struct {
	Days  int64
	Query string
	Is    bool
}

// timeline reads the days that the query asks for, of a card or, with nil, of the account.
func (v *view) timeline(c *card.Card) (t timeline, err error) {
	spans := []int64{7, 30, 90}
	n, _ := strconv.ParseInt(v.Query.Get("days"), 10, 64)
	if !slices.Contains(spans, n) {
		n = 30
	}
	for _, days := range spans {
		t.Spans = append(t.Spans, span{days, with(v.Query, "days", strconv.FormatInt(days, 10)), days == n})
	}
	first, cardID := store.Day(v.Tx.Now())-n+1, int64(0)
	var balances []*ledger.DailyBalance
	if c != nil {
		cardID, t.CardID = c.ID, c.PublicID
		balances, err = ledger.DailyBalances(v.Tx, c.LedgerAccountID, first)
	}
	days, failed := transaction.Days(v.Tx, v.Account.ID, cardID, first)
	t.fill(first, n, days, balances)
	money := func(n int64) string { return grouped(usd.Amount(n).String()) }
	t.plot("money", "Settled and held, USD", money, func(d *timelineDay) (int64, int64) { return int64(d.Settled), int64(d.Held) })
	if t.Sums.Declines > 0 {
		t.plot("declines", "Declines", func(n int64) string { return fmt.Sprint(n) }, func(d *timelineDay) (int64, int64) { return d.Declines, 0 })
	}
	if len(balances) > 0 {
		t.plot("balance", "Balance, USD", money, func(d *timelineDay) (int64, int64) { return int64(d.Balance), 0 }).line()
	}
	return t, errors.Join(err, failed)
}

// fill has a day for each of n from a first one on, whether or not anything happened.
func (t *timeline) fill(first, n int64, days []*transaction.Day, balances []*ledger.DailyBalance) {
	for day := first; day < first+n; day++ {
		d := &timelineDay{Date: time.UnixMilli(day * (24 * time.Hour).Milliseconds()).UTC().Format(time.DateOnly)}
		if len(days) > 0 && days[0].Day == day {
			d.Day, days = *days[0], days[1:]
		}
		for len(balances) > 0 && balances[0].Day <= day {
			d.Balance, d.HasBalance, balances = balances[0].Balance, true, balances[1:]
		}
		if i := len(t.Days); i > 0 && !d.HasBalance {
			d.Balance, d.HasBalance = t.Days[i-1].Balance, t.Days[i-1].HasBalance
		}
		t.Sums.Held, t.Sums.Settled, t.Sums.Refunded = t.Sums.Held+d.Held, t.Sums.Settled+d.Settled, t.Sums.Refunded+d.Refunded
		t.Sums.Declines += d.Declines
		t.Days = append(t.Days, d)
	}
	t.Dates = []string{t.Days[0].Date, t.Days[(n-1)/2].Date, t.Days[n-1].Date}
}

// plot draws two values of each day, one upon the other, below the next round number.
func (t *timeline) plot(class, title string, write func(int64) string, values func(*timelineDay) (below, above int64)) *plot {
	most, scale := int64(1), int64(1)
	for _, d := range t.Days {
		below, above := values(d)
		most = max(most, below+above)
	}
	for i := 0; scale < most; i++ {
		scale = scale * []int64{4, 5, 4}[i%3] / 2 // 2, 5, 10, 20 …
	}
	p := &plot{Class: class, Title: title, Max: write(scale), Width: int64(len(t.Days)) * columnWidth}
	if scale > 1 {
		p.Half = write(scale / 2)
	}
	height := func(value int64) int64 { return max(min(value, 1), value*100/scale) } // seen as soon as there is any
	for i, d := range t.Days {
		below, above := values(d)
		c := column{X: int64(i) * columnWidth, H1: height(below), H2: height(above), Day: d}
		c.Y1 = 100 - c.H1
		c.Y2 = max(0, c.Y1-c.H2)
		p.Columns = append(p.Columns, c)
	}
	t.Plots = append(t.Plots, p)
	return p
}

// line has the plot drawn as one, or as a point, from the first day that has a balance on.
func (p *plot) line() {
	var points []string
	for _, c := range p.Columns {
		if c.Day.HasBalance {
			points = append(points, fmt.Sprintf("%d,%d", c.X+columnWidth/2, c.Y1))
		}
	}
	if len(points) == 1 {
		points = append(points, points[0])
	}
	p.Line = strings.Join(points, " ")
}

// Reads says in words what a day came to.
func (d *timelineDay) Reads() string {
	text := fmt.Sprintf("%s: %s settled, %s refunded, %s held, %d declined", d.Date, grouped(d.Settled.String()), grouped(d.Refunded.String()), grouped(d.Held.String()), d.Declines)
	if d.HasBalance {
		text += ", balance " + grouped(d.Balance.String())
	}
	return text
}
