package requestlog

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

// List returns the calls of an account and those without a valid key, the
// oldest first.
func List(tx *store.Tx, accountID int64) ([]Entry, error) {
	return store.Select(tx, func(row store.Row) (e Entry, err error) {
		var at int64
		err = row.Scan(&e.AccountID, &e.Method, &e.Path, &e.Query, &e.Status, &e.IdempotencyKey, &at)
		e.Time = time.UnixMilli(at).UTC()
		return e, err
	}, `SELECT COALESCE(account_id, 0), method, path, query, status, idempotency_key, time FROM request_log
		WHERE account_id = ? OR account_id IS NULL ORDER BY id`, accountID)
}

// Forget removes what List returns.
func Forget(tx *store.Tx, accountID int64) error {
	return tx.Exec(`DELETE FROM request_log WHERE account_id = ? OR account_id IS NULL`, accountID)
}
