package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/event"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// take is the leg that takes an amount from a card that holds it.
func take(from *card.Card, amount usd.Amount) ledger.Leg {
	from.Balance -= amount
	return ledger.OnCard(from.LedgerAccountID, -amount)
}

// give is the leg that gives an amount back to a card, or to the wallet once
// the card is terminated.
func give(to *card.Card, amount usd.Amount) ledger.Leg {
	if to.Status == card.Terminated {
		return ledger.On(ledger.Wallet, amount)
	}
	to.Balance += amount
	return ledger.OnCard(to.LedgerAccountID, amount)
}

// collect returns the legs that take an amount from whoever has it: the card,
// then the wallet; the rest is the service's loss.
func collect(c *wire.Call, from *card.Card, amount usd.Amount) ([]ledger.Leg, error) {
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return nil, err
	}
	fromCard := min(amount, from.Balance)
	fromWallet := min(amount-fromCard, wallet)
	return []ledger.Leg{
		take(from, fromCard), ledger.On(ledger.Wallet, -fromWallet), ledger.On(ledger.Loss, fromCard+fromWallet-amount),
	}, nil
}

// finish ends a transaction on a card that held balance before it: it charges
// the fee, tells the event, and freezes the card when it holds less than before
// and too little.
func finish(c *wire.Call, on *card.Card, balance usd.Amount, told event.Type, done Transaction) error {
	if done.Fee > 0 {
		legs, err := collect(c, on, done.Fee)
		if err != nil {
			return err
		}
		if err := ledger.Post(c.Tx, c.Account.ID, "fee", append(legs, ledger.On(ledger.Fees, done.Fee))...); err != nil {
			return err
		}
	}
	if err := event.Emit(c, told, done); err != nil {
		return err
	}
	if on.Balance >= balance {
		return nil
	}
	return on.AutoFreeze(c)
}
