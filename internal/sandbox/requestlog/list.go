package requestlog

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// selectEntries selects the fields of an Entry. It converts the duration from microseconds to nanoseconds.
const selectEntries = `
	SELECT r.id, r.account_id, r.run_id, r.method, r.path, r.query, r.status, r.error, r.message,
	       u.name AS run, r.idempotency_key, r.replayed,
	       r.card_id, COALESCE(c.label, '') AS label, COALESCE(c.last4, '') AS last4,
	       r.fault, r.lost, r.duration_us * 1000 AS duration, r.time, r.wallet, r.fee,
	       r.balance_before AS before_balance, r.status_before AS before_status,
	       r.balance_after AS after_balance, r.status_after AS after_status,
	       COALESCE(r.entry_id, 0) AS entry_id, COALESCE(r.status_change, 0) AS status_change
	FROM request_log r JOIN runs u ON u.id = r.run_id
	LEFT JOIN cards c ON c.public_id = r.card_id AND c.account_id = r.account_id `

// List returns a page of the entries of an account, oldest first, and the number of the account's entries.
func List(tx *store.Tx, accountID int64, page wire.Page) ([]*Entry, int64, error) {
	entries, err := store.List[Entry](tx, selectEntries+`WHERE r.account_id = ? ORDER BY r.id LIMIT ? OFFSET ?`,
		accountID, page.Size, page.Offset())
	if err != nil {
		return nil, 0, err
	}
	total, err := store.Value[int64](tx, `SELECT COUNT(*) FROM request_log WHERE account_id = ?`, accountID)
	if err != nil {
		return nil, 0, err
	}
	return entries, total, nil
}

// Filter selects entries of an account. An empty field and an unknown outcome exclude no entry.
type Filter struct {
	Run     string // the name of the run, or its id if it has no name
	Method  string
	Outcome string // succeeded, refused, failed, lost, or fault
}

// ListNewest returns a page of the entries that match a filter, newest first, and reports whether there are more.
func ListNewest(tx *store.Tx, accountID int64, f Filter, page wire.Page) ([]*Entry, bool, error) {
	outcomes := map[string]string{
		"succeeded": `r.status BETWEEN 200 AND 299`,
		"refused":   `r.status BETWEEN 400 AND 499`,
		"failed":    `(r.status = 0 OR r.status >= 500)`, // 0: there was no response
		"lost":      `r.lost`,
		"fault":     `r.fault <> ''`,
	}
	outcome, hasOutcome := outcomes[f.Outcome]
	const ofRun = `r.run_id IN (SELECT id FROM runs WHERE account_id = ? AND (name = ? OR (name = '' AND id = ?)))`
	where := store.NewWhere(`r.account_id = ?`, accountID).
		AndIf(f.Run != "", ofRun, accountID, f.Run, f.Run).
		AndIf(f.Method != "", `r.method = ?`, f.Method).
		AndIf(hasOutcome, outcome)
	return store.Page[Entry](tx, page, selectEntries+where.SQL+` ORDER BY r.id DESC`, where.Args...)
}

// ListByRun returns a page of the entries of a run, sorted by time, and reports whether there are more.
func ListByRun(tx *store.Tx, runID int64, page wire.Page) ([]*Entry, bool, error) {
	return store.Page[Entry](tx, page, selectEntries+`WHERE r.run_id = ? ORDER BY r.time, r.id`, runID)
}

// ListChangesByRun returns the entries of a run for which IsChange is true, sorted by time.
func ListChangesByRun(tx *store.Tx, runID int64) ([]*Entry, error) {
	return store.List[Entry](tx, selectEntries+`WHERE r.run_id = ? AND r.method NOT IN ('GET', 'HEAD') ORDER BY r.time, r.id`, runID)
}

// Forget deletes the entries and runs of an account from the file.
func Forget(tx *store.Tx, accountID int64) error {
	err := tx.Exec(`DELETE FROM request_log WHERE account_id = ?`, accountID)
	if err != nil {
		return err
	}
	return tx.Exec(`DELETE FROM runs WHERE account_id = ?`, accountID)
}

// Run summarizes the requests of one process of a client, such as a plan or an apply. If clients do not name their runs,
// it summarizes the requests between two pauses: see runPause.
type Run struct {
	ID        int64      `db:"id"`
	Name      string     `db:"name"` // empty if the client does not name its runs
	Requests  int64      `db:"requests"`
	Refused   int64      `db:"refused"`    // requests with an error status, except those with Entry.Lost
	Lost      int64      `db:"lost"`       // requests with Entry.Lost
	Changes   int64      `db:"changes"`    // requests with Entry.IsChange
	ToCards   usd.Amount `db:"to_cards"`   // from the wallet to cards
	FromCards usd.Amount `db:"from_cards"` // from cards to the wallet
	Fees      usd.Amount `db:"fees"`
	Begun     wire.Time  `db:"begun"`
	Ended     wire.Time  `db:"ended"`
}

// RunKey is the SQL expression for the key of a run u, as Run.Key returns it.
const RunKey = `COALESCE(NULLIF(u.name, ''), u.id)`

// Key returns the run's name, or its id if it has no name.
func (r *Run) Key() string { return cmp.Or(r.Name, strconv.FormatInt(r.ID, 10)) }

// Kind returns "Other client" for a run without a name. For another run, it returns "Apply" if the run requested changes,
// otherwise "Plan".
func (r *Run) Kind() string {
	if r.Name == "" {
		return "Other client"
	}
	if r.Changes > 0 {
		return "Apply"
	}
	return "Plan"
}

// Wallet returns the change of the wallet's balance, in USD.
func (r *Run) Wallet() usd.Amount { return r.FromCards - r.ToCards - r.Fees }

// Duration returns the time from the first request to the last response.
func (r *Run) Duration() time.Duration { return r.Ended.Sub(r.Begun.Time) }

// runInUserAgent matches the name of the run in a User-Agent.
var runInUserAgent = regexp.MustCompile(`(?:^| )run/([0-9a-f]{8})(?:$| )`)

// RunName returns the name of the run in a User-Agent, or "".
func RunName(userAgent string) string {
	match := runInUserAgent.FindStringSubmatch(userAgent)
	if match == nil {
		return ""
	}
	return match[1]
}

// selectRuns selects the fields of a Run.
const selectRuns = `
	SELECT u.id, u.name, u.requests, u.refused, u.lost, u.changes, u.to_cards, u.from_cards, u.fees, u.begun, u.ended
	FROM runs u `

// ListRuns returns a page of the runs of an account, newest first, and reports whether there are more.
func ListRuns(tx *store.Tx, accountID int64, page wire.Page) ([]*Run, bool, error) {
	return store.Page[Run](tx, page, selectRuns+`WHERE u.account_id = ? ORDER BY u.id DESC`, accountID)
}

// ListChangingRuns returns the runs of an account that requested a change, newest first, but not more than limit.
func ListChangingRuns(tx *store.Tx, accountID, limit int64) ([]*Run, error) {
	return store.List[Run](tx, selectRuns+`WHERE u.account_id = ? AND u.changes > 0 ORDER BY u.id DESC LIMIT ?`, accountID, limit)
}

// LastReadOnlyRun returns the newest run of an account that requested no change. It returns nil if there is none.
func LastReadOnlyRun(tx *store.Tx, accountID int64) (*Run, error) {
	found, err := store.List[Run](tx, selectRuns+`WHERE u.account_id = ? AND u.changes = 0 ORDER BY u.id DESC LIMIT 1`, accountID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// RunByKey returns the run with a key. If there is none, it returns a 404 error.
func RunByKey(tx *store.Tx, accountID int64, key string) (*Run, error) {
	// A name consisting of digits may equal the id of a run without a name. The newer run then has precedence.
	found, err := store.List[Run](tx, selectRuns+`
		WHERE u.account_id = ?1 AND (u.name = ?2 OR (u.name = '' AND u.id = ?2)) ORDER BY u.id DESC LIMIT 1`, accountID, key)
	return wire.OneOrNotFound(found, err, "run", key)
}

// ListRunsOfCard returns the runs that requested a change of a card, newest first, but not more than limit.
func ListRunsOfCard(tx *store.Tx, accountID int64, cardID string, limit int64) ([]*Run, error) {
	return store.List[Run](tx, selectRuns+`WHERE u.account_id = ? AND u.id IN (
		SELECT run_id FROM request_log WHERE card_id = ? AND method NOT IN ('GET', 'HEAD')) ORDER BY u.id DESC LIMIT ?`, accountID, cardID, limit)
}
