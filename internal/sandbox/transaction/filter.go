package transaction

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Filter picks transactions of an account; what is empty picks all.
type Filter struct {
	CardID   string
	CardText string // as in card.Filter
	Type     Type
	From, To time.Time // both inclusive
	// Sort is amount; else the order is that of time.
	Sort       string
	Descending bool
}

// Order is what sorts transactions.
func (f Filter) Order() string {
	column := `id`
	if f.Sort == "amount" {
		column = `amount`
	}
	if f.Sort != "" && !f.Descending {
		return ` ORDER BY ` + column + `, id DESC`
	}
	return ` ORDER BY ` + column + ` DESC, id DESC`
}

// Where is the condition, and its arguments, that a filter puts on transactions.
func (f Filter) Where(accountID int64) (where string, args []any) {
	switch {
	case f.CardID != "": // a foreign or unknown one has no row, so that nothing passes
		where, args = `WHERE card_id = (SELECT id FROM cards WHERE public_id = ? AND account_id = ?)`, []any{f.CardID, accountID}
	case f.CardText != "":
		where, args = card.Filter{Text: f.CardText}.Where(accountID)
		// The plus has the account's transactions read in their order: those of many
		// cards would have to be sorted.
		where, args = `WHERE account_id = ? AND +card_id IN (SELECT c.id FROM cards c `+where+`)`, append([]any{accountID}, args...)
	default:
		where, args = `WHERE account_id = ?`, []any{accountID}
	}
	if f.Type != "" {
		where, args = where+` AND type = ?`, append(args, f.Type)
	}
	if !f.From.IsZero() {
		where, args = where+` AND created_at >= ?`, append(args, ceilMilli(f.From).UnixMilli())
	}
	if !f.To.IsZero() {
		where, args = where+` AND created_at <= ?`, append(args, f.To.UnixMilli())
	}
	return where, args
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

// Sums returns the sum of each type that a filter picks any of.
func Sums(tx *store.Tx, accountID int64, f Filter) ([]*Sum, error) {
	where, args := f.Where(accountID)
	return store.Select(tx, func(row store.Row) (*Sum, error) {
		s := new(Sum)
		return s, row.Scan(&s.Type, &s.Count, &s.Amount, &s.Fee)
	}, `SELECT type, COUNT(*), SUM(amount), SUM(fee) FROM transactions `+where+` GROUP BY type`, args...)
}
