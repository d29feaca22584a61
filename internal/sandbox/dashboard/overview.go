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
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

type overview struct {
	Wallet, OnCards, Held, Pending usd.Amount
	card.Counts

	Start     *gettingStarted   // instead of figures, while there is no card
	Runs      []*requestlog.Run // that asked for a change
	LastPlan  *requestlog.Run   // the newest run that only read; nil: there is none
	Attention *attention
	Time      timeline
	Spending  []*transaction.Spending // of this month, the largest first
	Spent     usd.Amount              // this month, with all cards
	Limits    []limitUse
	Newest    []*activity.Record
}

// gettingStarted is what a first card needs.
type gettingStarted struct {
	Address string `json:"-"`
	Key     string `json:"api_key"` // only in response to the button that asks for it
}

// limitUse is a limit of the account's key, and how much of it is used.
type limitUse struct {
	Name        string
	Used, Limit int64
}

func readOverview(v *view) (any, error) {
	const largest, newest, lastRuns = 8, 12, 5
	lines, err := ledger.Summary(v.Tx, v.Account.ID)
	if err != nil {
		return nil, err
	}
	balances := map[string]usd.Amount{}
	for _, line := range lines {
		balances[line.Name] = line.Balance
	}
	o := &overview{
		Wallet:  balances[string(ledger.Wallet)],
		Held:    balances[string(ledger.Holds)],
		OnCards: balances[string(ledger.Card)],
	}
	o.Pending, err = wallet.PendingDeposits(v.Tx, v.Account.ID)
	if err != nil {
		return nil, err
	}
	o.Counts, err = card.CountByStatus(v.Tx, v.Account.ID)
	if err != nil {
		return nil, err
	}
	if o.Counts == (card.Counts{}) {
		o.Start = &gettingStarted{Address: v.Address}
		v.response("show-key", o.Start)
	}
	o.Time, err = v.timeline(nil)
	if err != nil {
		return nil, err
	}
	o.Runs, err = requestlog.Changing(v.Tx, v.Account.ID, lastRuns)
	if err != nil {
		return nil, err
	}
	o.LastPlan, err = requestlog.LastReading(v.Tx, v.Account.ID)
	if err != nil {
		return nil, err
	}
	o.Attention, err = readAttention(v)
	if err != nil {
		return nil, err
	}
	o.Spending, err = transaction.LargestSpending(v.Tx, v.Account.ID, largest)
	if err != nil {
		return nil, err
	}
	o.Spent, err = transaction.Spent(v.Tx, v.Account.ID, 0)
	if err != nil {
		return nil, err
	}
	o.Limits, err = readLimits(v)
	if err != nil {
		return nil, err
	}
	o.Newest, _, err = activity.OfAccount(v.Tx, v.Account.ID, firstPage(newest))
	return o, err
}

func readLimits(v *view) ([]limitUse, error) {
	limits, err := behavior.ReadLimits(v.Tx)
	if err != nil {
		return nil, err
	}
	used := v.Server.Counters.Used(v.Account.CountedBy(), v.Tx.Now())
	return []limitUse{
		{"Requests, last minute", used.RequestsPerMinute, limits.RequestsPerMinute},
		{"Requests, last hour", used.RequestsPerHour, limits.RequestsPerHour},
		{"Cards issued, last minute", used.CreatesPerMinute, limits.CreatesPerMinute},
		{"Details read, last minute", used.DetailsPerMinute, limits.DetailsPerMinute},
	}, nil
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
