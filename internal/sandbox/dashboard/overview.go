package dashboard

import (
	"cmp"
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

// overview is the data of the first page.
type overview struct {
	Wallet  usd.Amount
	OnCards usd.Amount // available on all cards
	Held    usd.Amount // by open authorizations
	Pending usd.Amount // deposits that are not confirmed yet
	card.Counts

	Start        *gettingStarted   // nil if the account has cards, even if all of them are terminated
	Runs         []*requestlog.Run // the newest runs that requested changes
	LastReadOnly *requestlog.Run   // the newest run that requested no change; nil if there is none
	Attention    *attention
	Timeline     timeline
	Spending     []*transaction.Spending // this month's largest, in descending order
	Spent        usd.Amount              // this month, by all cards
	Limits       []limitUse
	Newest       []*activity.Record
}

// gettingStarted is what a user needs to issue a first card.
type gettingStarted struct {
	Address string `json:"-"`       // of the API
	Key     string `json:"api_key"` // empty unless the user has just asked for it
}

// Environment returns the shell commands that point Terraform at the sandbox. Without the key, they contain "…" in
// its place.
func (s *gettingStarted) Environment() string {
	key := cmp.Or(s.Key, "…")
	return fmt.Sprintf("export VCARD_BASE_URL=%s\nexport VCARD_API_KEY=%s", s.Address, key)
}

// limitUse is a rate limit and the number of requests that count against it.
type limitUse struct {
	Name        string
	Used, Limit int64 // Limit is 0 if there is no limit
}

func readOverview(v *view) (any, error) {
	const (
		maxSpending = 8
		maxRecords  = 12
		maxRuns     = 5
	)
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
	noCards := card.Counts{}
	if o.Counts == noCards {
		o.Start = &gettingStarted{Address: v.Address}
		// The result, whether there is a response, is not needed: without one, the key stays empty.
		_ = v.decodeResponse("show-key", o.Start)
	}
	var allCards *card.Card
	o.Timeline, err = v.readTimeline(allCards)
	if err != nil {
		return nil, err
	}
	o.Runs, err = requestlog.ListChangingRuns(v.Tx, v.Account.ID, maxRuns)
	if err != nil {
		return nil, err
	}
	o.LastReadOnly, err = requestlog.LastReadOnlyRun(v.Tx, v.Account.ID)
	if err != nil {
		return nil, err
	}
	o.Attention, err = readAttention(v)
	if err != nil {
		return nil, err
	}
	o.Spending, err = transaction.LargestSpending(v.Tx, v.Account.ID, maxSpending)
	if err != nil {
		return nil, err
	}
	o.Spent, err = transaction.Spent(v.Tx, v.Account.ID, transaction.AllCards)
	if err != nil {
		return nil, err
	}
	o.Limits, err = readLimits(v)
	if err != nil {
		return nil, err
	}
	o.Newest, _, err = activity.ListForAccount(v.Tx, v.Account.ID, firstPage(maxRecords))
	if err != nil {
		return nil, err
	}
	return o, nil
}

// readLimits returns the rate limits, and how much of them the account's first API key has used.
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

// timeline has the sums of each day's purchases and, for a single card, the daily balances, as charts with one scale
// each.
type timeline struct {
	Days   []*timelineDay
	Dates  []string // the labels of the axis
	Plots  []*plot
	Spans  []span
	CardID string           // empty for all cards
	Sums   transaction.Sums // of all days; Count and Fees are not set
}

// timelineDay is a day of a timeline, with the sums of its purchases.
type timelineDay struct {
	transaction.Sums

	Date       string
	Balance    usd.Amount // of the card, at the end of the day
	HasBalance bool       // false in the timeline of all cards, and before the card's first known balance
}

// plot is a chart with stacked bars or a line. It is plotHeight units high. y is 0 at the top. A plot with a line has bars
// too, which the style sheet makes invisible.
type plot struct {
	Class   string // of the style sheet
	Title   string
	Max     string // the value at the top
	Half    string // the value in the middle, rounded down; empty if it is 0
	Width   int64
	Columns []column
	Line    string // the points of the line; empty for bars
}

// column is a day of a plot, with two bars that may have no height.
type column struct {
	X      int64 // the left edge
	Y1, H1 int64 // the top and the height of the lower bar
	Y2, H2 int64 // the top and the height of the bar above it
	Day    *timelineDay
}

// The height of a plot and the width of a day, in units of the plot. The template timeline contains the same numbers.
const (
	plotHeight  = 100
	columnWidth = 10
)

// span is a number of days that the user can choose for the timeline.
type span struct {
	Days   int64
	Query  string
	Chosen bool
}

// readTimeline reads 30 days, or 7 or 90 if the query asks for them. The last day is today. If the card is nil, the
// timeline covers all cards of the account.
func (v *view) readTimeline(c *card.Card) (timeline, error) {
	var t timeline
	spans := []int64{7, 30, 90}
	chosen := int64(30)
	number, err := strconv.ParseInt(v.Query.Get("days"), 10, 64)
	if err == nil && slices.Contains(spans, number) {
		chosen = number
	}
	for _, length := range spans {
		query := withValue(v.Query, "days", strconv.FormatInt(length, 10))
		t.Spans = append(t.Spans, span{Days: length, Query: query, Chosen: length == chosen})
	}
	today := store.Day(v.Tx.Now())
	first := today - chosen + 1
	cardID := int64(transaction.AllCards)
	var balances []*ledger.DailyBalance
	if c != nil {
		cardID = c.ID
		t.CardID = c.PublicID
		balances, err = ledger.DailyBalances(v.Tx, c.LedgerAccountID, first)
		if err != nil {
			return timeline{}, err
		}
	}
	days, err := transaction.Days(v.Tx, v.Account.ID, cardID, first)
	if err != nil {
		return timeline{}, err
	}
	t.addDays(first, chosen, days, balances)
	t.addPlot("money", "Settled and held, USD", formatCents, settledAndHeld)
	if t.Sums.Declines > 0 {
		t.addPlot("declines", "Declines", formatCount, declineCount)
	}
	if len(balances) > 0 {
		p := t.addPlot("balance", "Balance, USD", formatCents, dailyBalance)
		p.drawLine()
	}
	return t, nil
}

func formatCents(cents int64) string { return formatAmount(usd.Amount(cents)) }

func formatCount(n int64) string { return strconv.FormatInt(n, 10) }

// The following functions return two values of a day in a plot: one for the lower bar, and one for the bar above it.

func settledAndHeld(d *timelineDay) (int64, int64) { return int64(d.Settled), int64(d.Held) }

func declineCount(d *timelineDay) (int64, int64) { return d.Declines, 0 }

func dailyBalance(d *timelineDay) (int64, int64) { return int64(d.Balance), 0 }

// addDays adds the days from first to first+n-1, including days without purchases. Days are numbered as by
// store.Day. days and balances are in order of time, and may lack days. The loop cuts off the rows that it has used.
func (t *timeline) addDays(first, n int64, days []*transaction.Day, balances []*ledger.DailyBalance) {
	dayLength := (24 * time.Hour).Milliseconds()
	var lastBalance usd.Amount
	hasBalance := false
	for day := first; day < first+n; day++ {
		midnight := time.UnixMilli(day * dayLength).UTC()
		d := &timelineDay{Date: midnight.Format(time.DateOnly)}
		if len(days) > 0 && days[0].Day == day {
			d.Sums = days[0].Sums
			days = days[1:]
		}
		for len(balances) > 0 && balances[0].Day <= day {
			lastBalance = balances[0].Balance
			hasBalance = true
			balances = balances[1:]
		}
		d.Balance = lastBalance
		d.HasBalance = hasBalance
		t.Sums.Held += d.Held
		t.Sums.Settled += d.Settled
		t.Sums.Refunded += d.Refunded
		t.Sums.Declines += d.Declines
		t.Days = append(t.Days, d)
	}
	middle := (n - 1) / 2
	t.Dates = []string{t.Days[0].Date, t.Days[middle].Date, t.Days[n-1].Date}
}

// addPlot adds and returns a chart of two values per day, one above the other. The top of its scale is a round number.
func (t *timeline) addPlot(class, title string, format func(int64) string, values func(*timelineDay) (below, above int64)) *plot {
	highest := int64(1)
	for _, d := range t.Days {
		below, above := values(d)
		highest = max(highest, below+above)
	}
	scale := roundUp(highest)
	p := &plot{Class: class, Title: title, Max: format(scale), Width: int64(len(t.Days)) * columnWidth}
	if scale > 1 {
		p.Half = format(scale / 2)
	}
	for i, d := range t.Days {
		below, above := values(d)
		c := column{X: int64(i) * columnWidth, H1: barHeight(below, scale), H2: barHeight(above, scale), Day: d}
		c.Y1 = plotHeight - c.H1
		c.Y2 = c.Y1 - c.H2
		p.Columns = append(p.Columns, c)
	}
	t.Plots = append(t.Plots, p)
	return p
}

// barHeight returns the height of the bar for a value, in a plot with scale at its top. The bar for a value above
// zero is at least one unit high, so that it is visible. The value must not be negative.
func barHeight(value, scale int64) int64 {
	if value == 0 {
		return 0
	}
	return max(1, value*plotHeight/scale)
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
	text := fmt.Sprintf("%s: %s settled, %s refunded, %s held, %d declined",
		d.Date, formatAmount(d.Settled), formatAmount(d.Refunded), formatAmount(d.Held), d.Declines)
	if d.HasBalance {
		text += ", balance " + formatAmount(d.Balance)
	}
	return text
}
