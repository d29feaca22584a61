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
	Key           string       `json:"key"` // idempotency key
	CardID        string       `json:"card_id"`
	Kind          TransferKind `json:"kind"`
	Amount        usd.Amount   `json:"amount"`
	BalanceBefore usd.Amount   `json:"balance_before"`
	BalanceAfter  usd.Amount   `json:"balance_after"` // at the last reading
	Before        *Anchor      `json:"before,omitempty"`
	SentAt        time.Time    `json:"sent_at"` // the last attempt

	// What earlier releases kept in place of Before.
	NewestTransaction string `json:"newest_transaction,omitempty"` // id; empty for none
	Unsteady          bool   `json:"unsteady,omitempty"`           // the balance moved while it was read
}

// movement is the transfer as it was tried.
func (p PendingTransfer) movement() Movement {
	m := Movement{CardID: p.CardID, Delta: p.Amount}
	if p.Kind == TransferWithdraw {
		m.Delta = -p.Amount
	}
	return m
}

// before is the reading that preceded the first attempt.
func (p PendingTransfer) before() reading {
	r := reading{balance: p.BalanceBefore}
	if p.Before == nil && p.NewestTransaction != "" {
		r.newest, r.more = []Transaction{{ID: p.NewestTransaction}}, true
	}
	return r
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
	Anchor      *Anchor    // to be kept when the transfer is decided
	Reason      string     // why it is undecided, for people; else empty
}

// ReconcileTransfer finds out whether a pending transfer took effect. It moves nothing.
func (c *Client) ReconcileTransfer(ctx context.Context, p PendingTransfer) (TransferOutcome, error) {
	fail := func(err error) (TransferOutcome, error) {
		return TransferOutcome{State: TransferUndecided, CardBalance: p.BalanceBefore},
			fmt.Errorf("reconcile the pending transfer of %s USD (%s) on card %s: %w", p.Amount, p.Kind, p.CardID, err)
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
	m := p.movement()
	before := p.Before
	if before == nil {
		before = p.before().anchor(0)
	}
	now, o := c.verifyMovement(ctx, m, before, p.Unsteady)
	switch o.state {
	case applied:
		return TransferOutcome{State: TransferDone, CardBalance: now.balance, Anchor: before.plus(m.Delta)}, nil
	case notApplied:
		return TransferOutcome{State: TransferNotDone, CardBalance: now.balance, Anchor: before}, nil
	}
	return TransferOutcome{State: TransferUndecided, CardBalance: now.balance, Reason: o.reason.Error()}, nil
}
