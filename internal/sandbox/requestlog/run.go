package requestlog

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Run is what one process of a client has asked for, such as a plan or an apply.
type Run struct {
	ID        int64
	Name      string // by which the client tells its runs apart; empty: it does not
	Requests  int64
	Refused   int64
	Lost      int64 // changes whose response did not arrive as the service wrote it
	Recovered int64 // of those, what the client made sure of later
	Did       map[string]int64
	Begun     wire.Time
	Ended     wire.Time
}

// Took is the time from the first request to the last response.
func (r *Run) Took() time.Duration { return r.Ended.Sub(r.Begun.Time) }

// Deeds are what a run may have done, in the order in which they are told.
func Deeds() []string {
	return []string{"issued", "funded", "withdrawn", "frozen", "unfrozen", "terminated", "registered"}
}

// runName matches the part of a User-Agent that names the run.
var runName = regexp.MustCompile(`(?:^| )run/([0-9a-f]{8})(?:$| )`)

// RunOf returns the name that a User-Agent gives to its run.
func RunOf(userAgent string) string {
	if found := runName.FindStringSubmatch(userAgent); found != nil {
		return found[1]
	}
	return ""
}

// deed is what an entry has done, "" when that is nothing.
func (e *Entry) deed() string {
	if !e.Committed || e.Replayed {
		return ""
	}
	cards := strings.HasPrefix(e.Path, "/cards/")
	switch {
	case e.Method == http.MethodPost && e.Path == "/cards":
		return "issued"
	case e.Method == http.MethodPost && e.Path == "/webhooks":
		return "registered"
	case e.Method == http.MethodDelete && cards:
		return "terminated"
	case e.Method == http.MethodPost && cards:
		return map[string]string{"fund": "funded", "withdraw": "withdrawn", "freeze": "frozen", "unfreeze": "unfrozen"}[e.Path[strings.LastIndex(e.Path, "/")+1:]]
	}
	return ""
}

func scanRun(row store.Row) (*Run, error) {
	var (
		r   Run
		did []byte
	)
	if err := row.Scan(&r.ID, &r.Name, &r.Requests, &r.Refused, &r.Lost, &r.Recovered, &did, &r.Begun, &r.Ended); err != nil {
		return nil, err
	}
	return &r, json.Unmarshal(did, &r.Did)
}

// Runs returns a page of the runs of an account, newest first, and whether there is more.
func Runs(tx *store.Tx, accountID int64, page wire.Page) (runs []*Run, more bool) {
	runs = store.Select(tx, scanRun, `SELECT id, name, requests, refused, lost, recovered, did, begun, ended FROM runs
		WHERE account_id = ? ORDER BY id DESC LIMIT ? OFFSET ?`, accountID, page.Size+1, page.Offset())
	return wire.Cut(page, runs)
}
