// Package transaction keeps what happened on cards, and lists it.
package transaction

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Type says what happened.
type Type string

// The four types of API §2.2.
const (
	Authorization Type = "authorization"
	Settlement    Type = "settlement"
	Refund        Type = "refund"
	Decline       Type = "decline"
)

// Merchant is where a card was used.
type Merchant struct {
	Name string `json:"name"`
	MCC  string `json:"mcc"`
}

// Transaction is the object of API §2.2.
type Transaction struct {
	ID        string     `json:"id"`
	CardID    string     `json:"card_id"`
	Type      Type       `json:"type"`
	Amount    usd.Amount `json:"amount"`
	Currency  string     `json:"currency"`
	Fee       usd.Amount `json:"fee"`
	Merchant  Merchant   `json:"merchant"`
	CreatedAt wire.Time  `json:"created_at"`
}

// New is a transaction to be recorded.
type New struct {
	Card     *card.Card
	ParentID *int64 // the row that a settlement or a refund follows
	Type     Type
	Amount   usd.Amount
	Fee      usd.Amount
	Merchant Merchant
	Reason   declineReason // of a decline
	Facts    *Facts        // of a decline
}

// State is what has become of a purchase.
type State string

// The states of a purchase.
const (
	Authorized State = "authorized"
	Settled    State = "settled"
	Refunded   State = "refunded" // in part or as a whole
	Declined   State = "declined"
)

// Facts are what decided that a purchase was declined, as it stood then.
type Facts struct {
	Asked   usd.Amount `json:"asked"` // with the fee
	Balance usd.Amount `json:"balance"`
	Spent   usd.Amount `json:"spent"` // in the UTC calendar month
	Limit   usd.Amount `json:"limit"`
	Month   string     `json:"month"` // YYYY-MM
	Allowed []string   `json:"allowed"`
}

// Scan reads the JSON of the file.
func (f *Facts) Scan(column any) error { return store.JSON{Into: f}.Scan(column) }

// record writes a transaction and returns what the API shows of it. It moves no
// money. Times never go back, even when a clock does: the order of an account's
// transactions is the order of their times.
func record(tx *store.Tx, accountID int64, n New) (Transaction, error) {
	last, err := store.Value[int64](tx, `SELECT created_at FROM transactions WHERE account_id = ? ORDER BY id DESC LIMIT 1`, accountID)
	if err != nil {
		return Transaction{}, err
	}
	created := max(last, tx.Now().UnixMilli())
	shown := Transaction{
		ID:        tx.NewID("txn_"),
		CardID:    n.Card.PublicID,
		Type:      n.Type,
		Amount:    n.Amount,
		Currency:  "USD",
		Fee:       n.Fee,
		Merchant:  n.Merchant,
		CreatedAt: wire.Time{Time: time.UnixMilli(created)},
	}
	var facts []byte
	if n.Facts != nil {
		facts = wire.Encode(n.Facts)
	}
	row, err := tx.Insert(`
		INSERT INTO transactions (public_id, account_id, card_id, parent_id, type, amount, fee, merchant_name, merchant_mcc,
		                          decline_reason, decline_facts, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?, ''), NULLIF(?, ''), ?)`,
		shown.ID, accountID, n.Card.ID, n.ParentID, n.Type, n.Amount, n.Fee, n.Merchant.Name, n.Merchant.MCC, n.Reason, string(facts), created)
	if err != nil {
		return Transaction{}, err
	}
	return shown, addToPurchase(tx, accountID, row, n)
}

// addToPurchase counts a transaction among what its purchase has come to, and among that
// of the day on which the purchase was made, of its card and of all.
func addToPurchase(tx *store.Tx, accountID, row int64, n New) error {
	var (
		of         Sums // what the transaction adds to them
		made       int64
		authorized usd.Amount
	)
	state := map[Type]State{Authorization: Authorized, Settlement: Settled, Refund: Refunded, Decline: Declined}[n.Type]
	switch n.Type {
	case Authorization:
		of.Count, of.Held = 1, n.Amount
	case Settlement:
		of.Settled = n.Amount
	case Refund:
		of.Refunded = n.Amount
	case Decline:
		of.Count, of.Declines = 1, 1
	}
	_, err := tx.Get([]any{&made, &authorized}, `
		UPDATE transactions SET state = ?, settled = settled + ?, refunded = refunded + ?, fees = fees + ?
		WHERE id = COALESCE((SELECT parent_id FROM transactions WHERE id = ?5), ?5, ?6) RETURNING created_at, amount`,
		state, of.Settled, of.Refunded, n.Fee, n.ParentID, row)
	if n.Type == Settlement {
		of.Held = -authorized
	}
	for _, cardID := range []int64{0, n.Card.ID} {
		if err != nil {
			return err
		}
		err = tx.Exec(`
			INSERT INTO daily_sums (account_id, card_id, day, purchases, declines, held, settled, refunded, fees) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET purchases = purchases + excluded.purchases, declines = declines + excluded.declines, held = held + excluded.held,
				settled = settled + excluded.settled, refunded = refunded + excluded.refunded, fees = fees + excluded.fees`,
			accountID, cardID, store.Day(time.UnixMilli(made)), of.Count, of.Declines, of.Held, of.Settled, of.Refunded, n.Fee)
	}
	return err
}

const columns = `
	SELECT t.public_id, c.public_id, t.type, t.amount, 'USD', t.fee, t.merchant_name, t.merchant_mcc, t.created_at
	FROM transactions t JOIN cards c ON c.id = t.card_id `
