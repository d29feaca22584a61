package requestlog

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const columns = `SELECT id, account_id, method, path, query, status, idempotency_key, replayed, time FROM request_log r `

func scan(row store.Row) (e Entry, err error) {
	var at int64
	err = row.Scan(&e.ID, &e.AccountID, &e.Method, &e.Path, &e.Query, &e.Status, &e.IdempotencyKey, &e.Replayed, &at)
	e.Time = time.UnixMilli(at).UTC()
	return e, err
}

// List returns a page of the calls of an account, the oldest first, and how many
// there are.
func List(tx *store.Tx, accountID int64, page wire.Page) (entries []Entry, total int64, err error) {
	if _, err := tx.Get([]any{&total}, `SELECT COUNT(*) FROM request_log WHERE account_id = ?`, accountID); err != nil {
		return nil, 0, err
	}
	entries, err = store.Select(tx, scan, columns+`WHERE account_id = ? ORDER BY id LIMIT ? OFFSET ?`, accountID, page.Size, page.Offset())
	return entries, total, err
}

// Call is what a client wanted: its newest try, and those before it with the same
// idempotency key, newest first.
type Call struct {
	Entry

	Earlier []Entry
}

// maxEarlier is how many earlier tries of a call are shown.
const maxEarlier = 20

// Newest returns a page of the calls of an account, by their newest tries, and
// whether there is more.
func Newest(tx *store.Tx, accountID int64, page wire.Page) (calls []Call, more bool, err error) {
	newest, err := store.Select(tx, scan, columns+`
		WHERE account_id = ? AND NOT superseded ORDER BY id DESC LIMIT ? OFFSET ?`, accountID, page.Size+1, page.Offset())
	if err != nil {
		return nil, false, err
	}
	newest, more = wire.Cut(page, newest)
	for _, e := range newest {
		earlier, err := store.Select(tx, scan, columns+`
			WHERE account_id = ? AND idempotency_key <> '' AND idempotency_key = ? AND id < ? AND method = ? AND path = ?
			ORDER BY id DESC LIMIT ?`, accountID, e.IdempotencyKey, e.ID, e.Method, e.Path, maxEarlier)
		if err != nil {
			return nil, false, err
		}
		calls = append(calls, Call{e, earlier})
	}
	return calls, more, nil
}

// Forget removes what List returns.
func Forget(tx *store.Tx, accountID int64) error {
	return tx.Exec(`DELETE FROM request_log WHERE account_id = ?`, accountID)
}
