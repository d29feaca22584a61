package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/event"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// settle pays a merchant what an authorization holds, or less, or more. It is
// final: the rest of the hold goes back to the card. Neither a freeze nor a
// termination stops what was authorized before.
func settle(c *wire.Call) (wire.Reply, error) {
	p, err := readPlan(c)
	if err != nil {
		return wire.Reply{}, err
	}
	authorized := p.of
	switch {
	case authorized.Type != Authorization:
		return wire.Reply{}, wire.Invalid("transaction_id: %s is of type %s; only an authorization can be settled", authorized.ID, authorized.Type)
	case authorized.followers > 0:
		return wire.Reply{}, wire.Invalid("transaction_id: %s is settled already", authorized.ID)
	}
	if !p.partial {
		p.amount = authorized.Amount
	}
	shown, err := p.record(c, Settlement)
	if err != nil {
		return wire.Reply{}, err
	}
	balance := authorized.card.Balance
	legs, err := payMerchant(c, authorized.card, authorized.Amount, p.amount)
	if err != nil {
		return wire.Reply{}, err
	}
	if err := ledger.Post(c.Tx, c.Account.ID, "settled", legs...); err != nil {
		return wire.Reply{}, err
	}
	// The month of the authorization, whenever it is settled.
	if err := addSpending(c.Tx, authorized.card.ID, monthOf(authorized.CreatedAt), p.amount-authorized.Amount); err != nil {
		return wire.Reply{}, err
	}
	return wire.Created(followView{shown}), finish(c, authorized.card, balance, event.TransactionSettled, shown)
}

// payMerchant returns the legs of a settlement of an amount that was held.
func payMerchant(c *wire.Call, on *card.Card, held, amount usd.Amount) ([]ledger.Leg, error) {
	legs := []ledger.Leg{ledger.On(ledger.Holds, -held), ledger.On(ledger.Merchants, amount)}
	if amount <= held {
		return append(legs, give(on, held-amount)), nil
	}
	excess, err := collect(c, on, amount-held)
	return append(legs, excess...), err
}
