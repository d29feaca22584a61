package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// settle pays a merchant what an authorization holds, or less, or more. It is
// final: the rest of the hold goes back to the card. Neither a freeze nor a
// termination stops what was authorized before.
func settle(c *server.Call) (wire.Response, error) {
	f, err := readFollowUp(c)
	if err != nil {
		return wire.Response{}, err
	}
	authorized := f.parent
	switch {
	case authorized.Type != Authorization:
		return wire.Response{}, wire.Invalid("transaction_id: %s is of type %s; only an authorization can be settled", authorized.ID, authorized.Type)
	case authorized.children > 0:
		return wire.Response{}, wire.Invalid("transaction_id: %s is settled already", authorized.ID)
	}
	if !f.partial {
		f.amount = authorized.Amount
	}
	shown, err := book(c, f.transaction(Settlement), "settled", webhook.TransactionSettled, func() ([]ledger.Leg, error) {
		return payMerchant(c, authorized.card, authorized.Amount, f.amount)
	})
	if err != nil {
		return wire.Response{}, err
	}
	// The month of the authorization, whenever it is settled.
	err = addCounted(c.Tx, authorized.card.ID, monthOf(authorized.CreatedAt.Time), f.amount-authorized.Amount)
	return wire.Created(followUpView{shown}), err
}

// payMerchant returns the legs of a settlement of an amount that was held.
func payMerchant(c *server.Call, on *card.Card, held, amount usd.Amount) ([]ledger.Leg, error) {
	legs := []ledger.Leg{ledger.On(ledger.Holds, -held), ledger.On(ledger.Merchants, amount)}
	if amount <= held {
		return append(legs, credit(on, held-amount)), nil
	}
	collected, err := collect(c, on, amount-held)
	return append(legs, collected...), err
}

// refund returns what was settled, or a part of it, to the card. Several
// refunds may follow one settlement, up to its amount.
func refund(c *server.Call) (wire.Response, error) {
	f, err := readFollowUp(c)
	if err != nil {
		return wire.Response{}, err
	}
	settled := f.parent
	if settled.Type != Settlement {
		return wire.Response{}, wire.Invalid("transaction_id: %s is of type %s; only a settlement can be refunded", settled.ID, settled.Type)
	}
	left := settled.Amount - settled.childTotal
	if !f.partial {
		f.amount = left
	}
	if f.amount == 0 || f.amount > left {
		return wire.Response{}, wire.Invalid("amount: of %s, %s USD can still be refunded", settled.ID, left)
	}
	shown, err := book(c, f.transaction(Refund), "refunded", webhook.TransactionRefunded, func() ([]ledger.Leg, error) {
		return []ledger.Leg{ledger.On(ledger.Merchants, -f.amount), credit(settled.card, f.amount)}, nil
	})
	return wire.Created(followUpView{shown}), err
}

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
	found, err := c.Tx.Get(
		[]any{&p.rowID, &p.CardID, &p.Type, &p.Amount, &p.Merchant.Name, &p.Merchant.MCC, &p.CreatedAt, &p.children, &p.childTotal}, `
		SELECT t.id, k.public_id, t.type, t.amount, t.merchant_name, t.merchant_mcc, t.created_at,
		       (SELECT COUNT(*) FROM transactions f WHERE f.parent_id = t.id),
		       (SELECT COALESCE(SUM(f.amount), 0) FROM transactions f WHERE f.parent_id = t.id)
		FROM transactions t JOIN cards k ON k.id = t.card_id WHERE t.public_id = ? AND t.account_id = ?`,
		publicID, c.Account.ID)
	switch {
	case err != nil:
		return parent{}, err
	case !found:
		return parent{}, wire.NotFound("transaction", publicID)
	}
	p.card, err = card.ByPublicID(c.Tx, c.Account.ID, p.CardID)
	return p, err
}

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

func (f followUp) transaction(kind Type) New {
	return New{Card: f.parent.card, ParentID: &f.parent.rowID, Type: kind, Amount: f.amount, Fee: f.fee, Merchant: f.parent.Merchant}
}

type followUpView struct {
	Transaction Transaction `json:"transaction"`
}
