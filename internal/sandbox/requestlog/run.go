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

	accountID, last int64
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

// pause is what ends a run of a client that does not name its runs.
const pause = 10 * time.Minute

const runColumns = `SELECT id, account_id, name, requests, refused, lost, recovered, did, begun, ended FROM runs `

func scanRun(row store.Row) (*Run, error) {
	var (
		r   Run
		did []byte
	)
	if err := row.Scan(&r.ID, &r.accountID, &r.Name, &r.Requests, &r.Refused, &r.Lost, &r.Recovered, &did, &r.Begun, &r.Ended); err != nil {
		return nil, err
	}
	return &r, json.Unmarshal(did, &r.Did)
}

// runOf returns the run that an entry belongs to, which it may begin.
func runOf(tx *store.Tx, e *Entry) *Run {
	runs := store.Select(tx, scanRun, runColumns+`WHERE account_id = ? AND name = ? ORDER BY id DESC LIMIT 1`, e.AccountID, e.Run)
	if len(runs) == 1 && runs[0].has(e) {
		return runs[0]
	}
	r := &Run{Name: e.Run, Did: map[string]int64{}, Begun: wire.Time{Time: e.Time}, Ended: wire.Time{Time: e.Time}, accountID: e.AccountID}
	r.ID = tx.Insert(`INSERT INTO runs (account_id, name, requests, refused, lost, recovered, did, begun, ended, last_entry)
		VALUES (?, ?, 0, 0, 0, 0, '{}', ?, ?, 0)`, e.AccountID, e.Run, e.Time.UnixMilli(), e.Time.UnixMilli())
	return r
}

// has tells whether an entry by the run's name belongs to it.
func (r *Run) has(e *Entry) bool { return e.Run != "" || e.Time.Sub(r.Ended.Time) < pause }

// add counts an entry that is in the file.
func (r *Run) add(tx *store.Tx, e *Entry) {
	r.Requests++
	r.last = e.ID
	if ended := e.Time.Add(e.Duration); ended.After(r.Ended.Time) {
		r.Ended.Time = ended
	}
	if deed := e.deed(); deed != "" {
		r.Did[deed]++
	}
	succeeded := e.Status/100 == 2 && !e.Lost
	switch {
	case e.Lost:
		r.Lost++
	case e.Status >= http.StatusBadRequest:
		r.Refused++
	}
	if !succeeded || r.Recovered == r.Lost {
		return
	}
	// What was lost is made sure of by the same call again, or by a look at what it did.
	recovered := store.Select(tx, func(row store.Row) (id int64, err error) { return id, row.Scan(&id) }, `
		UPDATE request_log SET recovered = TRUE WHERE run_id = ?1 AND lost AND NOT recovered
		AND CASE ?2 WHEN 'GET' THEN committed ELSE idempotency_key <> '' AND idempotency_key = ?3 END RETURNING id`,
		r.ID, e.Method, e.IdempotencyKey)
	r.Recovered += int64(len(recovered))
}

func (r *Run) write(tx *store.Tx) {
	did, err := json.Marshal(r.Did)
	if err != nil {
		tx.Fail(err)
	}
	tx.Exec(`UPDATE runs SET requests = ?, refused = ?, lost = ?, recovered = ?, did = ?, ended = ?, last_entry = ? WHERE id = ?`,
		r.Requests, r.Refused, r.Lost, r.Recovered, string(did), r.Ended.UnixMilli(), r.last, r.ID)
}

// Runs returns a page of the runs of an account, newest first, and whether there is more.
func Runs(tx *store.Tx, accountID int64, page wire.Page) (runs []*Run, more bool) {
	runs = store.Select(tx, scanRun, runColumns+`WHERE account_id = ? ORDER BY id DESC LIMIT ? OFFSET ?`, accountID, page.Size+1, page.Offset())
	return wire.Cut(page, runs)
}
