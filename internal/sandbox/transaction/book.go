package transaction

import (
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// debit lowers a card's balance by an amount, which the balance must cover, and returns the leg for the ledger.
func debit(from *card.Card, amount usd.Amount) ledger.Leg {
	from.Balance -= amount
	return ledger.NewCardLeg(from.LedgerAccountID, -amount)
}

// credit raises a card's balance by an amount that is given back, and returns the leg for the ledger. If the card is
// terminated, the wallet gets the amount instead.
func credit(to *card.Card, amount usd.Amount) ledger.Leg {
	if to.Status == card.Terminated {
		return ledger.NewLeg(ledger.Wallet, amount)
	}
	to.Balance += amount
	return ledger.NewCardLeg(to.LedgerAccountID, amount)
}

// collect takes an amount from the card and, if that is not enough, from the wallet. The remainder is the service's
// loss. collect lowers the card's balance and returns the legs for the ledger, of which some may be zero.
func collect(c *server.Call, from *card.Card, amount usd.Amount) ([]ledger.Leg, error) {
	wallet, err := ledger.Balance(c.Tx, c.Account.ID, ledger.Wallet)
	if err != nil {
		return nil, err
	}
	fromCard := min(amount, from.Balance)
	fromWallet := min(amount-fromCard, wallet)
	lost := amount - fromCard - fromWallet
	return []ledger.Leg{
		debit(from, fromCard),
		ledger.NewLeg(ledger.Wallet, -fromWallet),
		ledger.NewLeg(ledger.Loss, -lost),
	}, nil
}

// book records a transaction, moves its money, charges its fee and emits the event. If this lowers the balance that the
// API shows, the card may freeze automatically. The parameter kind is that of the ledger entry. The function moveMoney may
// change the card's balance, and returns the legs of the entry. book reads the previous balance before it calls moveMoney.
func book(
	c *server.Call, d draft, kind string, event webhook.EventType, moveMoney func() ([]ledger.Leg, error),
) (Transaction, error) {
	balanceBefore, err := d.Card.ShownBalance(c)
	if err != nil {
		return Transaction{}, err
	}
	recorded, err := record(c.Tx, c.Account.ID, d)
	if err != nil {
		return Transaction{}, err
	}
	legs, err := moveMoney()
	if err != nil {
		return Transaction{}, err
	}
	err = ledger.PostFor(c.Tx, c.Account.ID, recorded.ID, kind, legs...)
	if err != nil {
		return Transaction{}, err
	}
	if d.Fee > 0 {
		err := chargeFee(c, d, recorded.ID)
		if err != nil {
			return Transaction{}, err
		}
	}
	err = webhook.Emit(c, event, recorded.ID, recorded)
	if err != nil {
		return Transaction{}, err
	}
	balanceAfter, err := d.Card.ShownBalance(c)
	if err != nil {
		return Transaction{}, err
	}
	if balanceAfter >= balanceBefore {
		return recorded, nil
	}
	return recorded, d.Card.AutoFreeze(c)
}

// chargeFee collects the transaction's fee; see collect.
func chargeFee(c *server.Call, d draft, transactionID string) error {
	legs, err := collect(c, d.Card, d.Fee)
	if err != nil {
		return err
	}
	legs = append(legs, ledger.NewLeg(ledger.Fees, d.Fee))
	return ledger.PostFor(c.Tx, c.Account.ID, transactionID, "fee", legs...)
}

// monthOf returns the UTC calendar month of a time as YYYY-MM.
func monthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// UsedLimit returns how much of a card's spending limit is used: the sum of its authorizations in the current UTC
// month. A settled authorization counts as the settled amount, an open one as the held amount. Refunds do not
// lower the sum.
func UsedLimit(tx *store.Tx, cardID int64) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `SELECT amount FROM card_spending WHERE card_id = ? AND month = ?`,
		cardID, monthOf(tx.Now()))
}

// addUsedLimit adds an amount, which may be negative, to the used part of a card's spending limit in a month.
func addUsedLimit(tx *store.Tx, cardID int64, month string, amount usd.Amount) error {
	return tx.Exec(`
		INSERT INTO card_spending (card_id, month, amount) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`, cardID, month, amount)
}

// Spending is the settled minus the refunded amount of the purchases that were made with a card this month.
type Spending struct {
	CardID string     `db:"card_id"`
	Label  string     `db:"label"`
	Last4  string     `db:"last4"`
	Amount usd.Amount `db:"spent"`
}

// firstOfMonth returns the first day of the current UTC month, as a number of days like store.Day.
func firstOfMonth(tx *store.Tx) int64 {
	now := tx.Now()
	return store.Day(time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC))
}

// AllCards is the cardID that stands for all cards of an account, in the table daily_sums and its queries.
const AllCards = 0

// Spent returns this month's spending with a card, or with AllCards.
func Spent(tx *store.Tx, accountID, cardID int64) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `
		SELECT COALESCE(SUM(settled - refunded), 0) FROM daily_sums
		WHERE account_id = ? AND card_id = ? AND day >= ?`, accountID, cardID, firstOfMonth(tx))
}

// LargestSpending returns the spending of up to maxCards cards that spent most this month, the largest first. Cards without
// spending are left out. No card has the id AllCards, so the join drops the rows with AllCards.
func LargestSpending(tx *store.Tx, accountID, maxCards int64) ([]*Spending, error) {
	return store.List[Spending](tx, `
		SELECT c.public_id AS card_id, c.label, c.last4, SUM(d.settled - d.refunded) AS spent
		FROM daily_sums d JOIN cards c ON c.id = d.card_id
		WHERE d.account_id = ? AND d.day >= ?
		GROUP BY c.id HAVING spent > 0 ORDER BY spent DESC LIMIT ?`, accountID, firstOfMonth(tx), maxCards)
}

// settle pays a merchant the amount in the body, or the held amount if the body has no amount. An authorization can be
// settled only once: the remainder of its hold returns to the card, or to the wallet if the card is terminated. The card
// may be frozen or terminated.
func settle(c *server.Call) (wire.Response, error) {
	f, err := readFollowUp(c)
	if err != nil {
		return wire.Response{}, err
	}
	authorized := f.parent
	if authorized.Type != Authorization {
		return wire.Response{}, wire.Invalid("transaction_id: %s is of type %s; only an authorization can be settled",
			authorized.ID, authorized.Type)
	}
	if f.children > 0 {
		return wire.Response{}, wire.Invalid("transaction_id: %s is already settled", authorized.ID)
	}
	f.Type = Settlement
	if !f.hasAmount {
		f.Amount = authorized.Amount
	}
	recorded, err := book(c, f.draft, "settled", webhook.TransactionSettled, func() ([]ledger.Leg, error) {
		return payMerchant(c, f.Card, authorized.Amount, f.Amount)
	})
	if err != nil {
		return wire.Response{}, err
	}
	// The amount counts in the month of the authorization, even if it is settled in another month.
	err = addUsedLimit(c.Tx, f.Card.ID, monthOf(authorized.CreatedAt.Time), f.Amount-authorized.Amount)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(map[string]Transaction{"transaction": recorded}), nil
}

// payMerchant returns the legs of a settlement, which may be for more or less than the held amount. It may change the
// card's balance.
func payMerchant(c *server.Call, from *card.Card, held, amount usd.Amount) ([]ledger.Leg, error) {
	legs := []ledger.Leg{ledger.NewLeg(ledger.Holds, -held), ledger.NewLeg(ledger.Merchants, amount)}
	if amount <= held {
		return append(legs, credit(from, held-amount)), nil
	}
	collected, err := collect(c, from, amount-held)
	if err != nil {
		return nil, err
	}
	return append(legs, collected...), nil
}

// refund returns the amount in the body to the card, or all that is still refundable if the body has no amount. If the
// card is terminated, the wallet gets the money.
func refund(c *server.Call) (wire.Response, error) {
	f, err := readFollowUp(c)
	if err != nil {
		return wire.Response{}, err
	}
	settled := f.parent
	if settled.Type != Settlement {
		return wire.Response{}, wire.Invalid("transaction_id: %s is of type %s; only a settlement can be refunded",
			settled.ID, settled.Type)
	}
	refundable := settled.Amount - f.childTotal
	f.Type = Refund
	if !f.hasAmount {
		f.Amount = refundable
	}
	nothingToRefund := f.Amount == 0 // the body has no amount, and everything is refunded already
	if nothingToRefund || f.Amount > refundable {
		return wire.Response{}, wire.Invalid("amount: only %s USD can still be refunded for the settlement %s", refundable, settled.ID)
	}
	recorded, err := book(c, f.draft, "refunded", webhook.TransactionRefunded, func() ([]ledger.Leg, error) {
		return []ledger.Leg{ledger.NewLeg(ledger.Merchants, -f.Amount), credit(f.Card, f.Amount)}, nil
	})
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(map[string]Transaction{"transaction": recorded}), nil
}

// followUp is a merchant's request that follows a transaction, its parent: a settlement of an
// authorization, or a refund of a settlement.
type followUp struct {
	draft

	hasAmount  bool        // the body has an amount
	parent     Transaction // without its currency and its fee
	children   int64       // the number of transactions that follow the parent
	childTotal usd.Amount  // the sum of the amounts of these transactions
}

// readFollowUp reads the body, the parent that the body names, and the parent's card. It returns a 404 if the account has
// no such transaction.
func readFollowUp(c *server.Call) (followUp, error) {
	var f followUp
	fields := c.Fields()
	f.parent.ID = fields.Text("transaction_id")
	f.hasAmount = fields.Has("amount")
	if f.hasAmount {
		f.Amount = fields.PositiveAmount("amount")
	}
	f.Fee = fields.OptionalNotNegativeAmount("fee")
	err := fields.Done()
	if err != nil {
		return followUp{}, err
	}
	var parentRow int64
	parent := &f.parent
	dest := []any{
		&parentRow, &parent.CardID, &parent.Type, &parent.Amount, &parent.Merchant.Name, &parent.Merchant.MCC, &parent.CreatedAt,
		&f.children, &f.childTotal,
	}
	found, err := c.Tx.Get(dest, `
		SELECT t.id, c.public_id, t.type, t.amount, t.merchant_name, t.merchant_mcc, t.created_at,
		       (SELECT COUNT(*) FROM transactions child WHERE child.parent_id = t.id),
		       (SELECT COALESCE(SUM(child.amount), 0) FROM transactions child WHERE child.parent_id = t.id)
		FROM transactions t JOIN cards c ON c.id = t.card_id
		WHERE t.public_id = ? AND t.account_id = ?`,
		parent.ID, c.Account.ID)
	if err != nil {
		return followUp{}, err
	}
	if !found {
		return followUp{}, wire.NotFound("transaction", parent.ID)
	}
	f.ParentID = &parentRow
	f.Merchant = parent.Merchant // a follow-up has the merchant of its parent
	f.Card, err = card.ByPublicID(c.Tx, c.Account.ID, parent.CardID)
	if err != nil {
		return followUp{}, err
	}
	return f, nil
}
