package transaction

import (
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Filter picks transactions of an account; what is empty picks all.
type Filter struct {
	ID     string
	CardID string
	Text   string // as in card.Filter, or in the merchant's name, or the reason of a decline
	Type   Type
	// Purchases leaves settlements and refunds to the purchase that they belong to;
	// State picks those of one.
	Purchases bool
	State     State
	From, To  time.Time // both inclusive
}

// Where is the condition that a filter puts on transactions.
func (f Filter) Where(accountID int64) store.Where {
	where := store.NewWhere(`account_id = ?`, accountID)
	switch {
	case f.ID != "":
		where = where.And(true, `public_id = ?`, f.ID)
	case f.CardID != "": // a foreign or unknown one has no row, so that nothing passes
		where = store.NewWhere(`card_id = (SELECT id FROM cards WHERE public_id = ? AND account_id = ?)`, f.CardID, accountID)
	}
	// The plus has the account's transactions read in their order: those of many
	// cards would have to be sorted.
	cards := card.Filter{Text: f.Text}.Where(accountID)
	text := `%` + store.Literal(f.Text) + `%`
	reason := `%` + store.Literal(strings.ReplaceAll(f.Text, " ", "_")) + `%`
	where = where.And(f.Text != "", `(+card_id IN (SELECT c.id FROM cards c `+cards.SQL+`) OR merchant_name LIKE ? ESCAPE '\'
		OR decline_reason LIKE ? ESCAPE '\')`, append(cards.Args, text, reason)...)
	return where.And(f.Type != "", `type = ?`, f.Type).
		And(f.Purchases, `state IS NOT NULL`).
		And(f.State != "", `state = ?`, f.State).
		And(!f.From.IsZero(), `created_at >= ?`, ceilMilli(f.From).UnixMilli()).
		And(!f.To.IsZero(), `created_at <= ?`, f.To.UnixMilli())
}

// ceilMilli rounds up to the precision of stored times.
func ceilMilli(t time.Time) time.Time {
	if whole := t.Truncate(time.Millisecond); whole.Before(t) {
		return whole.Add(time.Millisecond)
	}
	return t
}

// Sums are what some purchases come to.
type Sums struct {
	Count, Declines         int64
	Held, Settled, Refunded usd.Amount
	Fees                    usd.Amount
}

// Net is what was spent.
func (s Sums) Net() usd.Amount { return s.Settled - s.Refunded }

// Sum adds up what a filter of purchases picks, of whole days.
func Sum(tx *store.Tx, accountID int64, f Filter) (s Sums, err error) {
	where, from := f.Where(accountID), `SELECT COUNT(*), COUNT(*) FILTER (WHERE state = 'declined'), SUM(amount) FILTER (WHERE state = 'authorized'),
		SUM(settled), SUM(refunded), SUM(fees) FROM transactions `
	if f.Text == "" && f.State == "" { // which takes long to add up one by one
		from = `SELECT SUM(purchases), SUM(declines), SUM(held), SUM(settled), SUM(refunded), SUM(fees) FROM daily_sums `
		where = store.NewWhere(`account_id = ? AND card_id = 0`, accountID).
			And(!f.From.IsZero(), `day >= ?`, store.Day(f.From)).And(!f.To.IsZero(), `day <= ?`, store.Day(f.To))
	}
	_, err = tx.Get([]any{&s.Count, &s.Declines, &s.Held, &s.Settled, &s.Refunded, &s.Fees},
		`SELECT COALESCE(a, 0), COALESCE(b, 0), COALESCE(c, 0), COALESCE(d, 0), COALESCE(e, 0), COALESCE(f, 0) FROM (`+
			`WITH sums (a, b, c, d, e, f) AS (`+from+where.SQL+`) SELECT * FROM sums)`, where.Args...)
	return s, err
}

// Day is what the purchases of a UTC day come to.
type Day struct {
	Day int64
	Sums
}

// Days returns the days from one on that have any purchase, of one card or, with 0, of
// all, the oldest first.
func Days(tx *store.Tx, accountID, cardID, from int64) ([]*Day, error) {
	return store.Select(tx, func(row store.Row) (*Day, error) {
		d := new(Day)
		return d, row.Scan(&d.Day, &d.Count, &d.Declines, &d.Held, &d.Settled, &d.Refunded, &d.Fees)
	}, `SELECT day, purchases, declines, held, settled, refunded, fees FROM daily_sums WHERE account_id = ? AND card_id = ? AND day >= ? ORDER BY day`,
		accountID, cardID, from)
}
