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

// timeline is what was settled on each day as bars, with lines for the declines and,
// of a card, for its balance, each of which has its own scale. Pixels are of a picture
// that is stretched to its place.
type timeline struct {
	Days              []timelineDay
	Declines, Balance string // the points of a line; empty: there is none
	Width             int64
	Settled           usd.Amount // on all days
	Declined          int64
	HasBalance        bool
	Spans             []span
}

const (
	barWidth       = 10
	timelineHeight = 100
)

type timelineDay struct {
	Date          string
	Settled       usd.Amount
	Declines      int64
	Balance       usd.Amount
	X, Y, Height  int64
	hasTheBalance bool
}

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
	first := store.Day(v.Tx.Now()) - n + 1
	cardID := int64(0)
	var balances []ledger.DailyBalance
	if c != nil {
		cardID = c.ID
		if balances, err = ledger.DailyBalances(v.Tx, c.LedgerAccountID, first); err != nil {
			return t, err
		}
	}
	days, err := transaction.Days(v.Tx, v.Account.ID, cardID, first)
	t.draw(first, n, days, balances)
	return t, err
}

// draw places the days from a first one on.
func (t *timeline) draw(first, n int64, days []transaction.Day, balances []ledger.DailyBalance) {
	t.Width, t.HasBalance = n*barWidth, len(balances) > 0
	var most timelineDay
	for day := first; day < first+n; day++ {
		d := timelineDay{Date: time.UnixMilli(day * (24 * time.Hour).Milliseconds()).UTC().Format(time.DateOnly), X: (day-first)*barWidth + 1}
		if i := slices.IndexFunc(days, func(of transaction.Day) bool { return of.Day == day }); i >= 0 {
			d.Settled, d.Declines = days[i].Settled, days[i].Declines
		}
		for _, b := range balances {
			if b.Day <= day {
				d.Balance, d.hasTheBalance = b.Balance, true
			}
		}
		t.Settled, t.Declined = t.Settled+d.Settled, t.Declined+d.Declines
		most.Settled, most.Declines, most.Balance = max(most.Settled, d.Settled), max(most.Declines, d.Declines), max(most.Balance, d.Balance)
		t.Days = append(t.Days, d)
	}
	var declines, balance []string
	for i := range t.Days {
		d := &t.Days[i]
		middle := d.X - 1 + barWidth/2
		d.Height = scaled(int64(d.Settled), int64(most.Settled))
		d.Y = timelineHeight - d.Height
		declines = append(declines, fmt.Sprintf("%d,%d", middle, timelineHeight-scaled(d.Declines, most.Declines)))
		if d.hasTheBalance {
			balance = append(balance, fmt.Sprintf("%d,%d", middle, timelineHeight-scaled(int64(d.Balance), int64(most.Balance))))
		}
	}
	if t.Declined > 0 {
		t.Declines = strings.Join(declines, " ")
	}
	t.Balance = strings.Join(balance, " ")
}

// scaled is a part of the largest value in pixels of the height, seen as soon as there
// is any of it.
func scaled(value, largest int64) int64 {
	if value <= 0 {
		return 0
	}
	return max(2, value*(timelineHeight-4)/largest)
}

// Busy are the days on which anything has happened, the newest first.
func (t *timeline) Busy() (days []timelineDay) {
	for _, d := range t.Days {
		if d.Settled > 0 || d.Declines > 0 {
			days = append(days, d)
		}
	}
	slices.Reverse(days)
	return days
}
