package delivery

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

// book writes down the tries that have ended, and what follows from them.
func (w *Worker) book(tx *store.Tx) error {
	for _, l := range w.unbooked {
		if !l.interrupted {
			if err := l.book(tx); err != nil {
				return err
			}
		}
		err := tx.Exec(`UPDATE deliveries SET leased_by = NULL, leased_until = 0 WHERE public_id = ? AND leased_by = ?`,
			l.deliveryID, w.name)
		if err != nil {
			return err
		}
	}
	return nil
}

func (l landing) book(tx *store.Tx) error {
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
		`SELECT id, round, failures, due_at FROM deliveries WHERE public_id = ?`, l.deliveryID)
	if err != nil || !found { // not found: the service was reset meanwhile
		return err
	}
	err = tx.Exec(`
		INSERT INTO delivery_tries (delivery_id, time, status, error, duration_ms)
		VALUES (?, ?, NULLIF(?, 0), NULLIF(?, ''), ?)`,
		row, l.begun.UnixMilli(), l.status, l.failure, l.took.Milliseconds())
	if err != nil {
		return err
	}
	// A try of an earlier round decides nothing; nor does a failure when
	// another worker, after the lease ran out, has delivered.
	if round != l.round || !due.Valid {
		return nil
	}
	due = sql.NullInt64{}
	if l.failure != "" {
		failures++
		if delay, again := retryDelay(failures); again {
			due = sql.NullInt64{Int64: now.Add(delay).UnixMilli(), Valid: true}
		}
	}
	return tx.Exec(`UPDATE deliveries SET failures = ?, due_at = ? WHERE id = ?`, failures, due, row)
}
