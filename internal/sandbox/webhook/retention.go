package webhook

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

const (
	// keptDeliveries is how many finished deliveries of each account are kept: the
	// newest ones.
	keptDeliveries = 10_000
	// pruneInterval is how often a worker that delivers looks for what to forget.
	pruneInterval = 5 * time.Second
	// pruneSize is how many deliveries of an account one look forgets, while every
	// other change waits.
	pruneSize = 250
	// unfinishedFactor is how many deliveries are kept that are not finished, for
	// each that is.
	unfinishedFactor = 10
)

func (w *Worker) prune(tx *store.Tx) error {
	if time.Since(w.pruned) < pruneInterval {
		return nil
	}
	accounts, err := store.Values[int64](tx, `SELECT DISTINCT account_id FROM webhooks`)
	if err != nil {
		return err
	}
	more := false
	for _, account := range accounts {
		for _, old := range []struct {
			condition string
			keep      int64
		}{{`AND d.due_at IS NULL`, keptDeliveries}, {``, keptDeliveries * unfinishedFactor}} {
			forgotten, err := forget(tx, account, old.condition, old.keep)
			if err != nil {
				return err
			}
			more = more || forgotten == pruneSize
		}
	}
	if !more { // else the next look is due at once
		w.pruned = time.Now()
	}
	return nil
}

// forget removes some of the oldest deliveries that a condition picks, but for the
// newest ones, and returns how many.
func forget(tx *store.Tx, account int64, condition string, keep int64) (int, error) {
	type old struct{ delivery, event int64 }
	all, err := store.Select(tx, func(row store.Row) (o old, err error) { return o, row.Scan(&o.delivery, &o.event) }, `
		SELECT d.id, d.event_id FROM events e JOIN deliveries d ON d.event_id = e.id
		WHERE e.account_id = ? `+condition+` ORDER BY e.id DESC, d.id DESC LIMIT ? OFFSET ?`, account, pruneSize, keep)
	for _, o := range all {
		if err == nil {
			err = tx.Exec(`DELETE FROM deliveries WHERE id = ?`, o.delivery)
		}
		if err == nil {
			err = tx.Exec(`DELETE FROM events WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = ?1)`, o.event)
		}
	}
	return len(all), err
}
