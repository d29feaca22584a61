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
	// Recovered says that the response was lost and the balances were read
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

// Error names both amounts.
func (e *OverWithdrawalError) Error() string {
	text := fmt.Sprintf("withdraw from card %s: %s USD were to be moved to the wallet, but the service moved %s USD and the card now holds %s USD",
		e.CardID, e.Asked, e.Moved, e.Transfer.CardBalance)
	if e.Err != nil {
		text += fmt.Sprintf(" (spending on the card may be part of this; its transactions could not be read: %v)", e.Err)
	}
	return text
}

// FundCard moves amount (USD, above 0) from the wallet to the card. When it
// cannot be told whether the money has moved the error is an
// *UndecidedError.
func (c *Client) FundCard(ctx context.Context, id string, amount usd.Amount) (Transfer, error) {
	return c.transfer(ctx, TransferFund, id, amount)
}

// WithdrawCard moves amount (USD, above 0) from the card to the wallet. When it
// cannot be told whether the money has moved the error is an
// *UndecidedError; when the service moved more than amount it is an
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
	release, err := c.cardLocks.acquire(ctx, id, exclusive)
	if err != nil {
		return Transfer{}, fmt.Errorf("%s: waiting for another call on this card: %w", operation, err)
	}
	defer release()

	before, err := c.snapshot(ctx, id, nil)
	if err != nil {
		return Transfer{}, fmt.Errorf("%s: nothing was moved, because the card could not be read first: %w", operation, err)
	}
	var moved Transfer
	move := &call{
		operation: operation, method: http.MethodPost, path: path, body: body,
		accept: func(body []byte) error {
			moved = Transfer{}
			if err := decodeObject(body, &moved, "card_id", "card_balance", "wallet_balance"); err != nil {
				return err
			}
			return sameCard(id, moved.CardID)
		},
	}
	pending := PendingTransfer{CardID: id, Kind: kind, Amount: amount, BalanceBefore: before.balance, NewestTransaction: before.newest, Unsteady: !before.steady}
	last := TransferOutcome{State: TransferUndecided, CardBalance: before.balance}
	how, err := c.mutate(ctx, &mutation{kind: Move, call: move, verify: func(ctx context.Context) outcome {
		var err error
		last, err = c.reconcile(ctx, pending)
		switch {
		case err != nil:
			return outcome{undecided, err}
		case last.State == TransferUndecided:
			return outcome{undecided, errors.New(last.Reason)}
		case last.State == TransferDone:
			return outcome{state: applied}
		}
		return outcome{state: notApplied}
	}})
	if open, ok := errors.AsType[*UndecidedError](err); ok {
		pending.Key, pending.BalanceAfter, pending.SentAt = open.Key, last.CardBalance, open.SentAt
		open.Transfer = &pending
	}
	detached, end := withGrace(ctx, 2*c.requestTime+c.commitWait)
	defer end()
	switch {
	case err != nil:
		return Transfer{}, err
	case how.verified:
		return c.recoveredTransfer(detached, id, last.CardBalance), nil
	case kind == TransferWithdraw:
		return moved, c.checkWithdrawal(detached, pending, moved)
	}
	return moved, nil
}

// recoveredTransfer fills in what the lost response would have said. The transfer
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
