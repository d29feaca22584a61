package dashboard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// timeline is what the purchases of each day came to, as charts of one scale each.
type timeline struct {
	Days   []timelineDay
	Plots  []plot
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

// plot is a chart: bars that stand on each other, or a line. Its picture is 100 units
// high and stretched to its place.
type plot struct {
	Title, Unit, Class string
	Max, Half          string // the scale
	Width              int64
	Columns            []column
	Line               string  // its points
	Points             []point // the one of a line that has no other
}

// Stacked tells whether bars may stand on each other.
func (p *plot) Stacked() bool { return p.Class == "money" }

// column is a day of a plot.
type column struct {
	X, Y1, H1, Y2, H2 int64 // of the bar at the bottom, and of the one upon it
	Day               *timelineDay
}

type point struct{ X, Y int64 }

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
	var balances []ledger.DailyBalance
	if c != nil {
		cardID, t.CardID = c.ID, c.PublicID
		if balances, err = ledger.DailyBalances(v.Tx, c.LedgerAccountID, first); err != nil {
			return t, err
		}
	}
	days, err := transaction.Days(v.Tx, v.Account.ID, cardID, first)
	t.fill(first, n, days, balances)
	money := func(n int64) string { return grouped(usd.Amount(n).String()) }
	t.plot("money", "Settled and held", "USD", money, func(d *timelineDay) (int64, int64) { return int64(d.Settled), int64(d.Held) })
	if t.Sums.Declines > 0 {
		t.plot("declines", "Declines", "", func(n int64) string { return grouped(fmt.Sprint(n)) }, func(d *timelineDay) (int64, int64) { return d.Declines, 0 })
	}
	if len(balances) > 0 {
		t.plot("balance", "Balance", "USD", money, func(d *timelineDay) (int64, int64) { return int64(d.Balance), 0 })
		t.Plots[len(t.Plots)-1].line()
	}
	return t, err
}

// fill has a day for each of n from a first one on, whether or not anything happened.
func (t *timeline) fill(first, n int64, days []transaction.Day, balances []ledger.DailyBalance) {
	for day := first; day < first+n; day++ {
		d := timelineDay{Date: time.UnixMilli(day * (24 * time.Hour).Milliseconds()).UTC().Format(time.DateOnly)}
		if i := slices.IndexFunc(days, func(of transaction.Day) bool { return of.Day == day }); i >= 0 {
			d.Day = days[i]
		}
		for _, b := range balances {
			if b.Day <= day {
				d.Balance, d.HasBalance = b.Balance, true
			}
		}
		t.Sums.Held, t.Sums.Settled, t.Sums.Refunded = t.Sums.Held+d.Held, t.Sums.Settled+d.Settled, t.Sums.Refunded+d.Refunded
		t.Sums.Declines += d.Declines
		t.Days = append(t.Days, d)
	}
}

// plot draws two values of each day, one upon the other, below the next round number.
func (t *timeline) plot(class, title, unit string, write func(int64) string, values func(*timelineDay) (below, above int64)) {
	most := int64(1)
	for i := range t.Days {
		below, above := values(&t.Days[i])
		most = max(most, below+above)
	}
	scale := int64(1)
	for i := 0; scale < most; i++ {
		scale = []int64{2, 5, 10}[i%3] * pow10(i/3)
	}
	p := plot{Class: class, Title: title, Unit: unit, Max: write(scale), Half: write(scale / 2), Width: int64(len(t.Days)) * columnWidth}
	if scale%2 != 0 {
		p.Half = ""
	}
	height := func(value int64) int64 {
		if value <= 0 {
			return 0
		}
		return max(1, value*100/scale) // seen as soon as there is any
	}
	for i := range t.Days {
		below, above := values(&t.Days[i])
		c := column{X: int64(i) * columnWidth, H1: height(below), H2: height(above), Day: &t.Days[i]}
		c.Y1 = 100 - c.H1
		c.Y2 = max(0, c.Y1-c.H2)
		p.Columns = append(p.Columns, c)
	}
	t.Plots = append(t.Plots, p)
}

func pow10(n int) int64 {
	if n == 0 {
		return 1
	}
	return 10 * pow10(n-1)
}

// line has a plot drawn as one, from the first day that has a balance on.
func (p *plot) line() {
	var points []string
	for _, c := range p.Columns {
		if c.Day.HasBalance {
			at := point{c.X + columnWidth/2, c.Y1}
			points, p.Points = append(points, fmt.Sprintf("%d,%d", at.X, at.Y)), append(p.Points, at)
		}
	}
	p.Line = strings.Join(points, " ")
	if len(p.Points) > 1 {
		p.Points = nil
	}
}

// Reads says in words what a day came to.
func (d *timelineDay) Reads() string {
	text := fmt.Sprintf("%s: %s settled, %s held", d.Date, grouped(d.Settled.String()), grouped(d.Held.String()))
	if d.Refunded > 0 {
		text += fmt.Sprintf(", %s refunded", grouped(d.Refunded.String()))
	}
	for _, declines := range counted(d.Declines, "decline", "declines") {
		text += ", " + declines
	}
	if d.HasBalance {
		text += fmt.Sprintf(", balance %s", grouped(d.Balance.String()))
	}
	return text
}

// MiddleDay and LastDay are places of days that the axis names.
func (t *timeline) MiddleDay() int { return (len(t.Days) - 1) / 2 }

// LastDay is today's.
func (t *timeline) LastDay() int { return len(t.Days) - 1 }

// Busy are the days on which anything was bought or declined, the newest first.
func (t *timeline) Busy() (days []*timelineDay) {
	for i := range t.Days {
		if d := &t.Days[i]; d.Held+d.Settled+d.Refunded > 0 || d.Declines > 0 {
			days = append(days, d)
		}
	}
	slices.Reverse(days)
	return days
}
