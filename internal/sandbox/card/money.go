package card

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/event"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/quirk"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func fund(c *wire.Call) (wire.Reply, error) {
	fields := c.Fields()
	amount := fields.Positive("amount")
	if err := fields.Done(); err != nil {
		return wire.Reply{}, err
	}
	card, err := usableOf(c)
	if err != nil {
		return wire.Reply{}, err
	}
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return wire.Reply{}, err
	}
	if wallet < amount {
		return wire.Reply{}, wire.Refuse(wire.CodeInsufficientFunds,
			"the wallet holds %s USD, less than the %s USD to move", wallet, amount)
	}
	reply, err := card.move(c, "card funded", amount)
	if err != nil {
		return wire.Reply{}, err
	}
	return reply, event.Emit(c, event.CardFunded, card.full())
}

// withdraw moves the amount in the body; without one, all that is on the card.
func withdraw(c *wire.Call) (wire.Reply, error) {
	fields := c.Fields()
	var amount usd.Amount
	if c.Quirks.WithdrawAmount == quirk.Ignored {
		fields.Skip("amount")
	}
	partial := fields.Has("amount")
	if partial {
		amount = fields.Positive("amount")
	}
	if err := fields.Done(); err != nil {
		return wire.Reply{}, err
	}
	card, err := usableOf(c)
	if err != nil {
		return wire.Reply{}, err
	}
	if !partial {
		amount = card.Balance
	}
	if amount == 0 || card.Balance < amount {
		return wire.Reply{}, wire.Refuse(wire.CodeInsufficientCardBalance,
			"card %s holds %s USD, not enough to withdraw", card.PublicID, card.Balance)
	}
	reply, err := card.move(c, "card withdrawn", -amount)
	if err != nil {
		return wire.Reply{}, err
	}
	return reply, card.AutoFreeze(c)
}

// move takes an amount from the wallet to the card; a negative one, back.
func (c *Card) move(call *wire.Call, kind string, amount usd.Amount) (wire.Reply, error) {
	err := ledger.Post(call.Tx, call.Account.ID, kind,
		ledger.On(ledger.Wallet, -amount), ledger.OnCard(c.LedgerAccountID, amount))
	if err != nil {
		return wire.Reply{}, err
	}
	c.Balance += amount
	wallet, err := ledger.Balance(call.Tx, call.Account.ID, ledger.Wallet)
	return wire.OK(moneyView{c.PublicID, c.Balance, wallet}), err
}
