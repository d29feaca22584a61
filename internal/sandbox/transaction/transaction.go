// Package transaction records the transactions of cards and lists them.
package transaction

import (
	"regexp"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Type is the type of a transaction.
type Type string

// The four types of API §2.2.
const (
	Authorization Type = "authorization"
	Settlement    Type = "settlement"
	Refund        Type = "refund"
	Decline       Type = "decline"
)

// Merchant is the merchant of a transaction.
type Merchant struct {
	Name string `json:"name" db:"name"`
	MCC  string `json:"mcc" db:"mcc"`
}

// Transaction is the object of API §2.2.
type Transaction struct {
	ID        string     `json:"id" db:"public_id"`
	CardID    string     `json:"card_id" db:"card_id"`
	Type      Type       `json:"type" db:"type"`
	Amount    usd.Amount `json:"amount" db:"amount"`
	Currency  string     `json:"currency" db:"currency"`
	Fee       usd.Amount `json:"fee" db:"fee"`
	Merchant  Merchant   `json:"merchant" db:"merchant_"`
	CreatedAt wire.Time  `json:"created_at" db:"created_at"`
}

// draft is a transaction to record.
type draft struct {
	Card     *card.Card
	ParentID *int64 // the row id of the transaction that a settlement or a refund follows; otherwise nil
	Type     Type
	Amount   usd.Amount
	Fee      usd.Amount
	Merchant Merchant
	Reason   declineReason // of a decline; otherwise empty
	Facts    *Facts        // of a decline; otherwise nil
}

// State is the state of a purchase.
type State string

// The states of a purchase.
const (
	Authorized State = "authorized"
	Settled    State = "settled"
	Refunded   State = "refunded" // in part or in full
	Declined   State = "declined"
)

// Facts are values of a declined purchase and of its card, as they were at the decline.
type Facts struct {
	Asked   usd.Amount `json:"asked"` // the requested amount plus the fee
	Balance usd.Amount `json:"balance"`
	Spent   usd.Amount `json:"spent"` // the part of the limit that is used in the month
	Limit   usd.Amount `json:"limit"`
	Month   string     `json:"month"` // YYYY-MM
	Allowed []string   `json:"allowed"`
}

// Scan implements sql.Scanner.
func (f *Facts) Scan(column any) error { return store.JSON{Into: f}.Scan(column) }

// record writes a transaction, adds it to its purchase, and returns it as the API shows it without quirks. It moves no
// money. The transaction's time is never earlier than that of the account's last transaction, even if the clock was set
// back, because lists rely on the order.
func record(tx *store.Tx, accountID int64, d draft) (Transaction, error) {
	last, err := store.Value[int64](tx, `
		SELECT created_at FROM transactions WHERE account_id = ? ORDER BY id DESC LIMIT 1`, accountID)
	if err != nil {
		return Transaction{}, err
	}
	created := max(last, tx.Now().UnixMilli())
	recorded := Transaction{
		ID:        tx.NewID("txn_"),
		CardID:    d.Card.PublicID,
		Type:      d.Type,
		Amount:    d.Amount,
		Currency:  "USD",
		Fee:       d.Fee,
		Merchant:  d.Merchant,
		CreatedAt: wire.Time{Time: time.UnixMilli(created)},
	}
	var facts []byte
	if d.Facts != nil {
		facts = wire.Encode(d.Facts)
	}
	rowID, err := tx.Insert(`
		INSERT INTO transactions (public_id, account_id, card_id, parent_id, type, amount, fee, merchant_name, merchant_mcc,
		                          decline_reason, decline_facts, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?, ''), NULLIF(?, ''), ?)`,
		recorded.ID, accountID, d.Card.ID, d.ParentID, d.Type, d.Amount, d.Fee, d.Merchant.Name, d.Merchant.MCC,
		d.Reason, string(facts), created)
	if err != nil {
		return Transaction{}, err
	}
	return recorded, addToPurchase(tx, accountID, rowID, d)
}

// addToPurchase sets the state of a transaction's purchase and adds the transaction to the purchase's sums. It also adds
// the transaction to the sums of the purchase's day, both for the card and for all cards.
func addToPurchase(tx *store.Tx, accountID, rowID int64, d draft) error {
	var state State
	var added Sums
	switch d.Type {
	case Authorization:
		state = Authorized
		added = Sums{Count: 1, Held: d.Amount}
	case Settlement:
		state = Settled
		added = Sums{Settled: d.Amount}
	case Refund:
		state = Refunded
		added = Sums{Refunded: d.Amount}
	case Decline:
		state = Declined
		added = Sums{Count: 1, Declines: 1}
	}
	added.Fees = d.Fee
	var purchasedAt int64
	var purchaseAmount usd.Amount
	// The row of the purchase is the parent's parent for a refund, the parent for a settlement, and otherwise the
	// transaction's own row.
	_, err := tx.Get([]any{&purchasedAt, &purchaseAmount}, `
		UPDATE transactions SET state = ?1, settled = settled + ?2, refunded = refunded + ?3, fees = fees + ?4
		WHERE id = COALESCE((SELECT parent_id FROM transactions WHERE id = ?5), ?5, ?6)
		RETURNING created_at, amount`,
		state, added.Settled, added.Refunded, added.Fees, d.ParentID, rowID)
	if err != nil {
		return err
	}
	if d.Type == Settlement { // the settlement ends the hold
		added.Held = -purchaseAmount
	}
	day := store.Day(time.UnixMilli(purchasedAt))
	for _, cardID := range []int64{AllCards, d.Card.ID} {
		err := tx.Exec(`
			INSERT INTO daily_sums (account_id, card_id, day, purchases, declines, held, settled, refunded, fees)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET
				purchases = purchases + excluded.purchases, declines = declines + excluded.declines, held = held + excluded.held,
				settled = settled + excluded.settled, refunded = refunded + excluded.refunded, fees = fees + excluded.fees`,
			accountID, cardID, day, added.Count, added.Declines, added.Held, added.Settled, added.Refunded, added.Fees)
		if err != nil {
			return err
		}
	}
	return nil
}

// selectTransactions selects the columns of a Transaction.
const selectTransactions = `
	SELECT t.public_id, c.public_id AS card_id, t.type, t.amount, 'USD' AS currency, t.fee,
	       t.merchant_name, t.merchant_mcc, t.created_at
	FROM transactions t JOIN cards c ON c.id = t.card_id `

type declineReason string

const (
	cardTerminated        declineReason = "card_terminated"
	cardFrozen            declineReason = "card_frozen"
	insufficientFunds     declineReason = "insufficient_funds"
	categoryNotAllowed    declineReason = "category_not_allowed"
	spendingLimitExceeded declineReason = "spending_limit_exceeded"
)

// authorize answers a merchant's request with a hold on the card's balance, or with a decline.
func authorize(c *server.Call) (wire.Response, error) {
	d, err := readAuthorization(c)
	if err != nil {
		return wire.Response{}, err
	}
	reason, facts, err := d.findDeclineReason(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	var body struct {
		Transaction   Transaction    `json:"transaction"`
		DeclineReason *declineReason `json:"decline_reason"`
	}
	if reason == "" {
		body.Transaction, err = d.approve(c)
	} else {
		body.Transaction, err = d.decline(c, reason, facts)
		body.DeclineReason = &reason
	}
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(body), nil
}

// readAuthorization reads the body of an authorization, and the card that it refers to.
func readAuthorization(c *server.Call) (draft, error) {
	var d draft
	fields := c.Fields()
	cardID := fields.Text("card_id")
	d.Amount = fields.PositiveAmount("amount")
	d.Fee = fields.OptionalNotNegativeAmount("fee")
	fields.Object("merchant", func(f *wire.Fields) {
		d.Merchant.Name = f.ShortText("name", card.MaxMerchantName)
		d.Merchant.MCC = f.Text("mcc")
		if !mccForm.MatchString(d.Merchant.MCC) {
			f.Refuse(wire.Invalid("mcc must be four digits"))
		}
	})
	err := fields.Done()
	if err != nil {
		return draft{}, err
	}
	d.Card, err = card.ByPublicID(c.Tx, c.Account.ID, cardID)
	if err != nil {
		return draft{}, err
	}
	return d, nil
}

// mccForm matches merchant category codes.
var mccForm = regexp.MustCompile(`^[0-9]{4}$`)

// findDeclineReason returns the reason to decline the purchase, and the Facts to store with a decline. The reason is empty
// if the purchase is approved.
func (d draft) findDeclineReason(tx *store.Tx) (declineReason, *Facts, error) {
	usedLimit, err := UsedLimit(tx, d.Card.ID)
	if err != nil {
		return "", nil, err
	}
	allowed := d.Card.AllowedCategories
	facts := &Facts{
		Asked:   d.Amount + d.Fee,
		Balance: d.Card.Balance,
		Spent:   usedLimit,
		Limit:   d.Card.SpendingLimit,
		Month:   monthOf(tx.Now()),
		Allowed: allowed,
	}
	category := card.CategoryOf(d.Merchant.MCC)
	categoryAllowed := len(allowed) == 0 || slices.Contains(allowed, category)
	var reason declineReason
	switch {
	case d.Card.Status == card.Terminated:
		reason = cardTerminated
	case d.Card.Status == card.Frozen:
		reason = cardFrozen
	case facts.Balance < facts.Asked:
		reason = insufficientFunds
	case !categoryAllowed:
		reason = categoryNotAllowed
	case facts.Spent+d.Amount > facts.Limit:
		reason = spendingLimitExceeded
	}
	return reason, facts, nil
}

// approve records an authorization and holds its amount.
func (d draft) approve(c *server.Call) (Transaction, error) {
	d.Type = Authorization
	recorded, err := book(c, d, "authorized", webhook.TransactionAuthorized, func() ([]ledger.Leg, error) {
		return []ledger.Leg{debit(d.Card, d.Amount), ledger.NewLeg(ledger.Holds, d.Amount)}, nil
	})
	if err != nil {
		return Transaction{}, err
	}
	return recorded, addUsedLimit(c.Tx, d.Card.ID, monthOf(recorded.CreatedAt.Time), d.Amount)
}

// decline records a decline, which has no fee.
func (d draft) decline(c *server.Call, reason declineReason, facts *Facts) (Transaction, error) {
	d.Type = Decline
	d.Fee = 0
	d.Reason = reason
	d.Facts = facts
	recorded, err := record(c.Tx, c.Account.ID, d)
	if err != nil {
		return Transaction{}, err
	}
	return recorded, webhook.Emit(c, webhook.TransactionDeclined, recorded.ID, recorded)
}
