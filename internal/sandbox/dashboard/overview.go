package dashboard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/display"
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

	Start     *gettingStarted   // shown instead of figures while the account has no cards
	Runs      []*requestlog.Run // the newest runs with changes
	LastPlan  *requestlog.Run   // the newest run without changes; nil if there is none
	Attention *attention
	Time      timeline
	Spending  []*transaction.Spending // of this month, the largest first
	Spent     usd.Amount              // this month, by all cards
	Limits    []limitUse
	Newest    []*activity.Record
}

// gettingStarted is what a user needs to issue a first card.
type gettingStarted struct {
	Address string `json:"-"`
	Key     string `json:"api_key"` // only in the response to the button
}

// limitUse is a rate limit and the number of requests that count against it.
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
		v.decodeResponse("show-key", o.Start)
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
	used := v.Server.Counters.Used(v.Account.CounterID(), v.Tx.Now())
	return []limitUse{
		{"Requests, last minute", used.RequestsPerMinute, limits.RequestsPerMinute},
		{"Requests, last hour", used.RequestsPerHour, limits.RequestsPerHour},
		{"Cards issued, last minute", used.CreatesPerMinute, limits.CreatesPerMinute},
		{"Details read, last minute", used.DetailsPerMinute, limits.DetailsPerMinute},
	}, nil
}

// timeline has the sums of each day's purchases, as charts with one scale each.
type timeline struct {
	Days   []*timelineDay
	Dates  []string // at the axis
	Plots  []*plot
	Spans  []span
	CardID string           // empty for all cards
	Sums   transaction.Sums // of all days
}

type timelineDay struct {
	transaction.Day

	Date       string
	Balance    usd.Amount // of the card, at the end of the day
	HasBalance bool
}

// plot is a chart with stacked bars or a line. It is 100 units high.
type plot struct {
	Class, Title, Max, Half string
	Width                   int64
	Columns                 []column
	Line                    string // the points of the line; empty for bars
}

// column is a day of a plot.
type column struct {
	X      int64
	Y1, H1 int64 // of the bottom bar
	Y2, H2 int64 // of the bar on top of it
	Day    *timelineDay
}

const columnWidth = 10

// span is a number of days that can be chosen.
type span struct {
	Days   int64
	Query  string
	Chosen bool
}

// timeline reads the days that the query asks for, 30 by default. If the card is nil, the timeline
// covers all cards of the account.
func (v *view) timeline(c *card.Card) (timeline, error) {
	var t timeline
	spans := []int64{7, 30, 90}
	n, _ := strconv.ParseInt(v.Query.Get("days"), 10, 64) // 0 if there is no valid number
	if !slices.Contains(spans, n) {
		n = 30
	}
	for _, days := range spans {
		query := withValue(v.Query, "days", strconv.FormatInt(days, 10))
		t.Spans = append(t.Spans, span{Days: days, Query: query, Chosen: days == n})
	}
	first := store.Day(v.Tx.Now()) - n + 1
	cardID := int64(0)
	var balances []*ledger.DailyBalance
	if c != nil {
		cardID = c.ID
		t.CardID = c.PublicID
		var err error
		balances, err = ledger.DailyBalances(v.Tx, c.LedgerAccountID, first)
		if err != nil {
			return t, err
		}
	}
	days, err := transaction.Days(v.Tx, v.Account.ID, cardID, first)
	if err != nil {
		return t, err
	}
	t.fill(first, n, days, balances)
	t.plot("money", "Settled and held, USD", inUSD, func(d *timelineDay) (int64, int64) { return int64(d.Settled), int64(d.Held) })
	if t.Sums.Declines > 0 {
		count := func(n int64) string { return strconv.FormatInt(n, 10) }
		t.plot("declines", "Declines", count, func(d *timelineDay) (int64, int64) { return d.Declines, 0 })
	}
	if len(balances) > 0 {
		p := t.plot("balance", "Balance, USD", inUSD, func(d *timelineDay) (int64, int64) { return int64(d.Balance), 0 })
		p.drawLine()
	}
	return t, nil
}

func inUSD(cents int64) string { return display.Thousands(usd.Amount(cents).String()) }

// fill adds n days, starting with the first one, and including days without purchases. days and balances
// are in order of time and have no rows for days without changes.
func (t *timeline) fill(first, n int64, days []*transaction.Day, balances []*ledger.DailyBalance) {
	var balance usd.Amount
	hasBalance := false
	for day := first; day < first+n; day++ {
		d := &timelineDay{Date: time.UnixMilli(day * (24 * time.Hour).Milliseconds()).UTC().Format(time.DateOnly)}
		if len(days) > 0 && days[0].Day == day {
			d.Day = *days[0]
			days = days[1:]
		}
		for len(balances) > 0 && balances[0].Day <= day {
			balance = balances[0].Balance
			hasBalance = true
			balances = balances[1:]
		}
		d.Balance = balance
		d.HasBalance = hasBalance
		t.Sums.Held += d.Held
		t.Sums.Settled += d.Settled
		t.Sums.Refunded += d.Refunded
		t.Sums.Declines += d.Declines
		t.Days = append(t.Days, d)
	}
	t.Dates = []string{t.Days[0].Date, t.Days[(n-1)/2].Date, t.Days[n-1].Date}
}

// plot adds a chart of two values per day, one on top of the other. Its scale ends at a round number.
func (t *timeline) plot(class, title string, format func(int64) string, values func(*timelineDay) (below, above int64)) *plot {
	most := int64(1)
	for _, d := range t.Days {
		below, above := values(d)
		most = max(most, below+above)
	}
	scale := roundUp(most)
	p := &plot{Class: class, Title: title, Max: format(scale), Width: int64(len(t.Days)) * columnWidth}
	if scale > 1 {
		p.Half = format(scale / 2)
	}
	// Every value above zero is at least one unit high, so that it is visible.
	height := func(value int64) int64 { return max(min(value, 1), value*100/scale) }
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

// roundUp returns the smallest of 1, 2, 5, 10, 20, 50, … that is not less than a value.
func roundUp(value int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, digit := range []int64{1, 2, 5} {
			if digit*power >= value {
				return digit * power
			}
		}
	}
}

// drawLine draws the plot as a line that starts at the first day with a balance.
func (p *plot) drawLine() {
	var points []string
	for _, c := range p.Columns {
		if c.Day.HasBalance {
			points = append(points, fmt.Sprintf("%d,%d", c.X+columnWidth/2, c.Y1))
		}
	}
	if len(points) == 1 {
		points = append(points, points[0]) // a line of length zero shows as a point
	}
	p.Line = strings.Join(points, " ")
}

// Text describes a day in words.
func (d *timelineDay) Text() string {
	text := fmt.Sprintf("%s: %s settled, %s refunded, %s held, %d declined", d.Date,
		display.Thousands(d.Settled.String()), display.Thousands(d.Refunded.String()), display.Thousands(d.Held.String()), d.Declines)
	if d.HasBalance {
		text += ", balance " + display.Thousands(d.Balance.String())
	}
	return text
}
