package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// send makes a movement on a card that was read just before, as it was decided.
func (t *run) send(ctx context.Context, decision reconcile.Decision) error {
	t.result.Ignored = decision.Since.Ignored
	if decision.Since.Without == reconcile.Unexplained {
		t.result.LeftOver = decision.Since.Left
	}
	move, end, err := t.client.BeginMove(ctx, t.cardID, t.movement.Delta, decision.Record.Key(t.cardID, decision.Movement))
	if err != nil {
		return err
	}
	defer end()
	move.SentBefore = decision.Verdict == reconcile.SendKey || decision.Before.Pending != nil
	for {
		fate, failure := move.Try()
		refusal, refused := errors.AsType[*transport.Error](failure)
		switch {
		case fate == transport.Done:
			return t.confirm(move, decision, &move.CardBalance, nil)
		case fate == transport.NotDone:
			return t.refused(decision, failure)
		case refused && refusal.IsAboutKey():
			return t.confirm(move, decision, nil, refusal)
		case move.Answered(): // in a way that cannot be read
			return t.confirm(move, decision, nil, nil)
		}
		seen, err := t.lookAfterLoss(move, decision)
		if err != nil {
			return t.lost(decision, move.Undecided(fmt.Errorf("%w; verifying did not decide it: %w", failure, err)))
		}
		if seen.Verdict == reconcile.Made {
			return t.found(move, decision, seen)
		}
		if !move.Again() {
			err = move.GaveUp()
			if _, undecided := errors.AsType[*transport.UndecidedError](err); undecided {
				return t.lost(decision, err)
			}
			return t.refused(decision, err)
		}
	}
}

// lookAfterLoss reads what became of a request whose response was lost, once it has had its
// time: it was made, or it was not, or the error says why that cannot be told.
func (t *run) lookAfterLoss(move *api.Move, decision reconcile.Decision) (reconcile.Decision, error) {
	err := move.WaitForCommit()
	if err != nil {
		return reconcile.Decision{}, err
	}
	seen, err := t.look(move.Context(), decision.Record.Anchor, shortLook, decision.AfterLost)
	if err != nil {
		return seen, err
	}
	if seen.Verdict != reconcile.Made && seen.Verdict != reconcile.Send {
		return seen, t.cannotTell(seen)
	}
	return seen, nil
}

// found ends a movement whose response was lost, and which the card shows.
func (t *run) found(move *api.Move, decision reconcile.Decision, seen reconcile.Decision) error {
	t.result.How = api.Found
	t.readWallet(move.Context())
	if decision.Verdict == reconcile.SendKey { // the money that arrived is this movement
		t.result.LeftOver = 0
	}
	t.show(seen.Card)
	t.remember(seen.Record)
	return nil
}

// readWallet reads what the wallet holds, where no response has told it. The money has moved
// all the same if it cannot be read.
func (t *run) readWallet(ctx context.Context) {
	wallet, err := t.client.WalletBalance(ctx)
	if err == nil {
		t.result.WalletBalance = &wallet.Balance
	}
}

// confirm reads the card after the service answered that the movement was made, perhaps with
// the card's balance, or refused its key: either way the card has to show it.
func (t *run) confirm(move *api.Move, decision reconcile.Decision, answered *usd.Amount, refusal *transport.Error) error {
	t.result.How = api.AnsweredBy(move.Mutation)
	t.result.WalletBalance = move.WalletBalance
	decide := func(card reconcile.Snapshot) reconcile.Decision {
		card.AnsweredBalance = answered
		return decision.AfterAnswer(card, refusal != nil)
	}
	// At first only the balance is read again: the events are those from before the movement.
	card := decision.Card
	card.Waited = false
	err := t.Cards.ReadBalance(move.Context(), t.cardID, &card)
	seen := decide(card)
	if err == nil && seen.Verdict == reconcile.LookAgain { // then the events are read again too
		seen, err = t.look(move.Context(), decision.Before.Anchor, transport.CommitWait, decide)
	}
	if err != nil {
		err = move.Undecided(fmt.Errorf("the service answered, but the card could not be read after it: %w", err))
		if refusal != nil {
			return t.lost(decision, err)
		}
		t.remember(decision.Record.Unread(t.client.ServiceTime()))
		return err
	}
	t.show(seen.Card)
	t.remember(seen.Record)
	if seen.Verdict != reconcile.Made {
		stopped := t.stopped(seen)
		stopped.AnsweredBalance = answered
		stopped.Refusal = refusal
		return stopped
	}
	if answered == nil && refusal == nil {
		t.readWallet(move.Context())
	}
	switch seen.Reason {
	case reconcile.MadeBefore: // the money that arrived is this movement
		t.result.How = api.AlreadyDone
		t.result.LeftOver = 0
	case reconcile.OtherAmount:
		t.result.Excess = seen.Since.Left - t.movement.Delta
	}
	return nil
}

// lost ends a movement of which it is not known whether it was made: it stays pending.
func (t *run) lost(decision reconcile.Decision, err error) error {
	undecided, ok := errors.AsType[*transport.UndecidedError](err)
	if ok {
		t.remember(decision.Record.Lost(undecided.SentAt))
	}
	return err
}

// refused ends a movement that was certainly not made.
func (t *run) refused(decision reconcile.Decision, failure error) error {
	refusal, ok := errors.AsType[*transport.Error](failure)
	if t.record == nil || !ok {
		return failure
	}
	if refusal.AfterLostResponse {
		t.result.Record = t.record.NotMade()
	} else if refusal.IsFinal() {
		t.result.Record = t.record.Refused(decision.Card)
	}
	return failure
}
