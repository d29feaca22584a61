package transfer

import (
	"context"
	"errors"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// send sends the movement after a decision to do so, and returns nil if it was made. After a lost response, it reads
// the card to find out whether to send the movement again.
func (t *Transfer) send(ctx context.Context, decision reconcile.Decision) error {
	t.Ignored = decision.Evidence.Ignored
	t.LeftOver = decision.LeftOver()
	key := decision.Record.Key(t.cardID, t.movement)
	var response api.MoveResponse
	move, end, err := t.mover.client.BeginMove(ctx, t.cardID, t.movement.Delta, key, &response)
	if err != nil {
		return err
	}
	defer end()
	// With SendKey, an earlier run may have sent it, even if the record has no pending movement.
	move.SentBefore = decision.Verdict == reconcile.SendKey || decision.RecordBefore.Pending != nil
	for {
		fate, failure := move.Try()
		t.WalletBalance = response.WalletBalance
		if fate == transport.Done {
			return t.confirm(move, decision, serviceAnswer{cardBalance: &response.CardBalance})
		}
		if fate == transport.NotDone {
			return t.refused(decision, failure)
		}
		refusal, ok := errors.AsType[*transport.Error](failure)
		if ok && refusal.IsAboutKey() {
			return t.confirm(move, decision, serviceAnswer{refusal: refusal})
		}
		if move.Answered() { // with a response that cannot be read
			return t.confirm(move, decision, serviceAnswer{})
		}

		afterLoss, err := t.lookAfterLoss(move, decision)
		if err != nil {
			notVerified := errors.New("the outcome could not be verified")
			return t.lost(decision, move.Undecided(failure, notVerified, err))
		}
		if afterLoss.Verdict == reconcile.Made {
			t.found(move, decision, afterLoss)
			return nil
		}
		if afterLoss.Verdict != reconcile.Send {
			return t.lost(decision, move.Undecided(failure, t.findings(afterLoss)...))
		}
		if !move.MayRetry() {
			err = move.GiveUpError()
			_, undecided := errors.AsType[*transport.UndecidedError](err)
			if undecided {
				return t.lost(decision, err)
			}
			return t.refused(decision, err)
		}
	}
}

// serviceAnswer is the answer to a movement that the service says was made, or whose key it refused as already used.
type serviceAnswer struct {
	cardBalance *usd.Amount      // in the response; nil if it cannot be read
	refusal     *transport.Error // of the key; nil if the service says that the movement was made
}

// lookAfterLoss gives a request whose response was lost time to take effect, and then reads whether it did. The verdict
// is Made, or Send if it was not made. Any other verdict leaves the outcome unknown.
func (t *Transfer) lookAfterLoss(move *transport.Mutation, decision reconcile.Decision) (reconcile.Decision, error) {
	err := move.WaitForCommit()
	if err != nil {
		return reconcile.Decision{}, err
	}
	// AfterLost compares the card with the anchor of decision.Record, which was set before sending.
	return t.look(move.GraceContext(), decision.Record, shortLook, decision.AfterLost)
}

// found ends a movement that the card shows after its response was lost.
func (t *Transfer) found(move *transport.Mutation, decision, afterLoss reconcile.Decision) {
	t.How = api.Found
	t.readWallet(move.GraceContext())
	if decision.Verdict == reconcile.SendKey { // the unexplained money is this movement
		t.LeftOver = 0
	}
	t.setCard(afterLoss.Card)
	t.setRecord(afterLoss.Record)
}

// readWallet reads the wallet's balance, for a movement that was made without a usable response. If that fails, the
// movement still counts as made.
func (t *Transfer) readWallet(ctx context.Context) {
	wallet, err := t.mover.client.WalletBalance(ctx)
	if err == nil {
		t.WalletBalance = &wallet.Balance
	}
}

// confirm reads the card until it shows the movement or no further look is due, and ends the movement. It returns nil
// if the movement was made.
func (t *Transfer) confirm(move *transport.Mutation, decision reconcile.Decision, answer serviceAnswer) error {
	t.How = api.HowAnswered(move)
	afterAnswer, err := t.lookAfterAnswer(move, decision, answer)
	if err != nil {
		notRead := errors.New("the card could not be read afterwards")
		undecided := move.Undecided(errors.New("the service answered"), notRead, err)
		if answer.refusal != nil { // it does not say that the movement was made
			return t.lost(decision, undecided)
		}
		t.setRecord(decision.Record.Unread(t.mover.client.ServiceTime()))
		return undecided
	}

	t.setCard(afterAnswer.Card)
	t.setRecord(afterAnswer.Record)
	if afterAnswer.Verdict != reconcile.Made {
		stopped := t.stopped(afterAnswer)
		stopped.AnsweredBalance = answer.cardBalance
		stopped.Refusal = answer.refusal
		return stopped
	}
	unreadableAnswer := answer.cardBalance == nil && answer.refusal == nil
	if unreadableAnswer {
		t.readWallet(move.GraceContext())
	}
	switch afterAnswer.Reason {
	case reconcile.MadeBefore: // the unexplained money is this movement
		t.How = api.AlreadyDone
		t.LeftOver = 0
	case reconcile.OtherAmount:
		t.Excess = afterAnswer.Evidence.Remainder - t.movement.Delta
	}
	return nil
}

// lookAfterAnswer reads the card until it shows the movement, or until no further look is due.
func (t *Transfer) lookAfterAnswer(move *transport.Mutation, decision reconcile.Decision, answer serviceAnswer) (reconcile.Decision, error) {
	decide := func(card reconcile.Snapshot) reconcile.Decision {
		card.AnsweredBalance = answer.cardBalance
		keySeenBefore := answer.refusal != nil
		return decision.AfterAnswer(card, keySeenBefore)
	}

	// At first, read only the balance again, and use the events from before the movement.
	card := decision.Card
	card.Waited = false // so that decide may ask to look again
	err := t.mover.Cards.ReadBalance(move.GraceContext(), t.cardID, &card)
	if err != nil {
		return reconcile.Decision{}, err
	}
	afterAnswer := decide(card)
	if afterAnswer.Verdict != reconcile.LookAgain {
		return afterAnswer, nil
	}
	// AfterAnswer also compares the card with the anchor of decision.RecordBefore, which may be older than that of
	// decision.Record. So read the transactions since the older one.
	return t.look(move.GraceContext(), decision.RecordBefore, transport.CommitWait, decide)
}

// lost ends a movement whose outcome is unknown. It stays pending in the record.
func (t *Transfer) lost(decision reconcile.Decision, err error) error {
	undecided, ok := errors.AsType[*transport.UndecidedError](err)
	if ok {
		t.setRecord(decision.Record.Lost(undecided.SentAt))
	}
	return err
}

// refused ends a movement that was not made.
func (t *Transfer) refused(decision reconcile.Decision, failure error) error {
	refusal, ok := errors.AsType[*transport.Error](failure)
	if t.recordBefore == nil || !ok {
		return failure
	}
	if refusal.AfterLostResponse { // the card was read afterwards and does not show the movement
		t.Record = t.recordBefore.NotMade()
	} else if refusal.IsFinal() {
		t.Record = t.recordBefore.Refused(decision.Card)
	}
	return failure
}
