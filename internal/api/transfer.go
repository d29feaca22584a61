package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Move moves money between the wallet and a card, once. Where there is a record it
// first reads whether the movement was made before. The error is an
// *UndecidedError when it cannot be told whether the money has moved, and a
// *StoppedError when nothing was moved for what the card shows.
func (c *Client) Move(ctx context.Context, m Movement) (Transfer, error) {
	transfer := Transfer{}
	if m.Record != nil {
		transfer.Record = *m.Record
	}
	if m.Delta == 0 {
		return transfer, fmt.Errorf("%s: the amount has to be above zero", m)
	}
	release, err := c.cardLocks.acquire(ctx, m.CardID, exclusive)
	if err != nil {
		return transfer, fmt.Errorf("%s: waiting for another call on this card: %w", m, err)
	}
	defer release()
	c.recent.update(m.CardID, func(card *recentCard) { card.status, card.anchor = "", nil }) // the service may freeze it
	before, err := c.lookFirst(ctx, m)
	if err != nil {
		return transfer, fmt.Errorf("%s: nothing was moved, because the card could not be read first: %w", m, err)
	}
	transfer.CardBalance, transfer.CardStatus = before.snapshot.Balance, before.status
	t := &transferRun{client: c, Movement: m, before: before, Transfer: transfer, fresh: before.snapshot.Anchor(), key: uuid.NewString()}
	if m.Record != nil {
		t.fresh, t.key = m.Record.Fresh(before.snapshot), m.Record.Key(m.CardID, m.Movement)
	}
	t.since = t.fresh
	if before.decision.Verdict == reconcile.SendKey {
		t.since = m.Record.Anchor
	}
	if t.MadeBefore, err = t.refuse(); t.MadeBefore || err != nil {
		return t.Transfer, err
	}
	err = t.send(ctx)
	if m.Record == nil && err == nil {
		c.recent.update(m.CardID, func(card *recentCard) { card.moved += m.Delta + t.Excess })
	} else if m.Record != nil && t.Transfer.Record.Anchor != m.Record.Anchor {
		c.recent.takeIn(m.CardID)
	}
	return t.Transfer, err
}

// lookFirst decides whether a movement is sent.
func (c *Client) lookFirst(ctx context.Context, m Movement) (sight, error) {
	switch {
	case m.Record == nil:
		s, status, err := c.ReadSnapshot(ctx, m.CardID, nil)
		return sight{snapshot: s, status: status, decision: reconcile.Decision{Verdict: reconcile.Send}}, err
	case m.Record.Pending != nil:
		asked := m.Movement
		if asked.Range = nil; asked != m.Record.Pending.Movement() {
			return sight{}, errors.New("another movement on it is still undecided")
		}
		if err := c.letCommit(ctx, *m.Record.Pending); err != nil {
			return sight{}, err
		}
		return c.look(verifying(ctx), reconcile.WhilePending, m, m.Record.Anchor, nil)
	}
	return c.look(ctx, reconcile.BeforeSending, m, m.Record.Anchor, nil)
}

// letCommit gives a request that was sent a moment ago, perhaps by another
// process, its time.
func (c *Client) letCommit(ctx context.Context, p reconcile.Pending) error {
	if left := c.config.CommitWait - c.serviceTime().Sub(p.SentAt); left > 0 {
		return c.clock.Wait(ctx, min(left, c.config.CommitWait))
	}
	return nil
}

// ResolvePending finds out whether the pending movement of a card's record took
// effect, without sending anything. The error is an *UndecidedError when it cannot
// be told yet; the record is to be kept.
func (c *Client) ResolvePending(ctx context.Context, card string, record reconcile.Record) (Transfer, error) {
	p := *record.Pending
	m := Movement{Movement: p.Movement(), CardID: card, Record: &record}
	transfer := Transfer{Record: record}
	release, err := c.cardLocks.acquire(ctx, card, exclusive)
	if err == nil {
		defer release()
		err = c.letCommit(ctx, p)
	}
	var seen sight
	if err == nil {
		seen, err = c.look(ctx, reconcile.AnswerLost, m, record.Anchor, nil)
	}
	if err != nil {
		return transfer, fmt.Errorf("find out whether an earlier run could %s: %w", m, err)
	}
	transfer.CardBalance, transfer.CardStatus = seen.snapshot.Balance, seen.status
	switch seen.decision.Verdict {
	case reconcile.Made:
		transfer.Record, transfer.MadeBefore = record.PendingMade(), true
	case reconcile.Send:
		transfer.Record = record.NotMade()
	default:
		err = &UndecidedError{Kind: MutationMove, Operation: m.String(), Key: record.Key(card, m.Movement), SentAt: p.SentAt, Err: m.untold(record.Anchor, seen)}
	}
	return transfer, err
}

// transferRun is a movement on its way to its outcome.
type transferRun struct {
	Movement
	Transfer
	client *Client
	before sight
	// fresh is the anchor of the reading before; since is the one after which the
	// movement may have been made, which is the record's where the key decides.
	fresh, since *reconcile.Anchor
	key          string
	attempts     int
}

// refuse ends a movement that is not to be sent: made before, or with an error.
func (t *transferRun) refuse() (madeBefore bool, err error) {
	s, e := t.before.snapshot, t.before.explanation
	switch d := t.before.decision; d.Verdict {
	case reconcile.Made:
		if t.Movement.Record.Pending != nil {
			t.Transfer.Record = t.Movement.Record.PendingMade()
		} else {
			t.Transfer.Record = t.Movement.Record.MovedBefore(t.Movement.Movement, s, t.Beside(e))
			t.client.recent.takeIn(t.CardID)
		}
		return true, nil
	case reconcile.Stop:
		t.Transfer.Record = t.Movement.Record.Stopped(t.Movement.Movement, s, e)
		t.client.recent.takeIn(t.CardID)
		return false, &StoppedError{Movement: t.Movement, Reason: d.Reason, Balance: s.Balance, Found: t.Found(e, d.Reason), TopUp: t.MayHaveTopUp(e), Unread: e.Hidden}
	case reconcile.Send, reconcile.SendKey:
		if e.Anchored && e.Without == reconcile.Unexplained {
			t.LeftOver = e.Left
		}
		t.Ignored = e.Ignored
		return false, nil
	}
	return false, &UndecidedError{Kind: MutationMove, Operation: t.String(), Key: t.key, SentAt: t.Movement.Record.Pending.SentAt, Err: t.untold(t.Movement.Record.Anchor, t.before)}
}

// untold says why a snapshot does not decide a movement.
func (m Movement) untold(since *reconcile.Anchor, seen sight) error {
	text := fmt.Sprintf("the card held %s USD before and holds %s USD now, and its transactions do not tell whether that is with the %s USD or without",
		since.Balance, seen.snapshot.Balance, max(m.Delta, -m.Delta))
	if unread := cmp.Or(seen.explanation.Hidden, seen.explanation.Ignored); unread != "" {
		text += "; " + unread
	}
	return errors.New(text)
}

// send makes the movement on a card that was read just before, and reads it again.
func (t *transferRun) send(ctx context.Context) error {
	action := "/fund"
	if t.Delta < 0 {
		action = "/withdraw"
	}
	path, err := cardPath(t.CardID, action)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]usd.Amount{"amount": max(t.Delta, -t.Delta)})
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	var answered usd.Amount
	move := &call{
		card: t.CardID, operation: t.String(), method: http.MethodPost, path: path, body: body,
		accept: func(body []byte) (err error) {
			answered, t.WalletBalance, err = decodeTransfer(body, t.CardID)
			return err
		},
	}
	after := t.before
	verify := func(ctx context.Context) (o outcome) {
		if after, err = t.client.look(ctx, reconcile.AnswerLost, t.Movement, t.since, nil); err != nil {
			return outcome{undecided, err}
		}
		switch after.decision.Verdict {
		case reconcile.Made:
			return outcome{state: applied}
		case reconcile.Send:
			return outcome{state: notApplied}
		}
		return outcome{undecided, t.untold(t.since, after)}
	}
	how, err := t.client.mutate(ctx, &mutation{kind: MutationMove, call: move, key: t.key, verify: verify, uncertain: t.since != t.fresh})
	ctx, end := withGrace(ctx, 2*t.client.config.RequestTimeout+t.client.config.CommitWait)
	defer end()
	t.LostResponse, t.attempts = how.lost, how.attempts
	switch {
	case err != nil:
		return t.notMoved(ctx, err)
	case how.verified:
		t.Recovered = true
		if wallet, err := t.client.WalletBalance(ctx); err == nil { // else the money has moved all the same
			t.WalletBalance = &wallet.Balance
		}
		t.moved(after)
		return nil
	}
	return t.confirm(ctx, &answered, nil)
}

// confirm reads the card after the service answered that the movement was made, or
// refused its key: that is one answer, and the card has to show it.
func (t *transferRun) confirm(ctx context.Context, answered *usd.Amount, refusal *Error) error {
	after := t.before.snapshot
	after.Answered = answered
	status, err := t.client.readBalance(ctx, t.CardID, &after)
	seen := t.client.decide(reconcile.Answered, t.Movement, t.fresh, after, false)
	seen.status = status
	if err == nil && seen.decision.Reason != reconcile.LooksMade { // what has come since is not in it
		seen, err = t.client.look(ctx, reconcile.Answered, t.Movement, t.fresh, answered)
	}
	switch {
	case err != nil:
		return t.undecided(&UndecidedError{
			Kind: MutationMove, Operation: t.String(), Key: t.key, Attempts: t.attempts, SentAt: t.client.serviceTime(),
			Err: fmt.Errorf("the service answered, but the card could not be read after it: %w", err),
		})
	case seen.decision.Verdict == reconcile.Made:
		t.moved(seen)
		return nil
	}
	t.CardBalance, t.CardStatus = seen.snapshot.Balance, seen.status
	stopped := &StoppedError{Movement: t.Movement, Reason: seen.decision.Reason, Balance: t.CardBalance, Found: seen.explanation.Left, Answered: answered, Refusal: refusal}
	if t.Movement.Record != nil {
		t.Transfer.Record = t.Movement.Record.NotShown(t.before.snapshot)
	}
	return stopped
}

// moved takes in what a card shows after the movement.
func (t *transferRun) moved(seen sight) {
	e, now := seen.explanation, seen.snapshot
	t.CardBalance, t.CardStatus = now.Balance, seen.status
	if seen.decision.Reason == reconcile.OtherAmount {
		t.Excess = e.Left - t.Delta
	}
	isNew := e.With != reconcile.Unexplained && seen.since == t.fresh
	t.MadeBefore = !isNew && t.Excess == 0 && !t.Recovered
	if !isNew && t.Excess == 0 { // what came was this movement
		t.LeftOver = 0
	}
	switch {
	case t.Movement.Record == nil:
	case isNew:
		t.Transfer.Record = t.Movement.Record.Moved(t.Movement.Movement, t.before.snapshot, t.before.explanation, now.At)
	case t.Excess != 0:
		gain := max(0, t.Excess) + t.before.explanation.Gain()
		t.Transfer.Record = t.Movement.Record.MovedBefore(t.Movement.Movement, now, gain)
	default:
		t.Transfer.Record = t.Movement.Record.MovedBefore(t.Movement.Movement, now, t.Beside(t.before.explanation))
	}
}

// notMoved takes in why a movement failed.
func (t *transferRun) notMoved(ctx context.Context, err error) error {
	if open, ok := errors.AsType[*UndecidedError](err); ok {
		return t.undecided(open)
	}
	refusal, isRefusal := errors.AsType[*Error](err)
	switch {
	case isRefusal && refusal.SpeaksOfKey():
		return t.confirm(ctx, nil, refusal)
	case t.Movement.Record == nil || !isRefusal:
	case refusal.AfterLostResponse:
		t.Transfer.Record = t.Movement.Record.NotMade()
	case refusal.IsFinal():
		t.Transfer.Record = t.Movement.Record.Refused()
	}
	return err
}

// undecided keeps a movement to be decided later.
func (t *transferRun) undecided(open *UndecidedError) error {
	if t.Movement.Record != nil {
		t.Transfer.Record = t.Movement.Record.Undecided(t.Movement.Movement, t.since, t.before.explanation, open.SentAt)
	}
	return open
}

// decodeTransfer reads what the card holds. That the wallet's balance cannot be
// read says nothing about the movement.
func decodeTransfer(body []byte, card string) (balance usd.Amount, wallet *usd.Decimal, err error) {
	var fields struct {
		CardID        string          `json:"card_id"`
		CardBalance   usd.Amount      `json:"card_balance"`
		WalletBalance json.RawMessage `json:"wallet_balance"`
	}
	if err := decodeObject(body, &fields, "card_id", "card_balance"); err != nil {
		return 0, nil, err
	}
	var held usd.Decimal
	if json.Unmarshal(fields.WalletBalance, &held) == nil {
		wallet = &held
	}
	return fields.CardBalance, wallet, sameCard(card, fields.CardID)
}
