package card

import (
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Filter picks cards of an account; what is empty picks all.
type Filter struct {
	Text   string // in the label, or the last four digits, or the id
	Status Status
}

// Where is the condition, and its arguments, that a filter puts on the rows of
// cards c.
func (f Filter) Where(accountID int64) (where string, args []any) {
	where, args = `WHERE c.account_id = ?`, []any{accountID}
	if f.Status != "" {
		where, args = where+` AND c.status = ?`, append(args, f.Status)
	}
	if f.Text != "" {
		literal := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Text)
		where += ` AND (c.label LIKE ? ESCAPE '\' OR c.last4 = ? OR c.public_id = ?)`
		args = append(args, "%"+literal+"%", f.Text, f.Text)
	}
	return where, args
}

// Search returns a page of the cards that a filter picks, newest first, and how
// many there are.
func Search(tx *store.Tx, accountID int64, f Filter, page wire.Page) (found []*Card, total int64, err error) {
	where, args := f.Where(accountID)
	if _, err := tx.Get([]any{&total}, `SELECT COUNT(*) FROM cards c `+where, args...); err != nil {
		return nil, 0, err
	}
	found, err = store.Select(tx, scan, columns+`WHERE c.id IN (SELECT c.id FROM cards c `+where+
		` ORDER BY c.id DESC LIMIT ? OFFSET ?) ORDER BY c.id DESC`, append(args, page.Size, page.Offset())...)
	return found, total, err
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
