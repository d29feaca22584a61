package transaction

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Filter picks transactions of an account; what is empty picks all.
type Filter struct {
	ID       string
	CardID   string
	CardText string // as in card.Filter
	Type     Type
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
	case f.CardText != "":
		// The plus has the account's transactions read in their order: those of many
		// cards would have to be sorted.
		cards := card.Filter{Text: f.CardText}.Where(accountID)
		where = where.And(true, `+card_id IN (SELECT c.id FROM cards c `+cards.SQL+`)`, cards.Args...)
	}
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

// Sum is what the transactions of a type come to.
type Sum struct {
	Type   Type
	Count  int64
	Amount usd.Amount
	Fee    usd.Amount
}

// Sums returns the sum of each type that a filter of cards and whole days picks any of.
func Sums(tx *store.Tx, accountID int64, f Filter) ([]Sum, error) {
	cards := card.Filter{Text: f.CardText}.Where(accountID)
	where := store.NewWhere(`account_id = ?`, accountID).
		And(f.CardText == "", `card_id = 0`).
		And(f.CardText != "", `card_id IN (SELECT c.id FROM cards c `+cards.SQL+`)`, cards.Args...).
		And(!f.From.IsZero(), `day >= ?`, store.Day(f.From)).
		And(!f.To.IsZero(), `day <= ?`, store.Day(f.To))
	return store.Select(tx, func(row store.Row) (s Sum, err error) { return s, row.Scan(&s.Type, &s.Count, &s.Amount, &s.Fee) },
		`SELECT type, SUM(count), SUM(amount), SUM(fee) FROM daily_sums `+where.SQL+` GROUP BY type`, where.Args...)
}

// Count returns how many transactions a filter picks.
func Count(tx *store.Tx, accountID int64, f Filter) (int64, error) {
	where := f.Where(accountID)
	return store.Value[int64](tx, `SELECT COUNT(*) FROM transactions `+where.SQL, where.Args...)
}

// Day is what the transactions of a UTC day come to.
type Day struct {
	Day      int64
	Settled  usd.Amount
	Declines int64
}

// Days returns the days from one on that have any settlement or decline, of one card
// or, with 0, of all, the oldest first.
func Days(tx *store.Tx, accountID, cardID, from int64) ([]Day, error) {
	return store.Select(tx, func(row store.Row) (d Day, err error) { return d, row.Scan(&d.Day, &d.Settled, &d.Declines) }, `
		SELECT day, COALESCE(SUM(amount) FILTER (WHERE type = 'settlement'), 0), COALESCE(SUM(count) FILTER (WHERE type = 'decline'), 0)
		FROM daily_sums WHERE account_id = ? AND card_id = ? AND day >= ? AND type IN ('settlement', 'decline') GROUP BY day ORDER BY day`,
		accountID, cardID, from)
}
