package card

import (
	"strings"
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
	// Sort is one of label, status, balance and spent; else the order is that of issue.
	Sort       string
	Descending bool
}

// Where is the condition that a filter puts on the rows of cards c.
func (f Filter) Where(accountID int64) store.Where {
	literal := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Text)
	return store.NewWhere(`c.account_id = ?`, accountID).
		And(f.Status != "", `c.status = ?`, f.Status).
		And(f.BINID != "", `c.bin_id = ?`, f.BINID).
		And(!f.Until.IsZero(), `c.created_at <= ?`, f.Until.UnixMilli()).
		And(f.Text != "", `(c.label LIKE ? ESCAPE '\' OR c.last4 = ? OR c.public_id = ?)`, "%"+literal+"%", f.Text, f.Text)
}

// Search returns a page of the cards that a filter picks, newest first, and how
// many there are.
func Search(tx *store.Tx, accountID int64, f Filter, page wire.Page) (found []*Card, total int64) {
	total = Count(tx, accountID, f)
	where := f.Where(accountID)
	join, order := f.order(tx)
	// The ids first, so that what is sorted is narrow, and rows that the offset skips
	// are never read.
	found = store.Select(tx, scan, columns+`
		JOIN (SELECT c.id, ROW_NUMBER() OVER () AS place FROM (SELECT c.id FROM cards c `+join+where.SQL+order+` LIMIT ? OFFSET ?) c) chosen ON chosen.id = c.id
		ORDER BY chosen.place`, append(where.Args, page.Size, page.Offset())...)
	return found, total
}

// Count returns how many cards a filter picks.
func Count(tx *store.Tx, accountID int64, f Filter) int64 {
	where := f.Where(accountID)
	return store.Value[int64](tx, `SELECT COUNT(*) FROM cards c `+where.SQL, where.Args...)
}

// order is what sorts the rows of cards c, and the join that it takes.
func (f Filter) order(tx *store.Tx) (join, order string) {
	direction := ""
	if f.Descending {
		direction = " DESC"
	}
	switch f.Sort {
	case "label":
		order = `c.label COLLATE NOCASE`
	case "status":
		order = `c.status`
	case "balance":
		join, order = `JOIN ledger_accounts l ON l.id = c.ledger_account_id `, `l.balance`
	case "spent":
		join = `LEFT JOIN card_spending s ON s.card_id = c.id AND s.month = '` + tx.Now().Format("2006-01") + `' `
		order = `COALESCE(s.amount, 0)`
	case "issued":
		return "", ` ORDER BY c.id` + direction
	default:
		return "", ` ORDER BY c.id DESC`
	}
	return join, ` ORDER BY ` + order + direction + `, c.id DESC`
}

// Counts are how many cards have each status.
type Counts struct{ Active, Frozen, Terminated int64 }

// CountByStatus counts the cards of an account.
func CountByStatus(tx *store.Tx, accountID int64) (n Counts) {
	tx.Get([]any{&n.Active, &n.Frozen, &n.Terminated}, `
		SELECT COUNT(*) FILTER (WHERE status = ?2), COUNT(*) FILTER (WHERE status = ?3), COUNT(*) FILTER (WHERE status = ?4)
		FROM cards WHERE account_id = ?1`, accountID, Active, Frozen, Terminated)
	return n
}
