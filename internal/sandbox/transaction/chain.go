package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Chain returns the transactions of the purchase that one of them names, from the
// authorization on.
func Chain(tx *store.Tx, accountID int64, id string) ([]Transaction, error) {
	chain := store.Select(tx, scan, `
		WITH RECURSIVE
		up (id, parent_id) AS (
			SELECT id, parent_id FROM transactions WHERE public_id = ? AND account_id = ?
			UNION ALL SELECT t.id, t.parent_id FROM up JOIN transactions t ON t.id = up.parent_id),
		down (id) AS (
			SELECT id FROM up WHERE parent_id IS NULL
			UNION ALL SELECT t.id FROM down JOIN transactions t ON t.parent_id = down.id)
		SELECT t.public_id, c.public_id, t.type, t.amount, t.fee, t.merchant_name, t.merchant_mcc, t.created_at
		FROM down JOIN transactions t ON t.id = down.id JOIN cards c ON c.id = t.card_id ORDER BY t.id`, id, accountID)
	if len(chain) == 0 {
		return nil, wire.NotFound("transaction", id)
	}
	return chain, nil
}
