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

// New is a transaction to record.
type New struct {
	Card     *card.Card
	ParentID *int64 // the row id of the transaction that a settlement or a refund follows
	Type     Type
	Amount   usd.Amount
	Fee      usd.Amount
	Merchant Merchant
	Reason   declineReason // of a decline
	Facts    *Facts        // of a decline
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

// Facts are the values that decided a decline, at the time of the decline.
type Facts struct {
	Asked   usd.Amount `json:"asked"` // the requested amount plus the fee
	Balance usd.Amount `json:"balance"`
	Spent   usd.Amount `json:"spent"` // in the UTC calendar month
	Limit   usd.Amount `json:"limit"`
	Month   string     `json:"month"` // YYYY-MM
	Allowed []string   `json:"allowed"`
}

// Scan decodes the JSON of a column.
func (f *Facts) Scan(column any) error { return store.JSON{Into: f}.Scan(column) }

// record writes a transaction and returns it as the API shows it. It moves no money. The transaction's time is never
// earlier than that of the account's last transaction, even if the clock was set back, because lists rely
// on the order.
func record(tx *store.Tx, accountID int64, n New) (Transaction, error) {
	last, err := store.Value[int64](tx, `
		SELECT created_at FROM transactions WHERE account_id = ? ORDER BY id DESC LIMIT 1`, accountID)
	if err != nil {
		return Transaction{}, err
	}
	created := max(last, tx.Now().UnixMilli())
	recorded := Transaction{
		ID:        tx.NewID("txn_"),
		CardID:    n.Card.PublicID,
		Type:      n.Type,
		Amount:    n.Amount,
		Currency:  "USD",
		Fee:       n.Fee,
		Merchant:  n.Merchant,
		CreatedAt: wire.Time{Time: time.UnixMilli(created)},
	}
	var facts []byte
	if n.Facts != nil {
		facts = wire.Encode(n.Facts)
	}
	rowID, err := tx.Insert(`
		INSERT INTO transactions (public_id, account_id, card_id, parent_id, type, amount, fee, merchant_name, merchant_mcc,
		                          decline_reason, decline_facts, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?, ''), NULLIF(?, ''), ?)`,
		recorded.ID, accountID, n.Card.ID, n.ParentID, n.Type, n.Amount, n.Fee, n.Merchant.Name, n.Merchant.MCC,
		n.Reason, string(facts), created)
	if err != nil {
		return Transaction{}, err
	}
	return recorded, addToPurchase(tx, accountID, rowID, n)
}

// addToPurchase adds a transaction to the sums of its purchase. It also adds it to the sums of the day of the
// purchase, both for the card and for all cards.
func addToPurchase(tx *store.Tx, accountID, rowID int64, n New) error {
	var state State
	var added Sums
	switch n.Type {
	case Authorization:
		state = Authorized
		added = Sums{Count: 1, Held: n.Amount}
	case Settlement:
		state = Settled
		added = Sums{Settled: n.Amount}
	case Refund:
		state = Refunded
		added = Sums{Refunded: n.Amount}
	case Decline:
		state = Declined
		added = Sums{Count: 1, Declines: 1}
	}
	var purchasedAt int64
	var authorized usd.Amount
	// The row of the purchase is the parent's parent for a refund, the parent for a settlement, and otherwise the
	// transaction's own row.
	_, err := tx.Get([]any{&purchasedAt, &authorized}, `
		UPDATE transactions SET state = ?1, settled = settled + ?2, refunded = refunded + ?3, fees = fees + ?4
		WHERE id = COALESCE((SELECT parent_id FROM transactions WHERE id = ?5), ?5, ?6)
		RETURNING created_at, amount`,
		state, added.Settled, added.Refunded, n.Fee, n.ParentID, rowID)
	if err != nil {
		return err
	}
	if n.Type == Settlement { // the settlement ends the hold
		added.Held = -authorized
	}
	day := store.Day(time.UnixMilli(purchasedAt))
	for _, cardID := range []int64{AllCards, n.Card.ID} {
		err := tx.Exec(`
			INSERT INTO daily_sums (account_id, card_id, day, purchases, declines, held, settled, refunded, fees)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET
				purchases = purchases + excluded.purchases, declines = declines + excluded.declines, held = held + excluded.held,
				settled = settled + excluded.settled, refunded = refunded + excluded.refunded, fees = fees + excluded.fees`,
			accountID, cardID, day, added.Count, added.Declines, added.Held, added.Settled, added.Refunded, n.Fee)
		if err != nil {
			return err
		}
	}
	return nil
}

const columns = `
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
	n, err := readAuthorization(c)
	if err != nil {
		return wire.Response{}, err
	}
	reason, facts, err := n.findDeclineReason(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	var body struct {
		Transaction   Transaction    `json:"transaction"`
		DeclineReason *declineReason `json:"decline_reason"`
	}
	if reason == "" {
		body.Transaction, err = n.approve(c)
	} else {
		body.Transaction, err = n.refuse(c, reason, facts)
		body.DeclineReason = &reason
	}
	return wire.Created(body), err
}

// readAuthorization reads the body of an authorization, and the card that it refers to.
func readAuthorization(c *server.Call) (New, error) {
	var n New
	fields := c.Fields()
	cardID := fields.Text("card_id")
	n.Amount = fields.PositiveAmount("amount")
	n.Fee = fields.OptionalNotNegativeAmount("fee")
	fields.Object("merchant", func(f *wire.Fields) {
		n.Merchant.Name = f.ShortText("name", card.MaxMerchantName)
		n.Merchant.MCC = f.Text("mcc")
		if !mccForm.MatchString(n.Merchant.MCC) {
			f.Refuse(wire.Invalid("mcc must be four digits"))
		}
	})
	err := fields.Done()
	if err != nil {
		return New{}, err
	}
	n.Card, err = card.ByPublicID(c.Tx, c.Account.ID, cardID)
	return n, err
}

// mccForm matches merchant category codes.
var mccForm = regexp.MustCompile(`^[0-9]{4}$`)

// findDeclineReason returns the first reason to decline the purchase, and the values that decide it. The reason
// is empty if the purchase is approved.
func (n New) findDeclineReason(tx *store.Tx) (declineReason, *Facts, error) {
	spent, err := UsedLimit(tx, n.Card.ID)
	if err != nil {
		return "", nil, err
	}
	facts := &Facts{
		Asked:   n.Amount + n.Fee,
		Balance: n.Card.Balance,
		Spent:   spent,
		Limit:   n.Card.SpendingLimit,
		Month:   monthOf(tx.Now()),
		Allowed: n.Card.AllowedCategories,
	}
	allowed := n.Card.AllowedCategories
	category := card.CategoryOf(n.Merchant.MCC)
	categoryAllowed := len(allowed) == 0 || slices.Contains(allowed, category)
	var reason declineReason
	switch {
	case n.Card.Status == card.Terminated:
		reason = cardTerminated
	case n.Card.Status == card.Frozen:
		reason = cardFrozen
	case n.Card.Balance < facts.Asked:
		reason = insufficientFunds
	case !categoryAllowed:
		reason = categoryNotAllowed
	case facts.Spent+n.Amount > facts.Limit:
		reason = spendingLimitExceeded
	}
	return reason, facts, nil
}

// approve records an authorization and holds its amount.
func (n New) approve(c *server.Call) (Transaction, error) {
	n.Type = Authorization
	recorded, err := book(c, n, "authorized", webhook.TransactionAuthorized, func() ([]ledger.Leg, error) {
		return []ledger.Leg{debit(n.Card, n.Amount), ledger.On(ledger.Holds, n.Amount)}, nil
	})
	if err != nil {
		return Transaction{}, err
	}
	return recorded, addUsedLimit(c.Tx, n.Card.ID, monthOf(recorded.CreatedAt.Time), n.Amount)
}

// refuse records a decline, which has no fee.
func (n New) refuse(c *server.Call, reason declineReason, facts *Facts) (Transaction, error) {
	n.Type = Decline
	n.Fee = 0
	n.Reason = reason
	n.Facts = facts
	recorded, err := record(c.Tx, c.Account.ID, n)
	if err != nil {
		return Transaction{}, err
	}
	return recorded, webhook.Emit(c, webhook.TransactionDeclined, recorded.ID, recorded)
}
