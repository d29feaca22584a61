package limit

import (
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// tally is the calls of one class that an account has made.
type tally struct {
	tx        *store.Tx
	accountID int64
	class     Class
}

// Admit counts a call of a class when every window has room for it. Else it
// counts nothing and returns how long the account has to wait.
func (l Limits) Admit(tx *store.Tx, accountID int64, class Class) (wait time.Duration, err error) {
	now, err := tx.Now()
	if err != nil {
		return 0, err
	}
	var tallies []tally
	for _, w := range l.windows(class) {
		t := tally{tx, accountID, w.class}
		free, err := t.free(w, now)
		if err != nil {
			return 0, err
		}
		wait = max(wait, free.Sub(now))
		if !slices.Contains(tallies, t) {
			tallies = append(tallies, t)
		}
	}
	if wait > 0 {
		return wait, nil
	}
	for _, t := range tallies {
		if err := t.add(now); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// free tells when a window has room.
func (t tally) free(w window, now time.Time) (time.Time, error) {
	last, _, err := t.last()
	if err != nil {
		return time.Time{}, err
	}
	var leaves int64
	found, err := t.tx.Get([]any{&leaves},
		`SELECT time FROM counted_calls WHERE account_id = ? AND class = ? AND number = ?`,
		t.accountID, t.class, last+1-w.most)
	if err != nil || !found {
		return now, err
	}
	return time.UnixMilli(leaves).Add(w.span), nil
}

func (t tally) last() (number, at int64, err error) {
	_, err = t.tx.Get([]any{&number, &at},
		`SELECT number, time FROM counted_calls WHERE account_id = ? AND class = ? ORDER BY number DESC LIMIT 1`,
		t.accountID, t.class)
	return number, at, err
}

// add counts a call, and forgets up to two old ones: that keeps pace.
func (t tally) add(now time.Time) error {
	last, at, err := t.last()
	if err != nil {
		return err
	}
	err = t.tx.Exec(`INSERT INTO counted_calls (account_id, class, number, time) VALUES (?, ?, ?, ?)`,
		t.accountID, t.class, last+1, max(at, now.UnixMilli()))
	if err != nil {
		return err
	}
	return t.tx.Exec(`
		DELETE FROM counted_calls WHERE account_id = ?1 AND class = ?2 AND time <= ?3 AND number IN (
			SELECT number FROM counted_calls WHERE account_id = ?1 AND class = ?2 ORDER BY number LIMIT 2)`,
		t.accountID, t.class, now.Add(-longest).UnixMilli())
}
