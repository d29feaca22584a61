// Package transfer moves money between the wallet and a card. It reads the card, asks package reconcile whether to send,
// sends, reads the card again to confirm, and returns the record to keep.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Mover moves money through one client. It remembers what it moved without a record, so a client must
// have only one Mover. It is safe for concurrent use.
type Mover struct {
	// Cards reads the cards whose money is moved.
	Cards Cards

	client *api.Client

	mu         sync.Mutex
	unrecorded map[string]usd.Amount // by card, what was moved without a record since the card's last anchor
}

// New returns the mover of a client.
func New(client *api.Client) *Mover {
	return &Mover{Cards: reader{client}, client: client, unrecorded: map[string]usd.Amount{}}
}

func (m *Mover) movedWithoutRecord(cardID string) usd.Amount {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unrecorded[cardID]
}

func (m *Mover) addUnrecorded(cardID string, delta usd.Amount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unrecorded[cardID] += delta
}

func (m *Mover) forgetUnrecorded(cardID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.unrecorded, cardID)
}

// Transfer is one movement between the wallet and a card, and its result. Amounts are in USD.
type Transfer struct {
	Record        reconcile.Record // to keep, also after an error; zero for a movement without a record
	CardBalance   usd.Amount       // as read from the service
	CardStatus    api.CardStatus   // as read from the service
	WalletBalance *usd.Decimal     // after the movement; nil if it is not known
	How           api.How          // if the movement was made: how that is known
	LeftOver      usd.Amount       // a change of the balance before the movement that no transaction explains
	Ignored       string           // what could not be read and may have moved money in the other direction; "" if nothing
	Excess        usd.Amount       // how much higher the balance is than expected after the movement; negative if it is lower

	mover        *Mover
	cardID       string
	movement     reconcile.Movement
	recordBefore *reconcile.Record // nil for a movement without a record, see Move
}

// Move moves money between the wallet and a card. It first reads the card to find out whether an
// earlier run made the movement. The record describes the card's money. It is nil for a movement that
// stands alone, such as an action's: then nothing shows whether an earlier run made it. Move does not
// change the record; the result contains the next one.
//
// After a *transport.UndecidedError, the money may or may not have moved. For a *StoppedError, see its documentation.
// After any other error, such as a *PendingError or a *StatusError, this call has moved no money.
func (m *Mover) Move(ctx context.Context, cardID string, movement reconcile.Movement, record *reconcile.Record) (Transfer, error) {
	t := &Transfer{mover: m, cardID: cardID, movement: movement, recordBefore: record}
	if record != nil {
		t.Record = *record
	}
	if movement.Delta == 0 {
		return *t, errors.New("nothing was sent, because the amount is zero")
	}
	unlock, err := m.client.LockCard(ctx, cardID)
	if err != nil {
		return *t, fmt.Errorf("nothing was sent, because the run was interrupted before this transfer: %w", err)
	}
	defer unlock()
	decision, err := t.ask(ctx)
	_, pending := errors.AsType[*PendingError](err)
	if pending {
		return *t, err
	}
	if err != nil {
		return *t, fmt.Errorf("nothing was sent: %w", err)
	}
	t.setCard(decision.Card)
	if t.forbidsTopUp(decision) {
		status := api.CardStatus(decision.Card.Status)
		return *t, &StatusError{CardID: cardID, Movement: movement, Status: status, Balance: decision.Card.Balance}
	}
	if decision.Verdict == reconcile.Send || decision.Verdict == reconcile.SendKey {
		err = t.send(ctx, decision)
	} else {
		err = t.notSent(decision)
	}
	if record == nil && err == nil {
		m.addUnrecorded(cardID, movement.Delta+t.Excess)
	}
	if record != nil {
		m.forgetIncluded(cardID, *record, t.Record)
	}
	return *t, err
}

// Resolve finds out whether the pending movement of a record was made. It sends nothing. If the movement was made,
// the result's How is AlreadyDone. Without an error, the movement is no longer pending in the result's record. If the
// card does not show the outcome, the error is a *transport.UndecidedError. The record must have a pending movement.
func (m *Mover) Resolve(ctx context.Context, cardID string, record reconcile.Record) (Transfer, error) {
	t := &Transfer{Record: record, mover: m, cardID: cardID, movement: record.Pending.Movement(), recordBefore: &record}
	unlock, err := m.client.LockCard(ctx, cardID)
	if err != nil {
		return *t, err
	}
	defer unlock()
	decision, err := t.resolve(ctx)
	if err != nil {
		return *t, err
	}
	t.setCard(decision.Card)
	if decision.Verdict == reconcile.Send { // it was not made, and the anchor stays
		t.Record = decision.Record
		return *t, nil
	}
	err = t.notSent(decision)
	m.forgetIncluded(cardID, record, t.Record)
	return *t, err
}

// forgetIncluded forgets the unrecorded movements of a card if its record has a new anchor, because the anchor's balance
// includes them. The anchor is new if its pointer has changed.
func (m *Mover) forgetIncluded(cardID string, before, after reconcile.Record) {
	if after.Anchor != before.Anchor {
		m.forgetUnrecorded(cardID)
	}
}

// Preview predicts what an apply will decide about a change of a card. The balance is that of the last refresh. If
// reading the card fails or ctx ends, Preview returns the error with the decisions made so far.
func (m *Mover) Preview(ctx context.Context, cardID string, record reconcile.Record, change reconcile.Change, balance usd.Amount) ([]reconcile.Decision, error) {
	snapshot := reconcile.Snapshot{Balance: balance, MovedByOtherCalls: m.movedWithoutRecord(cardID)}
	if record.Anchor != nil { // only the events, because the balance is given
		reader{m.client}.readEvents(ctx, cardID, record, &snapshot)
	}
	snapshot.At = m.client.ServiceTime()
	keysHonoured := m.client.KeysHonoured()
	decisions := change.Preview(record, snapshot, keysHonoured)
	if record.Anchor == nil { // without an anchor, another reading explains nothing
		return decisions, nil
	}
	if !slices.ContainsFunc(decisions, isRemarkable) {
		return decisions, nil
	}

	// A purchase since the refresh is in the transactions but not in the balance, which then seems unexplained. So read
	// both together.
	snapshot, err := m.readAfresh(ctx, cardID, record)
	if err != nil {
		return decisions, err
	}
	decisions = change.Preview(record, snapshot, keysHonoured)
	if !slices.ContainsFunc(decisions, isRemarkable) {
		return decisions, nil
	}

	// The service may list a transaction late, so wait before the last reading.
	err = m.client.Clock().Wait(ctx, transport.PollInterval)
	if err != nil {
		return decisions, err
	}
	snapshot, err = m.readAfresh(ctx, cardID, record)
	if err != nil {
		return decisions, err
	}
	return change.Preview(record, snapshot, keysHonoured), nil
}

func (m *Mover) readAfresh(ctx context.Context, cardID string, since reconcile.Record) (reconcile.Snapshot, error) {
	snapshot, err := m.Cards.ReadSnapshot(ctx, cardID, since)
	snapshot.MovedByOtherCalls = m.movedWithoutRecord(cardID)
	return snapshot, err
}

// isRemarkable reports whether a decision deserves another reading of the card before the plan reports it.
func isRemarkable(d reconcile.Decision) bool {
	if d.Verdict != reconcile.Send {
		return true
	}
	return d.Reason == reconcile.OtherMoney || d.Reason == reconcile.LooksEither
}

// operation completes "could not …".
func (t *Transfer) operation() string { return api.MoveOperation(t.cardID, t.movement.Delta) }

// forbidsTopUp reports whether a top-up fails because of the card's status. One that was made does not, and neither does
// one whose outcome is unknown.
func (t *Transfer) forbidsTopUp(decision reconcile.Decision) bool {
	if t.movement.Purpose != reconcile.ForTopUp || IsUsable(api.CardStatus(decision.Card.Status)) {
		return false
	}
	switch decision.Verdict {
	case reconcile.Send, reconcile.SendKey, reconcile.Stop:
		return true
	}
	return false
}

// ask decides whether to send the movement. Without a record, nothing shows whether it was sent before, so the
// anchor is the card as it is now.
func (t *Transfer) ask(ctx context.Context) (reconcile.Decision, error) {
	honoured := t.mover.client.KeysHonoured()
	if t.recordBefore == nil {
		card, err := t.mover.Cards.ReadSnapshot(ctx, t.cardID, reconcile.Record{})
		if err != nil {
			return reconcile.Decision{}, err
		}
		return reconcile.Ask(reconcile.RecordFrom(card), t.movement, card, honoured), nil
	}
	record := *t.recordBefore
	patience := transport.CommitWait // someone else's transaction may be listed late
	if record.Pending != nil {
		if !record.Repeats(t.movement) {
			return reconcile.Decision{}, &PendingError{CardID: t.cardID, Movement: t.movement, PendingDelta: record.Pending.Delta}
		}
		err := t.waitForCommit(ctx, record.Pending.SentAt)
		if err != nil {
			return reconcile.Decision{}, err
		}
		patience = shortLook
		ctx = transport.Verifying(ctx) // the movement was sent, so the card is read even during an outage
	}
	return t.look(ctx, record, patience, func(card reconcile.Snapshot) reconcile.Decision {
		return reconcile.Ask(record, t.movement, card, honoured)
	})
}

// resolve decides what became of the record's pending movement. The card must be locked.
func (t *Transfer) resolve(ctx context.Context) (reconcile.Decision, error) {
	record := *t.recordBefore
	err := t.waitForCommit(ctx, record.Pending.SentAt)
	if err != nil {
		return reconcile.Decision{}, err
	}
	return t.look(ctx, record, shortLook, func(card reconcile.Snapshot) reconcile.Decision {
		return reconcile.Resolve(record, card)
	})
}

// waitForCommit gives a request that was sent at a moment, perhaps by another process, time to take effect.
func (t *Transfer) waitForCommit(ctx context.Context, sentAt time.Time) error {
	left := transport.CommitWait - t.mover.client.ServiceTime().Sub(sentAt)
	if left <= 0 {
		return nil
	}
	// If the clock was ahead when the request was sent, more than the whole wait seems to be left.
	return t.mover.client.Clock().Wait(ctx, min(left, transport.CommitWait))
}

// shortLook is how long to look for a pending movement, after it has had time to take effect.
const shortLook = 3 * transport.PollInterval

// look reads a card, with its transactions since the anchor of a record, until decide no longer asks to look again.
// Readings made after patience has passed are marked as Waited. During the first MaxRetryTime, a change of the
// balance starts the patience anew, since its transaction may be listed late.
func (t *Transfer) look(
	ctx context.Context, since reconcile.Record, patience time.Duration, decide func(card reconcile.Snapshot) reconcile.Decision,
) (reconcile.Decision, error) {
	clock := t.mover.client.Clock()
	end := clock.Now().Add(transport.MaxRetryTime)
	waited := time.Duration(0)
	var lastBalance usd.Amount
	for {
		card, err := t.mover.Cards.ReadSnapshot(ctx, t.cardID, since)
		if err != nil {
			return reconcile.Decision{}, err
		}
		if card.Balance != lastBalance && clock.Now().Before(end) {
			waited = 0
			lastBalance = card.Balance
		}
		// Without a record, the anchor is a reading of this call, which includes what other calls have moved.
		if t.recordBefore != nil {
			card.MovedByOtherCalls = t.mover.movedWithoutRecord(t.cardID)
		}
		card.Waited = waited >= patience
		decision := decide(card)
		if decision.Verdict != reconcile.LookAgain {
			return decision, nil
		}
		err = clock.Wait(ctx, transport.PollInterval)
		if err != nil {
			return reconcile.Decision{}, err
		}
		waited += transport.PollInterval
	}
}

func (t *Transfer) setCard(card reconcile.Snapshot) {
	t.CardBalance = card.Balance
	t.CardStatus = api.CardStatus(card.Status)
}

// setRecord sets the result's record, unless the movement has none.
func (t *Transfer) setRecord(record reconcile.Record) {
	if t.recordBefore != nil {
		t.Record = record
	}
}

// notSent ends a movement that is not sent. It returns nil if the movement was made before.
func (t *Transfer) notSent(decision reconcile.Decision) error {
	t.setRecord(decision.Record)
	switch decision.Verdict {
	case reconcile.Made:
		t.How = api.AlreadyDone
		return nil
	case reconcile.Stop:
		return t.stopped(decision)
	}
	record := *t.recordBefore // the verdict is Undecided, so the movement is pending in it
	findings := t.findings(decision)
	return &transport.UndecidedError{
		Kind:      transport.MutationMove,
		Operation: t.operation(),
		Key:       record.Key(t.cardID, t.movement),
		SentAt:    record.Pending.SentAt,
		Err:       findings[0],
		Findings:  findings[1:],
	}
}

func (t *Transfer) stopped(decision reconcile.Decision) *StoppedError {
	return &StoppedError{
		CardID:       t.cardID,
		Movement:     t.movement,
		Reason:       decision.Reason,
		Balance:      decision.Card.Balance,
		Unexplained:  decision.UnexplainedMoney(),
		MayHaveTopUp: t.movement.MayHaveTopUp(decision.Evidence),
		Unread:       decision.Evidence.Hidden,
	}
}

// findings says why the outcome of the movement is not known. There is at least one finding.
func (t *Transfer) findings(decision reconcile.Decision) []error {
	before := decision.RecordBefore
	answered := before.Pending != nil && before.Pending.Answered
	var findings []error
	if answered && decision.Card.Balance == before.Anchor.Balance {
		findings = append(findings, fmt.Errorf("the card still holds %s USD, as before the transfer", decision.Card.Balance))
	} else {
		findings = append(findings,
			fmt.Errorf("the card held %s USD before and holds %s USD now", before.Anchor.Balance, decision.Card.Balance),
			fmt.Errorf("its transactions do not show whether the change includes the %s USD", t.movement.Delta.Abs()))
	}
	unread := cmp.Or(decision.Evidence.Hidden, decision.Evidence.Ignored)
	if unread != "" {
		findings = append(findings, errors.New(unread))
	}
	return findings
}

// IsUsable reports whether the money on a card with this status can be spent, either now or after the card is
// unfrozen.
func IsUsable(status api.CardStatus) bool {
	return status == api.StatusActive || status == api.StatusFrozen
}

// StatusError reports that a top-up was not sent, because a card with this status may be unable to
// spend the money.
type StatusError struct {
	CardID   string
	Movement reconcile.Movement
	Status   api.CardStatus
	Balance  usd.Amount // of the card, in USD
}

// Error names the movement and the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: nothing was sent, because the card is %s", api.MoveOperation(e.CardID, e.Movement.Delta), e.Status)
}

// PendingError reports that nothing was sent, because the outcome of another movement on the card is
// not known yet.
type PendingError struct {
	CardID   string
	Movement reconcile.Movement
	// PendingDelta is the other movement's Delta; see reconcile.Movement.
	PendingDelta usd.Amount
}

// Error names both movements.
func (e *PendingError) Error() string {
	return fmt.Sprintf("%s: nothing was sent, because the outcome of an earlier request to %s is not known yet",
		api.MoveOperation(e.CardID, e.Movement.Delta), api.MoveOperation(e.CardID, e.PendingDelta))
}

// StoppedError reports a movement that was stopped because of what the card shows. With the reason NotShown, the
// movement was sent and the service answered, but the card does not show it. With any other reason, nothing was sent
// this time: for example, the movement may have been made before, or is not due. Amounts are in USD.
type StoppedError struct {
	CardID          string
	Movement        reconcile.Movement
	Reason          reconcile.Reason
	Balance         usd.Amount       // of the card
	Unexplained     usd.Amount       // money that no transaction explains, negative if it left the card
	MayHaveTopUp    bool             // Unexplained may include a top-up
	Unread          string           // what could not be read and may be the movement; "" if nothing
	AnsweredBalance *usd.Amount      // the card's balance in the response; nil if there is none
	Refusal         *transport.Error // the service's refusal of the key; nil if the key was not refused
}

// Error names the movement and the balance.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("%s: stopped because of what the card shows; it holds %s USD",
		api.MoveOperation(e.CardID, e.Movement.Delta), e.Balance)
}

// Unwrap returns the service's refusal of the key, or nil if the key was not refused.
func (e *StoppedError) Unwrap() error {
	if e.Refusal == nil { // returned as an error, a nil pointer would not be nil
		return nil
	}
	return e.Refusal
}
