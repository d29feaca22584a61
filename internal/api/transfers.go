package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// TransferKind is the direction of a transfer, and the name of its endpoint.
type TransferKind string

// The two directions.
const (
	TransferFund     TransferKind = "fund"     // from the wallet to the card
	TransferWithdraw TransferKind = "withdraw" // from the card to the wallet
)

// Transfer is what a card and the wallet hold after money was moved between
// them, in USD.
type Transfer struct {
	CardID        string     `json:"card_id"`
	CardBalance   usd.Amount `json:"card_balance"`
	WalletBalance usd.Amount `json:"wallet_balance"`
	// Recovered says that the answer was lost and the balances were read
	// afterwards.
	Recovered bool `json:"-"`
}

// OverWithdrawalError says that the service moved more to the wallet than it
// was asked to. The withdrawal has been made, and the rest is in the wallet as
// well. Amounts are in USD.
type OverWithdrawalError struct {
	CardID   string
	Asked    usd.Amount
	Moved    usd.Amount
	Transfer Transfer // what card and wallet hold now
	Err      error    // why spending could not be told apart from it; nil when it could
}

// Error names both amounts and what to do.
func (e *OverWithdrawalError) Error() string {
	text := fmt.Sprintf("withdraw from card %s: %s USD were to be moved to the wallet, but the service moved %s USD and the card now holds %s USD; fund the card with the difference where it is needed",
		e.CardID, e.Asked, e.Moved, e.Transfer.CardBalance)
	if e.Err != nil {
		text += fmt.Sprintf(" (spending on the card may be part of this; its transactions could not be read: %v)", e.Err)
	}
	return text
}

// FundCard moves amount (USD, above 0) from the wallet to the card. When it
// cannot be told whether the money has moved the error is an
// *UndecidedTransferError.
func (c *Client) FundCard(ctx context.Context, id string, amount usd.Amount) (Transfer, error) {
	return c.transfer(ctx, TransferFund, id, amount)
}

// WithdrawCard moves amount (USD, above 0) from the card to the wallet. When it
// cannot be told whether the money has moved the error is an
// *UndecidedTransferError; when the service moved more than amount it is an
// *OverWithdrawalError.
func (c *Client) WithdrawCard(ctx context.Context, id string, amount usd.Amount) (Transfer, error) {
	return c.transfer(ctx, TransferWithdraw, id, amount)
}

func (c *Client) transfer(ctx context.Context, kind TransferKind, id string, amount usd.Amount) (Transfer, error) {
	operation := fmt.Sprintf("%s card %s with %s USD", kind, id, amount)
	if kind == TransferWithdraw {
		operation = fmt.Sprintf("withdraw %s USD from card %s", amount, id)
	}
	path, err := cardPath(id, "/"+string(kind))
	if err != nil {
		return Transfer{}, err
	}
	if amount <= 0 {
		return Transfer{}, fmt.Errorf("%s: the amount has to be above zero", operation)
	}
	body, err := json.Marshal(map[string]usd.Amount{"amount": amount})
	if err != nil {
		return Transfer{}, fmt.Errorf("%s: %w", operation, err)
	}
	release, err := c.cardLocks.acquire(ctx, id, whole)
	if err != nil {
		return Transfer{}, fmt.Errorf("%s: waiting for another call on this card: %w", operation, err)
	}
	defer release()

	before, err := c.lookAtCard(ctx, id, nil)
	if err != nil {
		return Transfer{}, fmt.Errorf("%s: nothing was moved, because the card could not be read first: %w", operation, err)
	}
	var result Transfer
	x := &call{
		operation: operation, method: http.MethodPost, path: path, body: body,
		accept: func(body []byte) error {
			result = Transfer{}
			if err := decodeObject(body, &result, "card_id", "card_balance", "wallet_balance"); err != nil {
				return err
			}
			return sameCard(id, result.CardID)
		},
	}
	pending := PendingTransfer{CardID: id, Kind: kind, Amount: amount, BalanceBefore: before.balance, NewestTransaction: before.newest, Unsteady: !before.steady}
	last := TransferOutcome{State: TransferUndecided, CardBalance: before.balance}
	how, err := c.change(ctx, &change{call: x, look: func(ctx context.Context) (verdict, error) {
		var err error
		last, err = c.settle(ctx, pending)
		switch {
		case err == nil && last.State == TransferUndecided:
			return notDone, errors.New(last.Reason)
		case last.State == TransferDone:
			return done, nil
		}
		return notDone, err
	}})
	doubt, _ := errors.AsType[*doubtError](err)
	switch {
	case doubt != nil:
		pending.Key, pending.BalanceAfter, pending.SentAt = how.key, last.CardBalance, how.sent
		return Transfer{}, &UndecidedTransferError{Pending: pending, err: unknownOutcome(x, how, err,
			"the next read of this card settles it where that is possible; move no money on this card before")}
	case err != nil:
		return Transfer{}, err
	case how.seen:
		return c.recoveredTransfer(ctx, id, last.CardBalance), nil
	case kind == TransferWithdraw:
		return result, c.checkWithdrawal(ctx, pending, result)
	}
	return result, nil
}

// recoveredTransfer fills in what the lost answer would have said. The transfer
// has been made, so a wallet that cannot be read is no error.
func (c *Client) recoveredTransfer(ctx context.Context, id string, balance usd.Amount) Transfer {
	transfer := Transfer{CardID: id, CardBalance: balance, Recovered: true}
	if wallet, err := c.WalletBalance(ctx); err == nil {
		transfer.WalletBalance = wallet.Balance
	}
	return transfer
}

// checkWithdrawal finds a service that ignores the amount: the card's balance
// then fell by more than was asked, and by more than its transactions explain.
func (c *Client) checkWithdrawal(ctx context.Context, asked PendingTransfer, result Transfer) error {
	moved := asked.BalanceBefore - result.CardBalance
	if moved <= asked.Amount {
		return nil
	}
	since, err := c.transactionsSince(ctx, asked.CardID, asked.NewestTransaction)
	if err == nil {
		moved -= since.spent + since.fees
	}
	if moved <= asked.Amount || since.unclear != "" && result.CardBalance > 0 {
		return nil
	}
	return &OverWithdrawalError{CardID: asked.CardID, Asked: asked.Amount, Moved: moved, Transfer: result, Err: err}
}
