package transaction

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
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
	fromCard := min(amount, from.Balance)
	fromWallet := min(amount-fromCard, wallet)
	return []ledger.Leg{
		debit(from, fromCard), ledger.On(ledger.Wallet, -fromWallet), ledger.On(ledger.Loss, fromCard+fromWallet-amount),
	}, err
}

// book records a transaction, moves its money and charges its fee, emits the event, and
// freezes the card when it shows less than before and too little.
func book(c *server.Call, n New, entry string, event webhook.EventType, legs func() ([]ledger.Leg, error)) (Transaction, error) {
	before, err := n.Card.Shown(c)
	if err != nil {
		return Transaction{}, err
	}
	done, err := record(c.Tx, c.Account.ID, n)
	if err != nil {
		return Transaction{}, err
	}
	post := func(entry string, legs []ledger.Leg, err error) error {
		if err != nil {
			return err
		}
		return ledger.PostFor(c.Tx, c.Account.ID, done.ID, entry, legs...)
	}
	moved, err := legs()
	if err := post(entry, moved, err); err != nil {
		return Transaction{}, err
	}
	if n.Fee > 0 {
		charged, err := collect(c, n.Card, n.Fee)
		if err := post("fee", append(charged, ledger.On(ledger.Fees, n.Fee)), err); err != nil {
			return Transaction{}, err
		}
	}
	if err := webhook.Emit(c, event, done); err != nil {
		return Transaction{}, err
	}
	if after, err := n.Card.Shown(c); err != nil || after >= before {
		return done, err
	}
	return done, n.Card.AutoFreeze(c)
}

func monthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// Counted returns what counts towards a card's limit: what its authorizations of the
// current UTC month come to, the settled amount of those that are settled, the held one
// of the others. Refunds do not lower it.
func Counted(tx *store.Tx, cardID int64) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `SELECT amount FROM card_spending WHERE card_id = ? AND month = ?`, cardID, monthOf(tx.Now()))
}

func addCounted(tx *store.Tx, cardID int64, month string, amount usd.Amount) error {
	return tx.Exec(`
		INSERT INTO card_spending (card_id, month, amount) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`, cardID, month, amount)
}

// Spending is what was settled less what was refunded of a card's purchases of the current
// UTC month.
type Spending struct {
	CardID string
	Label  string
	Last4  string
	Amount usd.Amount
}

// ofMonth picks the days of the current UTC month, in which time goes forward only.
func ofMonth(tx *store.Tx) int64 {
	now := tx.Now()
	return store.Day(now) - int64(now.Day()) + 1
}

// Spent returns what was spent this month with a card or, with 0, with all of an account.
func Spent(tx *store.Tx, accountID, cardID int64) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `
		SELECT COALESCE(SUM(settled - refunded), 0) FROM daily_sums WHERE account_id = ? AND card_id = ? AND day >= ?`, accountID, cardID, ofMonth(tx))
}

// LargestSpending returns the cards of an account that spent most this month.
func LargestSpending(tx *store.Tx, accountID, cards int64) ([]*Spending, error) {
	return store.Select(tx, func(row store.Row) (*Spending, error) {
		s := new(Spending)
		return s, row.Scan(&s.CardID, &s.Label, &s.Last4, &s.Amount)
	}, `SELECT c.public_id, c.label, c.last4, SUM(d.settled - d.refunded) AS spent FROM daily_sums d JOIN cards c ON c.id = d.card_id
		WHERE d.account_id = ? AND d.day >= ? GROUP BY c.id HAVING spent > 0 ORDER BY spent DESC LIMIT ?`, accountID, ofMonth(tx), cards)
}
