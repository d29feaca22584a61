package api

import (
	"errors"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// CardStatus is the state of a card, in lower case. It may be a value that is not documented.
type CardStatus string

// UnmarshalJSON decodes a status in any case, so that "FROZEN" is not an unknown status.
func (s *CardStatus) UnmarshalJSON(data []byte) error {
	word, err := transport.ReadWord(data)
	*s = CardStatus(word)
	return err
}

// The documented states (API §3).
const (
	StatusActive     CardStatus = "active"
	StatusFrozen     CardStatus = "frozen"
	StatusTerminated CardStatus = "terminated"
)

// IsKnown reports whether a status is documented.
func (s CardStatus) IsKnown() bool {
	switch s {
	case StatusActive, StatusFrozen, StatusTerminated:
		return true
	}
	return false
}

// CardListItem is a card in a list. Amounts are in USD.
type CardListItem struct {
	ID            string          `json:"id"`
	BinID         string          `json:"bin_id"`
	Network       transport.Word  `json:"network"`
	Last4         transport.Word  `json:"last4"`
	Status        CardStatus      `json:"status"`
	Balance       usd.Amount      `json:"balance"`
	SpendingLimit usd.Amount      `json:"spending_limit"` // per month
	Label         transport.Label `json:"label"`
}

// CardSummary is a card in the response to a request for a single card.
type CardSummary struct {
	CardListItem
	CreatedAt transport.Timestamp `json:"created_at"`
}

// Card is a card in the response to its issuance. That response also has the expiry date.
type Card struct {
	CardSummary
	ExpiresAt transport.Date `json:"expires_at"`
}

// requiredCardFields returns the fields that a card in a response must have. If a missing BIN or limit were read as
// empty, the card would seem to have changed.
func requiredCardFields() []string {
	return []string{"id", "status", "balance", "bin_id", "spending_limit"}
}

// mayBeCardID reports whether a request about a card with this id is possible. The ids "." and ".." would
// lead to another path. Package transport puts a space into an id that it has marked as invalid.
func mayBeCardID(id string) bool {
	const maxLength = 256
	switch id {
	case "", ".", "..":
		return false
	}
	return len(id) <= maxLength && !strings.Contains(id, " ")
}

// decodeCard decodes a response about the card with the given id. A response about another card is an error. After an
// error, into holds the zero value.
func decodeCard[T any](body []byte, id string, into *T, required ...string) error {
	var zero T
	*into = zero // an earlier attempt may have set fields
	var decoded T
	err := transport.DecodeObject(body, &decoded, required...)
	if err != nil {
		return err
	}
	var ids struct { // not every T has these fields
		ID    string `json:"id"`
		BinID string `json:"bin_id"`
	}
	err = transport.DecodeObject(body, &ids)
	if err != nil {
		return err
	}
	if ids.BinID != "" && !transport.IsID(ids.BinID) {
		return transport.InvalidID("bin_id", ids.BinID)
	}
	err = checkSameCard("id", id, ids.ID)
	if err != nil {
		return err
	}
	*into = decoded
	return nil
}

// checkSameCard returns an error if a response is about another card than the requested one. field is the field of the
// response that has the received id.
func checkSameCard(field, requested, received string) error {
	if requested == received {
		return nil
	}
	if strings.EqualFold(requested, received) {
		return &transport.ShapeError{
			Field:   field,
			Problem: "is " + received + ", the requested id in another case. Use the id exactly as the dashboard shows it",
		}
	}
	return errors.New("the response is about another card")
}
