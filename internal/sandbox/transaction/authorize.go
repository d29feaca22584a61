package transaction

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

type declineReason string

const (
	cardTerminated        declineReason = "card_terminated"
	cardFrozen            declineReason = "card_frozen"
	insufficientFunds     declineReason = "insufficient_funds"
	categoryNotAllowed    declineReason = "category_not_allowed"
	spendingLimitExceeded declineReason = "spending_limit_exceeded"
)

type attempt struct {
	card     *card.Card
	amount   usd.Amount
	fee      usd.Amount
	merchant Merchant
}

// authorize responds to a merchant with a hold on the card's money, or a decline.
// Both are recorded.
func authorize(c *server.Call) (wire.Response, error) {
	a, err := readAttempt(c)
	if err != nil {
		return wire.Response{}, err
	}
	reason, facts, err := a.decline(c.Tx)
	if err != nil {
		return wire.Response{}, err
	}
	body := struct {
		Transaction   Transaction    `json:"transaction"`
		DeclineReason *declineReason `json:"decline_reason"`
	}{}
	if reason == "" {
		body.Transaction, err = a.approve(c)
	} else {
		body.Transaction, err = a.refuse(c, reason, facts)
		body.DeclineReason = &reason
	}
	return wire.Created(body), err
}

func readAttempt(c *server.Call) (a attempt, err error) {
	fields := c.Fields()
	cardID := fields.Text("card_id")
	a.amount = fields.Positive("amount")
	a.fee = fields.OptionalNotNegative("fee")
	fields.Object("merchant", func(f *wire.Fields) {
		a.merchant = Merchant{Name: f.ShortText("name", card.MaxMerchantName), MCC: f.Text("mcc")}
		if !isMCC(a.merchant.MCC) {
			f.Refuse(wire.Invalid("mcc must be four digits"))
		}
	})
	if err := fields.Done(); err != nil {
		return attempt{}, err
	}
	a.card, err = card.ByPublicID(c.Tx, c.Account.ID, cardID)
	return a, err
}

func isMCC(code string) bool {
	return len(code) == 4 && !slices.ContainsFunc([]byte(code), func(b byte) bool { return b < '0' || b > '9' })
}

// decline returns why the card is not accepted, the first reason when there
// are several; "" when it is. The facts are what it was decided by.
func (a attempt) decline(tx *store.Tx) (reason declineReason, facts *Facts, err error) {
	spent, err := Counted(tx, a.card.ID)
	facts = &Facts{
		Asked:   a.amount + a.fee,
		Balance: a.card.Balance,
		Spent:   spent,
		Limit:   a.card.SpendingLimit,
		Month:   monthOf(tx.Now()),
		Allowed: a.card.AllowedCategories,
	}
	switch allowed := a.card.AllowedCategories; {
	case a.card.Status == card.Terminated:
		reason = cardTerminated
	case a.card.Status == card.Frozen:
		reason = cardFrozen
	case a.card.Balance < facts.Asked:
		reason = insufficientFunds
	case len(allowed) > 0 && !slices.Contains(allowed, card.CategoryOf(a.merchant.MCC)):
		reason = categoryNotAllowed
	case facts.Spent+a.amount > facts.Limit:
		reason = spendingLimitExceeded
	}
	return reason, facts, err
}

func (a attempt) approve(c *server.Call) (Transaction, error) {
	n := New{Card: a.card, Type: Authorization, Amount: a.amount, Fee: a.fee, Merchant: a.merchant}
	shown, err := book(c, n, "authorized", webhook.TransactionAuthorized, func() ([]ledger.Leg, error) {
		return []ledger.Leg{debit(a.card, a.amount), ledger.On(ledger.Holds, a.amount)}, nil
	})
	if err != nil {
		return Transaction{}, err
	}
	return shown, addCounted(c.Tx, a.card.ID, monthOf(shown.CreatedAt.Time), a.amount)
}

func (a attempt) refuse(c *server.Call, reason declineReason, facts *Facts) (Transaction, error) {
	shown, err := record(c.Tx, c.Account.ID, New{
		Card: a.card, Type: Decline, Amount: a.amount, Merchant: a.merchant, Reason: reason, Facts: facts,
	})
	if err != nil {
		return Transaction{}, err
	}
	return shown, webhook.Emit(c, webhook.TransactionDeclined, shown)
}
