package webhook

import (
	"database/sql"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// retryDelay is how long after a number of failures, from 1, the next try
// comes. After the last one there is none.
func retryDelay(failures int) (delay time.Duration, again bool) {
	schedule := [...]time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute,
		2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
	}
	if failures > len(schedule) {
		return 0, false
	}
	return schedule[failures-1], true
}

// record writes the results, and what follows from them, to the file.
func (w *Worker) record(tx *store.Tx) {
	for _, r := range w.unrecorded {
		r.record(tx)
	}
}

func (r result) record(tx *store.Tx) {
	var (
		row, round int64
		failures   int
	)
	if !tx.Get([]any{&row, &round, &failures}, `SELECT id, round, failures FROM deliveries WHERE public_id = ?`, r.id) {
		return // the service was reset meanwhile
	}
	tx.Exec(`
		INSERT INTO delivery_tries (delivery_id, time, status, error, duration_ms, response_sealed)
		VALUES (?, ?, NULLIF(?, 0), NULLIF(?, ''), ?, ?)`,
		row, r.begun.UnixMilli(), r.status, r.failure, r.took.Milliseconds(), r.response)
	if round != r.round { // a try of an earlier round decides nothing
		return
	}
	var due sql.NullInt64
	state := Delivered
	if r.failure != "" {
		state = Failed
		failures++
		if delay, again := retryDelay(failures); again {
			state, due = Pending, sql.NullInt64{Int64: tx.Now().Add(delay).UnixMilli(), Valid: true}
		}
	}
	tx.Exec(`UPDATE deliveries SET failures = ?, state = ?, due_at = ? WHERE id = ?`, failures, state, due, row)
}
