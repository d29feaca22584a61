package transaction

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

type declineReason string

const (
	cardTerminated        declineReason = "card_terminated"
	cardFrozen            declineReason = "card_frozen"
	insufficientFunds     declineReason = "insufficient_funds"
	categoryNotAllowed    declineReason = "category_not_allowed"
	spendingLimitExceeded declineReason = "spending_limit_exceeded"
)

// authorize responds to a merchant with a hold on the card's money, or a decline.
// Both are recorded.
func authorize(c *server.Call) (wire.Response, error) {
	n, err := readAttempt(c)
	if err != nil {
		return wire.Response{}, err
	}
	reason, facts, err := n.decline(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	body := struct {
		Transaction   Transaction    `json:"transaction"`
		DeclineReason *declineReason `json:"decline_reason"`
	}{}
	if reason == "" {
		body.Transaction, err = n.approve(c)
	} else {
		body.Transaction, err = n.refuse(c, reason, facts)
		body.DeclineReason = &reason
	}
	return wire.Created(body), err
}

func readAttempt(c *server.Call) (n New, err error) {
	fields := c.Fields()
	cardID := fields.Text("card_id")
	n.Amount = fields.Positive("amount")
	n.Fee = fields.OptionalNotNegative("fee")
	fields.Object("merchant", func(f *wire.Fields) {
		n.Merchant = Merchant{Name: f.ShortText("name", card.MaxMerchantName), MCC: f.Text("mcc")}
		if !isMCC(n.Merchant.MCC) {
			f.Refuse(wire.Invalid("mcc must be four digits"))
		}
	})
	if err := fields.Done(); err != nil {
		return New{}, err
	}
	n.Card, err = card.ByPublicID(c.Tx, c.Account.ID, cardID)
	return n, err
}

func isMCC(code string) bool {
	return len(code) == 4 && !slices.ContainsFunc([]byte(code), func(b byte) bool { return b < '0' || b > '9' })
}

// decline returns why the card is not accepted, the first reason when there
// are several; "" when it is. The facts are what it was decided by.
func (n New) decline(tx *store.Tx) (reason declineReason, facts *Facts, err error) {
	spent, err := Counted(tx, n.Card.ID)
	facts = &Facts{
		Asked:   n.Amount + n.Fee,
		Balance: n.Card.Balance,
		Spent:   spent,
		Limit:   n.Card.SpendingLimit,
		Month:   monthOf(tx.Now()),
		Allowed: n.Card.AllowedCategories,
	}
	switch allowed := n.Card.AllowedCategories; {
	case n.Card.Status == card.Terminated:
		reason = cardTerminated
	case n.Card.Status == card.Frozen:
		reason = cardFrozen
	case n.Card.Balance < facts.Asked:
		reason = insufficientFunds
	case len(allowed) > 0 && !slices.Contains(allowed, card.CategoryOf(n.Merchant.MCC)):
		reason = categoryNotAllowed
	case facts.Spent+n.Amount > facts.Limit:
		reason = spendingLimitExceeded
	}
	return reason, facts, err
}

func (n New) approve(c *server.Call) (Transaction, error) {
	n.Type = Authorization
	shown, err := book(c, n, "authorized", webhook.TransactionAuthorized, func() ([]ledger.Leg, error) {
		return []ledger.Leg{debit(n.Card, n.Amount), ledger.On(ledger.Holds, n.Amount)}, nil
	})
	if err != nil {
		return Transaction{}, err
	}
	return shown, addCounted(c.Tx, n.Card.ID, monthOf(shown.CreatedAt.Time), n.Amount)
}

func (n New) refuse(c *server.Call, reason declineReason, facts *Facts) (Transaction, error) {
	n.Type, n.Fee, n.Reason, n.Facts = Decline, 0, reason, facts
	shown, err := record(c.Tx, c.Account.ID, n)
	if err != nil {
		return Transaction{}, err
	}
	return shown, webhook.Emit(c, webhook.TransactionDeclined, shown)
}
