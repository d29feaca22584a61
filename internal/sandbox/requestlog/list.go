package requestlog

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// columns selects the fields of an Entry.
const columns = `
	SELECT r.id, r.account_id, r.run_id, r.method, r.path, r.query, r.status, r.error, r.message, u.name AS run, r.idempotency_key, r.replayed,
	       r.card_id, COALESCE(c.label, '') AS label, COALESCE(c.last4, '') AS last4, r.fault, r.lost, r.duration_us * 1000 AS duration, r.time,
	       r.wallet, r.fee, r.balance_before AS before_balance, r.status_before AS before_status, r.balance_after AS after_balance,
	       r.status_after AS after_status, COALESCE(r.entry_id, 0) AS entry_id, COALESCE(r.status_change, 0) AS status_change
	FROM request_log r JOIN runs u ON u.id = r.run_id LEFT JOIN cards c ON c.public_id = r.card_id AND c.account_id = r.account_id `

// List returns a page of the calls of an account, the oldest first, and how many there are.
func List(tx *store.Tx, accountID int64, page wire.Page) ([]*Entry, int64, error) {
	entries, err := store.List[Entry](tx, columns+`WHERE r.account_id = ? ORDER BY r.id LIMIT ? OFFSET ?`, accountID, page.Size, page.Offset())
	total, failed := store.Value[int64](tx, `SELECT COUNT(*) FROM request_log WHERE account_id = ?`, accountID)
	return entries, total, errors.Join(err, failed)
}

// Filter picks calls of an account; what is empty picks all.
type Filter struct {
	Run     string // its name, or the id of one without
	RunID   int64
	CardID  string
	Method  string
	Outcome string // succeeded, refused, failed, lost, or fault
}

// Newest returns a page of the calls that a filter picks, newest first.
func Newest(tx *store.Tx, accountID int64, f Filter, page wire.Page) ([]*Entry, bool, error) {
	outcome, wanted := map[string]string{
		"succeeded": `r.status BETWEEN 200 AND 299`, "refused": `r.status BETWEEN 400 AND 499`, "failed": `(r.status = 0 OR r.status >= 500)`,
		"lost": `r.lost`, "fault": `r.fault <> ''`,
	}[f.Outcome]
	where := store.NewWhere(`r.account_id = ?`, accountID)
	if f.RunID != 0 {
		where = store.NewWhere(`r.run_id = ?`, f.RunID)
	}
	const named = `r.run_id IN (SELECT id FROM runs WHERE account_id = ? AND (name = ? OR name = '' AND id = ?))`
	where = where.And(f.Run != "", named, accountID, f.Run, f.Run).
		And(f.Method != "", `r.method = ?`, f.Method).
		And(f.CardID != "", `r.card_id = ?`, f.CardID).
		And(wanted, outcome)
	return store.Page[Entry](tx, page, columns+where.SQL+` ORDER BY r.id DESC`, where.Args...)
}

// OfRun returns a page of the calls of a run, the oldest first, and whether there is more.
func OfRun(tx *store.Tx, runID int64, page wire.Page) ([]*Entry, bool, error) {
	return store.Page[Entry](tx, page, columns+`WHERE r.run_id = ? ORDER BY r.time, r.id`, runID)
}

// ChangesOf returns the calls of a run that asked for a change, the oldest first.
func ChangesOf(tx *store.Tx, runID int64) ([]*Entry, error) {
	return store.List[Entry](tx, columns+`WHERE r.run_id = ? AND r.method <> 'GET' ORDER BY r.time, r.id`, runID)
}

// Forget removes what List returns.
func Forget(tx *store.Tx, accountID int64) error {
	if err := tx.Exec(`DELETE FROM request_log WHERE account_id = ?`, accountID); err != nil {
		return err
	}
	return tx.Exec(`DELETE FROM runs WHERE account_id = ?`, accountID)
}

// Run is what one process of a client has asked for, such as a plan or an apply.
type Run struct {
	ID       int64      `db:"id"`
	Name     string     `db:"name"` // by which the client tells its runs apart; empty: it does not
	Requests int64      `db:"requests"`
	Refused  int64      `db:"refused"`
	Lost     int64      `db:"lost"`    // changes whose response did not arrive as the service wrote it
	Changes  int64      `db:"changes"` // requests that asked for a change
	Onto     usd.Amount `db:"onto"`    // from the wallet to cards
	Back     usd.Amount `db:"back"`    // from cards to the wallet
	Fees     usd.Amount `db:"fees"`
	Begun    wire.Time  `db:"begun"`
	Ended    wire.Time  `db:"ended"`
}

// RunKey selects the key of a run u.
const RunKey = `COALESCE(NULLIF(u.name, ''), u.id)`

// Key names the run in an address.
func (r *Run) Key() string { return cmp.Or(r.Name, strconv.FormatInt(r.ID, 10)) }

// Kind says what the run was, as far as its requests tell.
func (r *Run) Kind() string {
	switch {
	case r.Name == "":
		return "Other client"
	case r.Changes > 0:
		return "Apply"
	}
	return "Plan"
}

// Wallet is what the run brought into the wallet; below zero, it left it.
func (r *Run) Wallet() usd.Amount { return r.Back - r.Onto - r.Fees }

// Took is the time from the first request to the last response.
func (r *Run) Took() time.Duration { return r.Ended.Sub(r.Begun.Time) }

// runName matches the part of a User-Agent that names the run.
var runName = regexp.MustCompile(`(?:^| )run/([0-9a-f]{8})(?:$| )`)

// RunOf returns the name that a User-Agent gives to its run.
func RunOf(userAgent string) string {
	return append(runName.FindStringSubmatch(userAgent), "", "")[1]
}

const runColumns = `SELECT u.id, u.name, u.requests, u.refused, u.lost, u.changes, u.onto, u.back, u.fees, u.begun, u.ended FROM runs u `

// Runs returns a page of the runs of an account, newest first, and whether there is more.
func Runs(tx *store.Tx, accountID int64, page wire.Page) ([]*Run, bool, error) {
	return store.Page[Run](tx, page, runColumns+`WHERE u.account_id = ? ORDER BY u.id DESC`, accountID)
}

// Changing returns the newest runs of an account that asked for a change.
func Changing(tx *store.Tx, accountID, most int64) ([]*Run, error) {
	return store.List[Run](tx, runColumns+`WHERE u.account_id = ? AND u.changes > 0 ORDER BY u.id DESC LIMIT ?`, accountID, most)
}

// LastReading returns the newest run of an account that only read, or nil.
func LastReading(tx *store.Tx, accountID int64) (*Run, error) {
	found, err := store.List[Run](tx, runColumns+`WHERE u.account_id = ? AND u.changes = 0 ORDER BY u.id DESC LIMIT 1`, accountID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// ByKey returns the run that a key names, or a 404.
func ByKey(tx *store.Tx, accountID int64, key string) (*Run, error) {
	found, err := store.List[Run](tx, runColumns+`WHERE u.account_id = ?1 AND (u.name = ?2 OR u.name = '' AND u.id = ?2) ORDER BY u.id DESC LIMIT 1`, accountID, key)
	return wire.Only(found, err, "run", key)
}

// OfCard returns the newest runs that asked for a change of a card.
func OfCard(tx *store.Tx, accountID int64, cardID string, most int64) ([]*Run, error) {
	return store.List[Run](tx, runColumns+`WHERE u.account_id = ? AND u.id IN (
		SELECT run_id FROM request_log WHERE card_id = ? AND method <> 'GET') ORDER BY u.id DESC LIMIT ?`, accountID, cardID, most)
}
