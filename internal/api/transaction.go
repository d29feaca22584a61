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

// TransactionType says what happened, in lower case. It may be a value that is not documented.
type TransactionType string

// UnmarshalJSON decodes a type in any case, so that "REFUND" is not an unknown type.
func (t *TransactionType) UnmarshalJSON(data []byte) error {
	word, err := transport.ReadWord(data)
	*t = TransactionType(word)
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
	// Problem says why the transaction cannot be relied on; its amounts are 0 then. Normally, it is empty.
	Problem string
}

// IsOfOtherCard reports whether the transaction certainly belongs to a card other than the given one. An id that is
// missing or invalid, or that differs only in case, may be that of the card.
func (t Transaction) IsOfOtherCard(cardID string) bool {
	return transport.IsID(t.CardID) && !strings.EqualFold(t.CardID, cardID)
}

// Merchant is where a card was used.
type Merchant struct {
	Name transport.Name `json:"name"`
	MCC  transport.Word `json:"mcc"` // merchant category code
}

// TransactionFilter selects transactions. An empty field selects all transactions. From and To are inclusive.
type TransactionFilter struct {
	CardID string
	Type   TransactionType
	From   time.Time
	To     time.Time
}

// selects reports whether a listed transaction matches the filter, because a service may return more than was
// requested. A field whose value is missing, invalid or unknown counts as a match.
func (f TransactionFilter) selects(t Transaction) bool {
	if f.CardID != "" && t.IsOfOtherCard(f.CardID) {
		return false
	}
	differs := f.Type != "" && t.Type != f.Type
	if differs && t.Type.IsKnown() {
		return false
	}
	at, err := t.CreatedAt.Time()
	if err != nil {
		return true
	}
	if at.Before(f.From) {
		return false
	}
	return f.To.IsZero() || !at.After(f.To)
}

// dollar is the currency of amounts without one (API §1).
const dollar = "USD"

// transactionMoney has the fields that sums depend on.
type transactionMoney struct {
	ID       string          `json:"id"`
	CardID   string          `json:"card_id"`
	Type     TransactionType `json:"type"`
	Amount   usd.Decimal     `json:"amount"`
	Currency transport.Word  `json:"currency"`
	Fee      usd.Decimal     `json:"fee"`
}

// transactionContext has the fields that may be unreadable, because no sum contains them.
type transactionContext struct {
	Merchant  Merchant            `json:"merchant"`
	CreatedAt transport.Timestamp `json:"created_at"`
}

type transactionFields struct {
	transactionMoney
	transactionContext
}

// requiredTransactionFields returns the fields without which a transaction cannot be read.
func requiredTransactionFields() []string { return []string{"id", "type", "amount"} }

// decodeTransaction decodes one transaction of a page. If the transaction has an id but cannot be read
// otherwise, the result reports that in Problem, so that the page's other transactions are not lost.
func decodeTransaction(i int, data json.RawMessage) (Transaction, error) {
	var fields transactionFields
	err := transport.DecodeObject(data, &fields, requiredTransactionFields()...)
	if err != nil { // the transaction is still usable if the fields that sums depend on can be read
		return decodeReadableFields(i, data)
	}
	return fields.transaction(fields.checkIDs()), nil
}

// decodeReadableFields is decodeTransaction for a transaction with fields that cannot be read.
func decodeReadableFields(i int, data json.RawMessage) (Transaction, error) {
	var fields transactionFields
	_ = json.Unmarshal(data, &fields.transactionContext) // a field that cannot be read stays empty
	moneyErr := transport.DecodeObject(data, &fields.transactionMoney, requiredTransactionFields()...)
	if moneyErr == nil {
		return fields.transaction(fields.checkIDs()), nil
	}
	// The failed decode may have set the card id and the currency. It may have stopped before the id and the type.
	var known struct {
		ID   string          `json:"id"`
		Type json.RawMessage `json:"type"`
	}
	err := transport.DecodeEntry(i, data, &known, "id")
	if err != nil {
		return Transaction{}, err
	}
	fields.ID = known.ID
	fields.Type = transport.DecodeOrZero[TransactionType](known.Type)
	return fields.transaction(moneyErr), nil
}

// transaction returns the transaction with these fields. If problem is not nil, the transaction reports it, and has no
// amounts.
func (f transactionFields) transaction(problem error) Transaction {
	t := Transaction{
		ID:        f.ID,
		CardID:    f.CardID,
		Type:      f.Type,
		Currency:  cmp.Or(strings.ToUpper(f.Currency.String()), dollar),
		Merchant:  f.Merchant,
		CreatedAt: f.CreatedAt,
	}
	if problem != nil {
		t.Problem = fmt.Sprintf("transaction %s cannot be read: %v", t.ID, problem)
		return t
	}
	t.Amount = f.Amount.Abs()
	t.Fee = f.Fee.Abs()
	if t.Currency == dollar {
		t.Amount = t.Amount.WithoutNoise()
		t.Fee = t.Fee.WithoutNoise()
	}
	return t
}

// checkIDs returns an error if the card id or the transaction id is not valid.
func (m transactionMoney) checkIDs() error {
	if m.CardID != "" && !transport.IsID(m.CardID) {
		return transport.InvalidID("card_id", m.CardID)
	}
	if !transport.IsID(m.ID) {
		return transport.InvalidID("id", m.ID)
	}
	return nil
}
