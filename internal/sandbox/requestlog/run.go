package requestlog

import (
	"regexp"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Run is what one process of a client has asked for, such as a plan or an apply.
type Run struct {
	ID       int64
	Name     string // by which the client tells its runs apart; empty: it does not
	Requests int64
	Refused  int64
	Lost     int64 // changes whose response did not arrive as the service wrote it
	Begun    wire.Time
	Ended    wire.Time
}

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

func scanRun(row store.Row) (*Run, error) {
	r := new(Run)
	return r, row.Scan(&r.ID, &r.Name, &r.Requests, &r.Refused, &r.Lost, &r.Begun, &r.Ended)
}

// Runs returns a page of the runs of an account, newest first, and whether there is more.
func Runs(tx *store.Tx, accountID int64, page wire.Page) (runs []*Run, more bool, err error) {
	runs, err = store.Select(tx, scanRun, `SELECT id, name, requests, refused, lost, begun, ended FROM runs
		WHERE account_id = ? ORDER BY id DESC LIMIT ? OFFSET ?`, accountID, page.Size+1, page.Offset())
	return wire.Cut(page, runs, err)
}
