package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// monthOf returns the UTC calendar month, YYYY-MM, of a timestamp.
func monthOf(timestamp string) string { return timestamp[:len("2006-01")] }

// spentThisMonth returns what a card's authorizations of the current UTC month
// come to: the settled amount of those that are settled, the held one of the
// others. Refunds do not lower it.
func spentThisMonth(tx *store.Tx, cardID int64) (spent usd.Amount, err error) {
	now, err := tx.Now()
	if err != nil {
		return 0, err
	}
	_, err = tx.Get([]any{&spent}, `SELECT amount FROM card_spending WHERE card_id = ? AND month = ?`,
		cardID, monthOf(wire.Timestamp(now)))
	return spent, err
}

func addSpending(tx *store.Tx, cardID int64, month string, amount usd.Amount) error {
	return tx.Exec(`
		INSERT INTO card_spending (card_id, month, amount) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`, cardID, month, amount)
}
