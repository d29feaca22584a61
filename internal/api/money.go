package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// MoveResponse has the balances that the response to a movement reports.
type MoveResponse struct {
	CardBalance   usd.Amount   // USD
	WalletBalance *usd.Decimal // the wallet is held in USDT; nil if the response has no balance that can be read
}

// MoveOperation describes a movement of delta USD, as in "fund card card_1 with 5.00 USD". A negative delta is a
// withdrawal.
func MoveOperation(card string, delta usd.Amount) string {
	if delta > 0 {
		return fmt.Sprintf("fund card %s with %s USD", card, delta)
	}
	return fmt.Sprintf("withdraw %s USD from card %s", -delta, card)
}

// BeginMove prepares to fund a card with delta USD, or to withdraw from it if delta is negative. All attempts
// have the given idempotency key, as described for Begin of transport.Client. The argument response is set from a 2xx
// response that is about this card and has a readable balance. The caller must read the card to confirm the movement.
func (c *Client) BeginMove(
	ctx context.Context, card string, delta usd.Amount, key string, response *MoveResponse,
) (m *transport.Mutation, end func(), err error) {
	action := "/withdraw"
	if delta > 0 {
		action = "/fund"
	}
	body, err := json.Marshal(map[string]usd.Amount{"amount": delta.Abs()})
	if err != nil {
		return nil, nil, err
	}
	call := c.cardCall(MoveOperation(card, delta), http.MethodPost, card, action)
	call.Kind = transport.MutationMove
	call.Body = body
	call.Accept = func(body []byte) error {
		var fields struct {
			CardID        string          `json:"card_id"`
			CardBalance   usd.Amount      `json:"card_balance"`
			WalletBalance json.RawMessage `json:"wallet_balance"` // may be invalid
		}
		err := transport.DecodeObject(body, &fields, "card_id", "card_balance")
		if err != nil {
			return err
		}
		err = checkSameCard("card_id", card, fields.CardID)
		if err != nil {
			return err
		}
		response.CardBalance = fields.CardBalance
		response.WalletBalance = transport.DecodeOrZero[*usd.Decimal](fields.WalletBalance)
		return nil
	}
	return c.Begin(ctx, call, key)
}

// TransactionPages returns a function that reads one page of the service's list for the filter. The list should be
// newest first. A page may contain transactions that the filter does not select, because the request extends the period
// and some services ignore parameters. Pages are counted from 1, and page 1 must be read first. A page past the end is
// usually empty or repeats another one.
func (c *Client) TransactionPages(filter TransactionFilter) func(ctx context.Context, number int) ([]Transaction, error) {
	return c.transactionPages(filter).read
}
