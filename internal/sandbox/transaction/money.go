package transaction

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// debit is the leg that takes an amount from a card that holds it.
func debit(from *card.Card, amount usd.Amount) ledger.Leg {
	from.Balance -= amount
	return ledger.OnCard(from.LedgerAccountID, -amount)
}

// credit is the leg that gives an amount back to a card, or to the wallet once
// the card is terminated.
func credit(to *card.Card, amount usd.Amount) ledger.Leg {
	if to.Status == card.Terminated {
		return ledger.On(ledger.Wallet, amount)
	}
	to.Balance += amount
	return ledger.OnCard(to.LedgerAccountID, amount)
}

// collect returns the legs that take an amount from whoever has it: the card,
// then the wallet; the rest is the service's loss.
func collect(c *server.Call, from *card.Card, amount usd.Amount) ([]ledger.Leg, error) {
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return nil, err
	}
	fromCard := min(amount, from.Balance)
	fromWallet := min(amount-fromCard, wallet)
	return []ledger.Leg{
		debit(from, fromCard), ledger.On(ledger.Wallet, -fromWallet), ledger.On(ledger.Loss, fromCard+fromWallet-amount),
	}, nil
}

// finish ends a transaction on a card that showed balance before it: it charges
// the fee, emits the event, and freezes the card when it holds less than before
// and too little.
func finish(c *server.Call, on *card.Card, balance usd.Amount, event webhook.EventType, done Transaction) error {
	if done.Fee > 0 {
		legs, err := collect(c, on, done.Fee)
		if err != nil {
			return err
		}
		if err := ledger.PostFor(c.Tx, c.Account.ID, done.ID, "fee", append(legs, ledger.On(ledger.Fees, done.Fee))...); err != nil {
			return err
		}
	}
	if err := webhook.Emit(c, event, done); err != nil {
		return err
	}
	if now, err := on.Shown(c); err != nil || now >= balance {
		return err
	}
	return on.AutoFreeze(c)
}

// monthOf returns the UTC calendar month, YYYY-MM, of a timestamp.
func monthOf(timestamp string) string { return timestamp[:len("2006-01")] }

// SpentThisMonth returns what a card's authorizations of the current UTC month
// come to: the settled amount of those that are settled, the held one of the
// others. Refunds do not lower it.
func SpentThisMonth(tx *store.Tx, cardID int64) (spent usd.Amount, err error) {
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
