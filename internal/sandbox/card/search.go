package card

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Filter picks cards of an account; what is empty picks all.
type Filter struct {
	Text   string // in the label, or the last four digits, or the id
	Status Status
	BINID  string
	Until  time.Time // when it was issued at the latest
}

// Where is the condition that a filter puts on the rows of cards c.
func (f Filter) Where(accountID int64) store.Where {
	return store.NewWhere(`c.account_id = ?`, accountID).
		And(f.Status != "", `c.status = ?`, f.Status).
		And(f.BINID != "", `c.bin_id = ?`, f.BINID).
		And(!f.Until.IsZero(), `c.created_at <= ?`, f.Until.UnixMilli()).
		And(f.Text != "", `(c.label LIKE ? ESCAPE '\' OR c.last4 = ? OR c.public_id = ?)`, "%"+store.Literal(f.Text)+"%", f.Text, f.Text)
}

// Search returns a page of the cards that a filter picks, newest first, and how
// many there are.
func Search(tx *store.Tx, accountID int64, f Filter, page wire.Page) (found []*Card, total int64, err error) {
	if total, err = Count(tx, accountID, f); err != nil {
		return nil, 0, err
	}
	where := f.Where(accountID)
	// The ids first: rows that the offset skips are never read.
	found, err = store.Select(tx, scan, columns+`
		WHERE c.id IN (SELECT c.id FROM cards c `+where.SQL+` ORDER BY c.id DESC LIMIT ? OFFSET ?) ORDER BY c.id DESC`,
		append(where.Args, page.Size, page.Offset())...)
	return found, total, err
}

// Count returns how many cards a filter picks.
func Count(tx *store.Tx, accountID int64, f Filter) (int64, error) {
	where := f.Where(accountID)
	return store.Value[int64](tx, `SELECT COUNT(*) FROM cards c `+where.SQL, where.Args...)
}

// Counts are how many cards have each status.
type Counts struct{ Active, Frozen, Terminated int64 }

// CountByStatus counts the cards of an account.
func CountByStatus(tx *store.Tx, accountID int64) (n Counts, err error) {
	_, err = tx.Get([]any{&n.Active, &n.Frozen, &n.Terminated}, `
		SELECT COUNT(*) FILTER (WHERE status = ?2), COUNT(*) FILTER (WHERE status = ?3), COUNT(*) FILTER (WHERE status = ?4)
		FROM cards WHERE account_id = ?1`, accountID, Active, Frozen, Terminated)
	return n, err
}

// InNeed returns a few active cards of which less than a tenth is left: of what they were
// loaded with, or of the month's limit.
func InNeed(tx *store.Tx, accountID, most int64) ([]*Card, error) {
	return store.Select(tx, scan, columns+`LEFT JOIN card_spending s ON s.card_id = c.id AND s.month = strftime('%Y-%m', ? / 1000, 'unixepoch')
		WHERE c.account_id = ? AND c.status = ? AND (l.balance * 10 < c.loaded OR s.amount * 10 > c.spending_limit * 9) ORDER BY c.id DESC LIMIT ?`,
		tx.Now().UnixMilli(), accountID, Active, most)
}
