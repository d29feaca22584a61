package api

import (
	"context"
	"fmt"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// PendingTransfer remembers a transfer of which it is not known whether it took
// effect, so that it can be reconciled later. It marshals to JSON and holds no
// secret. Amounts are in USD.
type PendingTransfer struct {
	Key               string       `json:"key"` // idempotency key
	CardID            string       `json:"card_id"`
	Kind              TransferKind `json:"kind"`
	Amount            usd.Amount   `json:"amount"`
	BalanceBefore     usd.Amount   `json:"balance_before"`
	BalanceAfter      usd.Amount   `json:"balance_after"`      // at the last reading
	NewestTransaction string       `json:"newest_transaction"` // id, before the first attempt; empty for none
	Unsteady          bool         `json:"unsteady,omitempty"` // the balance moved while it was read before the first attempt
	SentAt            time.Time    `json:"sent_at"`            // the last attempt
}

// TransferState tells whether a transfer took effect.
type TransferState string

// The three states.
const (
	TransferDone      TransferState = "done"
	TransferNotDone   TransferState = "not done"
	TransferUndecided TransferState = "undecided"
)

// TransferOutcome is what the card's balance and transactions tell about a transfer.
type TransferOutcome struct {
	State       TransferState
	CardBalance usd.Amount // USD, now
	Reason      string     // why it is undecided, for people; else empty
}

// ReconcileTransfer finds out whether a pending transfer took effect. It moves nothing.
func (c *Client) ReconcileTransfer(ctx context.Context, p PendingTransfer) (TransferOutcome, error) {
	fail := func(err error) (TransferOutcome, error) {
		return TransferOutcome{State: TransferUndecided}, fmt.Errorf("reconcile the pending transfer of %s USD (%s) on card %s: %w", p.Amount, p.Kind, p.CardID, err)
	}
	release, err := c.cardLocks.acquire(ctx, p.CardID, exclusive)
	if err != nil {
		return fail(err)
	}
	defer release()
	// A request that was sent a moment ago, perhaps by another process, gets its time.
	if left := c.commitWait - c.clock.Now().Sub(p.SentAt); left > 0 {
		if err := c.clock.Wait(ctx, min(left, c.commitWait)); err != nil {
			return fail(err)
		}
	}
	outcome, err := c.reconcile(ctx, p)
	if err != nil {
		return fail(err)
	}
	return outcome, nil
}

// reconcile compares the card's balance with what its transactions explain, with
// and without the transfer. A fee may or may not have been taken from the card.
func (c *Client) reconcile(ctx context.Context, p PendingTransfer) (TransferOutcome, error) {
	now, err := c.snapshot(ctx, p.CardID, &p.NewestTransaction)
	if err != nil {
		return TransferOutcome{State: TransferUndecided, CardBalance: p.BalanceBefore}, err
	}
	without := p.BalanceBefore - now.since.spent
	with := without + p.Amount
	if p.Kind == TransferWithdraw {
		with = without - p.Amount
	}
	fits := func(expected usd.Amount) bool {
		return now.balance == expected || now.balance == expected-now.since.fees
	}
	unclear := now.since.unclear
	if p.Unsteady || !now.steady {
		unclear = "the balance moved while it was read"
	}
	outcome := TransferOutcome{State: TransferNotDone, CardBalance: now.balance}
	switch {
	case unclear != "" || fits(with) == fits(without):
		outcome.State = TransferUndecided
		outcome.Reason = fmt.Sprintf("card %s held %s USD before and holds %s USD now, while its transactions lead to %s USD with the transfer and %s USD without",
			p.CardID, p.BalanceBefore, now.balance, with, without)
		if unclear != "" {
			outcome.Reason += "; " + unclear
		}
	case fits(with):
		outcome.State = TransferDone
	}
	return outcome, nil
}
