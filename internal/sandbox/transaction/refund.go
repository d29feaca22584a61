package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/event"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// refund returns what was settled, or a part of it, to the card. Several
// refunds may follow one settlement, up to its amount.
func refund(c *wire.Call) (wire.Reply, error) {
	p, err := readPlan(c)
	if err != nil {
		return wire.Reply{}, err
	}
	settled := p.of
	if settled.Type != Settlement {
		return wire.Reply{}, wire.Invalid("transaction_id: %s is of type %s; only a settlement can be refunded", settled.ID, settled.Type)
	}
	left := settled.Amount - settled.followed
	if !p.partial {
		p.amount = left
	}
	if p.amount == 0 || p.amount > left {
		return wire.Reply{}, wire.Invalid("amount: of %s, %s USD can still be refunded", settled.ID, left)
	}
	shown, err := p.record(c, Refund)
	if err != nil {
		return wire.Reply{}, err
	}
	balance := settled.card.Balance
	err = ledger.Post(c.Tx, c.Account.ID, "refunded", ledger.On(ledger.Merchants, -p.amount), give(settled.card, p.amount))
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.Created(followView{shown}), finish(c, settled.card, balance, event.TransactionRefunded, shown)
}
