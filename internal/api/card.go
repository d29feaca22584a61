package api

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// CardStatus is the state of a card, in lower case. Values that this client does
// not know are carried through.
type CardStatus string

// UnmarshalJSON reads a status in any case: a frozen card must not be taken for
// one that is not.
func (s *CardStatus) UnmarshalJSON(data []byte) error {
	its, err := transport.ReadWord(data)
	*s = CardStatus(its)
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
	return s == StatusActive || s == StatusFrozen || s == StatusTerminated
}

// CardListItem is a card as lists show it. Amounts are in USD.
type CardListItem struct {
	ID            string          `json:"id"`
	BinID         string          `json:"bin_id"`
	Network       transport.Word  `json:"network"`
	Last4         transport.Word  `json:"last4"`
	Status        CardStatus      `json:"status"`
	Balance       usd.Amount      `json:"balance"`
	SpendingLimit usd.Amount      `json:"spending_limit"` // a month
	Label         transport.Label `json:"label"`
}

// CardSummary is a card as its own address shows it.
type CardSummary struct {
	CardListItem
	CreatedAt transport.Timestamp `json:"created_at"`
}

// Card is a card as its issuance shows it, less what no later read shows to compare with.
type Card struct {
	CardSummary
	ExpiresAt transport.Date `json:"expires_at"`
}

// requiredOfCard lists what every card of a response must have: one without its
// BIN or limit must not read as a card that has changed.
func requiredOfCard() []string {
	return []string{"id", "status", "balance", "bin_id", "spending_limit"}
}

// cardCall is a call about one card. One that the service may not show yet is asked for
// again where it is not found.
func (c *Client) cardCall(operation, method, id, action string) *transport.Call {
	const longest = 256
	call := &transport.Call{
		Card: id, NewUntil: c.recent.of(id).newUntil,
		Operation: operation, Method: method, Path: "/cards/" + url.PathEscape(id) + action,
	}
	if id == "" || id == "." || id == ".." || len(id) > longest || strings.Contains(id, " ") {
		call.Invalid = fmt.Errorf("%.40q is not a card id; card ids look like card_… and are shown in the dashboard", id)
	}
	return call
}

// decodeCard reads a response about one card, and guards against one about another.
func decodeCard[T any](body []byte, id string, into *T, required ...string) error {
	*into = *new(T)
	if err := transport.DecodeObject(body, into, required...); err != nil {
		return err
	}
	var its struct {
		ID    string `json:"id"`
		BinID string `json:"bin_id"`
	}
	if err := transport.DecodeObject(body, &its); err != nil {
		return err
	}
	if its.BinID != "" && !transport.IsID(its.BinID) {
		return transport.InvalidID("bin_id", its.BinID)
	}
	return sameCard(id, its.ID)
}

func sameCard(requested, received string) error {
	if requested != received && strings.EqualFold(requested, received) {
		return &transport.ShapeError{Field: "id", Problem: "is " + received + ", the requested id in another case: use the id exactly as the dashboard shows it"}
	}
	if requested != received {
		return errors.New("the response is about another card")
	}
	return nil
}
