package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Spending is what a card's authorizations of the current UTC month come to.
type Spending struct {
	CardID string
	Label  string
	Last4  string
	Amount usd.Amount
	Limit  usd.Amount
}

// LargestSpending returns the cards of an account that spent most this month, and
// what all of them spent together.
func LargestSpending(tx *store.Tx, accountID, cards int64) (largest []*Spending, total usd.Amount) {
	month := monthOf(tx.Now())
	const ofAccount = ` FROM card_spending s JOIN cards c ON c.id = s.card_id WHERE s.month = ? AND c.account_id = ? AND s.amount > 0`
	largest = store.Select(tx, func(row store.Row) (*Spending, error) {
		s := new(Spending)
		return s, row.Scan(&s.CardID, &s.Label, &s.Last4, &s.Amount, &s.Limit)
	}, `SELECT c.public_id, c.label, c.last4, s.amount, c.spending_limit`+ofAccount+` ORDER BY s.amount DESC LIMIT ?`,
		month, accountID, cards)
	return largest, store.Value[usd.Amount](tx, `SELECT COALESCE(SUM(s.amount), 0)`+ofAccount, month, accountID)
}
