package transaction

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// past is a recorded transaction that others may follow: a settlement its
// authorization, refunds their settlement.
type past struct {
	Transaction

	rowID     int64
	card      *card.Card
	followers int64
	followed  usd.Amount // what the followers come to
}

func byPublicID(c *wire.Call, publicID string) (p past, err error) {
	p.ID = publicID
	var created int64
	found, err := c.Tx.Get(
		[]any{&p.rowID, &p.CardID, &p.Type, &p.Amount, &p.Merchant.Name, &p.Merchant.MCC, &created, &p.followers, &p.followed}, `
		SELECT t.id, k.public_id, t.type, t.amount, t.merchant_name, t.merchant_mcc, t.created_at,
		       (SELECT COUNT(*) FROM transactions f WHERE f.parent_id = t.id),
		       (SELECT COALESCE(SUM(f.amount), 0) FROM transactions f WHERE f.parent_id = t.id)
		FROM transactions t JOIN cards k ON k.id = t.card_id WHERE t.public_id = ? AND t.account_id = ?`,
		publicID, c.Account.ID)
	if err != nil {
		return past{}, err
	}
	if !found {
		return past{}, wire.NotFound("transaction", publicID)
	}
	p.CreatedAt = wire.Timestamp(time.UnixMilli(created))
	p.card, err = card.ByPublicID(c.Tx, c.Account.ID, p.CardID)
	return p, err
}

// plan is what a merchant wants to do with a past transaction.
type plan struct {
	of      past
	amount  usd.Amount
	partial bool // an amount was named
	fee     usd.Amount
}

func readPlan(c *wire.Call) (p plan, err error) {
	fields := c.Fields()
	transactionID := fields.Text("transaction_id")
	if p.partial = fields.Has("amount"); p.partial {
		p.amount = fields.Positive("amount")
	}
	p.fee = fields.OptionalNotNegative("fee")
	if err := fields.Done(); err != nil {
		return plan{}, err
	}
	p.of, err = byPublicID(c, transactionID)
	return p, err
}

func (p plan) record(c *wire.Call, kind Type) (Transaction, error) {
	return Record(c.Tx, c.Account.ID, New{
		Card: p.of.card, ParentID: &p.of.rowID, Type: kind, Amount: p.amount, Fee: p.fee, Merchant: p.of.Merchant,
	})
}

type followView struct {
	Transaction Transaction `json:"transaction"`
}
