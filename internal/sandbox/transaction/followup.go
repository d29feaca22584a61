package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// parent is a recorded transaction that others follow up: a settlement its
// authorization, refunds their settlement.
type parent struct {
	Transaction

	rowID      int64
	card       *card.Card
	children   int64
	childTotal usd.Amount // what the children come to
}

func byPublicID(c *server.Call, publicID string) (p parent, err error) {
	p.ID = publicID
	found := c.Tx.Get(
		[]any{&p.rowID, &p.CardID, &p.Type, &p.Amount, &p.Merchant.Name, &p.Merchant.MCC, &p.CreatedAt, &p.children, &p.childTotal}, `
		SELECT t.id, k.public_id, t.type, t.amount, t.merchant_name, t.merchant_mcc, t.created_at,
		       (SELECT COUNT(*) FROM transactions f WHERE f.parent_id = t.id),
		       (SELECT COALESCE(SUM(f.amount), 0) FROM transactions f WHERE f.parent_id = t.id)
		FROM transactions t JOIN cards k ON k.id = t.card_id WHERE t.public_id = ? AND t.account_id = ?`,
		publicID, c.Account.ID)
	if !found {
		return parent{}, wire.NotFound("transaction", publicID)
	}
	p.card, err = card.ByPublicID(c.Tx, c.Account.ID, p.CardID)
	return p, err
}

// followUp is what a merchant wants to do with an earlier transaction.
type followUp struct {
	parent  parent
	amount  usd.Amount
	partial bool // an amount was named
	fee     usd.Amount
}

func readFollowUp(c *server.Call) (f followUp, err error) {
	fields := c.Fields()
	transactionID := fields.Text("transaction_id")
	if f.partial = fields.Has("amount"); f.partial {
		f.amount = fields.Positive("amount")
	}
	f.fee = fields.OptionalNotNegative("fee")
	if err := fields.Done(); err != nil {
		return followUp{}, err
	}
	f.parent, err = byPublicID(c, transactionID)
	return f, err
}

func (f followUp) record(c *server.Call, kind Type) Transaction {
	return Record(c.Tx, c.Account.ID, New{
		Card: f.parent.card, ParentID: &f.parent.rowID, Type: kind, Amount: f.amount, Fee: f.fee, Merchant: f.parent.Merchant,
	})
}

type followUpView struct {
	Transaction Transaction `json:"transaction"`
}
