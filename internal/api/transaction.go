package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// TransactionType says what happened. Values that this client does not know are
// carried through.
type TransactionType string

// UnmarshalJSON reads a type in any case.
func (t *TransactionType) UnmarshalJSON(data []byte) error {
	its, err := transport.ReadWord(data)
	*t = TransactionType(its)
	return err
}

// The documented types (API §2.2).
const (
	TransactionAuthorization TransactionType = "authorization"
	TransactionSettlement    TransactionType = "settlement"
	TransactionRefund        TransactionType = "refund"
	TransactionDecline       TransactionType = "decline"
)

// IsKnown reports whether a type is documented.
func (t TransactionType) IsKnown() bool {
	switch t {
	case TransactionAuthorization, TransactionSettlement, TransactionRefund, TransactionDecline:
		return true
	}
	return false
}

// Transaction is one event in a card's spending.
type Transaction struct {
	ID        string
	CardID    string
	Type      TransactionType // says which way money went
	Amount    usd.Decimal     // in Currency, without a sign
	Currency  string
	Fee       usd.Decimal // in Currency, without a sign
	Merchant  Merchant
	CreatedAt transport.Timestamp
	// Problem says why the amounts cannot be relied on; they are 0 then.
	Problem string
}

// Merchant is where a card was used.
type Merchant struct {
	Name transport.Name `json:"name"`
	MCC  transport.Word `json:"mcc"` // merchant category code
}

// TransactionFilter selects transactions; empty fields select all. From and To are inclusive.
type TransactionFilter struct {
	CardID string
	Type   TransactionType
	From   time.Time
	To     time.Time
}

// selects applies type and period to what a service has selected by them, which may be
// more. What has no time that can be read, or a type that is not known and so may be the
// service's own word for the one that was asked for, counts as selected.
func (f TransactionFilter) selects(t Transaction) bool {
	if f.Type != "" && t.Type != f.Type && t.Type.IsKnown() {
		return false
	}
	at, err := t.CreatedAt.Time()
	return err != nil || !at.Before(f.From) && (f.To.IsZero() || !at.After(f.To))
}

// dollar is the currency of amounts without one (API §1).
const dollar = "USD"

// transactionMoney is what sums depend on.
type transactionMoney struct {
	ID       string          `json:"id"`
	CardID   string          `json:"card_id"`
	Type     TransactionType `json:"type"`
	Amount   usd.Decimal     `json:"amount"`
	Currency transport.Word  `json:"currency"`
	Fee      usd.Decimal     `json:"fee"`
}

type transactionContext struct {
	Merchant  Merchant            `json:"merchant"`
	CreatedAt transport.Timestamp `json:"created_at"`
}

// decodeTransaction reads one of a page, which hides the others only where it has no id.
func decodeTransaction(i int, data json.RawMessage) (Transaction, error) {
	var f struct {
		transactionMoney
		transactionContext
	}
	required := []string{"id", "type", "amount"}
	err := transport.DecodeObject(data, &f, required...)
	if err != nil {
		var its struct {
			ID   string          `json:"id"`
			Type json.RawMessage `json:"type"`
		}
		if err := transport.DecodeEntry(i, data, &its, "id"); err != nil {
			return Transaction{}, err
		}
		err = transport.DecodeObject(data, &f.transactionMoney, required...)
		f.ID, f.Type = its.ID, transport.Readable[TransactionType](its.Type)
		_ = json.Unmarshal(data, &f.transactionContext) // as far as it goes
	}
	t := Transaction{
		ID: f.ID, CardID: f.CardID, Type: f.Type, Currency: cmp.Or(strings.ToUpper(f.Currency.String()), dollar),
		Merchant: f.Merchant, CreatedAt: f.CreatedAt,
	}
	if err == nil && t.CardID != "" && !transport.IsID(t.CardID) {
		err = transport.NoID("card_id", t.CardID)
	}
	if err == nil && !transport.IsID(t.ID) {
		err = transport.NoID("id", t.ID)
	}
	if err != nil {
		t.Problem = fmt.Sprintf("transaction %s cannot be read: %v", t.ID, err)
		return t, nil
	}
	t.Amount, t.Fee = f.Amount.Abs(), f.Fee.Abs()
	if t.Currency == dollar {
		t.Amount, t.Fee = t.Amount.WithoutNoise(), t.Fee.WithoutNoise()
	}
	return t, nil
}
