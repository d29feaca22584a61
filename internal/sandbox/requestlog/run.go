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

// Run is what one process of a client has asked for, such as a plan or an apply.
type Run struct {
	ID       int64
	Name     string // by which the client tells its runs apart; empty: it does not
	Requests int64
	Refused  int64
	Lost     int64      // changes whose response did not arrive as the service wrote it
	Changes  int64      // requests that asked for a change
	Onto     usd.Amount // from the wallet to cards
	Back     usd.Amount // from cards to the wallet
	Fees     usd.Amount
	Begun    wire.Time
	Ended    wire.Time
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
	if found := runName.FindStringSubmatch(userAgent); found != nil {
		return found[1]
	}
	return ""
}

const runColumns = `SELECT u.id, u.name, u.requests, u.refused, u.lost, u.changes, u.onto, u.back, u.fees, u.begun, u.ended FROM runs u `

func scanRun(row store.Row) (*Run, error) {
	r := new(Run)
	return r, row.Scan(&r.ID, &r.Name, &r.Requests, &r.Refused, &r.Lost, &r.Changes, &r.Onto, &r.Back, &r.Fees, &r.Begun, &r.Ended)
}

// Runs returns a page of the runs of an account, newest first, and whether there is more.
func Runs(tx *store.Tx, accountID int64, page wire.Page) (runs []*Run, more bool, err error) {
	runs, err = store.Select(tx, scanRun, runColumns+`WHERE u.account_id = ? ORDER BY u.id DESC LIMIT ? OFFSET ?`, accountID, page.Size+1, page.Offset())
	return wire.Cut(page, runs, err)
}

// ByKey returns the run that a key names, or a 404.
func ByKey(tx *store.Tx, accountID int64, key string) (*Run, error) {
	found, err := store.Select(tx, scanRun, runColumns+`WHERE u.account_id = ?1 AND (u.name = ?2 OR u.name = '' AND u.id = ?2) ORDER BY u.id DESC LIMIT 1`, accountID, key)
	return wire.Only(found, err, "run", key)
}

// OfCard returns the newest runs that asked for a change of a card.
func OfCard(tx *store.Tx, accountID int64, cardID string, most int64) ([]*Run, error) {
	return store.Select(tx, scanRun, runColumns+`WHERE u.account_id = ? AND u.id IN (
		SELECT run_id FROM request_log WHERE card_id = ? AND method <> 'GET') ORDER BY u.id DESC LIMIT ?`, accountID, cardID, most)
}
