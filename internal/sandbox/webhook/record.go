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
func (w *Worker) record(tx *store.Tx) error {
	for _, r := range w.unrecorded {
		if !r.interrupted {
			if err := r.record(tx); err != nil {
				return err
			}
		}
		err := tx.Exec(`UPDATE deliveries SET leased_by = NULL, leased_until = 0 WHERE public_id = ? AND leased_by = ?`,
			r.id, w.name)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r result) record(tx *store.Tx) error {
	now, err := tx.Now()
	if err != nil {
		return err
	}
	var (
		row, round int64
		failures   int
		due        sql.NullInt64
	)
	found, err := tx.Get([]any{&row, &round, &failures, &due},
		`SELECT id, round, failures, due_at FROM deliveries WHERE public_id = ?`, r.id)
	if err != nil || !found { // not found: the service was reset meanwhile
		return err
	}
	err = tx.Exec(`
		INSERT INTO delivery_tries (delivery_id, time, status, error, duration_ms)
		VALUES (?, ?, NULLIF(?, 0), NULLIF(?, ''), ?)`,
		row, r.begun.UnixMilli(), r.status, r.failure, r.took.Milliseconds())
	if err != nil {
		return err
	}
	// A try of an earlier round decides nothing; nor does a failure when
	// another worker, after the lease ran out, has delivered.
	if round != r.round || !due.Valid {
		return nil
	}
	due = sql.NullInt64{}
	if r.failure != "" {
		failures++
		if delay, again := retryDelay(failures); again {
			due = sql.NullInt64{Int64: now.Add(delay).UnixMilli(), Valid: true}
		}
	}
	return tx.Exec(`UPDATE deliveries SET failures = ?, due_at = ? WHERE id = ?`, failures, due, row)
}
