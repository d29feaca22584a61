// Package transfer moves money between the wallet and a card exactly once: it reads the
// card, has reconcile decide, sends, confirms by what the card shows, and returns the
// record that is to be kept.
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

// Mover moves money by one client, of which it is the only one: it remembers what was moved
// without a record. It is safe for concurrent use.
type Mover struct {
	// Cards is how cards are read; New has it read the service.
	Cards Cards

	client *api.Client

	mu         sync.Mutex
	unrecorded map[string]usd.Amount // what was moved without a record, by card; until a record takes it in
}

// New returns the mover of a client.
func New(client *api.Client) *Mover {
	return &Mover{Cards: reader{client}, client: client, unrecorded: map[string]usd.Amount{}}
}

func (m *Mover) movedWithoutRecord(card string) usd.Amount {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unrecorded[card]
}

// Transfer is what became of a movement. Amounts are in USD.
type Transfer struct {
	Record        reconcile.Record // to be kept whatever the error; zero for a movement without one
	CardBalance   usd.Amount
	CardStatus    api.CardStatus
	WalletBalance *usd.Decimal // nil when it could not be read
	How           api.How      // AlreadyDone: an earlier run made it
	LeftOver      usd.Amount   // what had come to the card before, or gone from it, and no transaction explains
	Ignored       string       // what could not be read
	Excess        usd.Amount   // what the service moved beyond what was asked, in either direction
}

// Move moves money between the wallet and a card, once. It first reads whether the
// movement was made before. The record is what is remembered of the card's money; nil for a
// movement that stands by itself, of which nothing tells whether it was made before. Move does not
// change it: the record to keep is in the result.
//
// These errors have a type of their own; others say that the card could not be locked or read:
//   - *PendingError: nothing was sent, because another movement is pending in the record
//   - *StatusError: a top-up was not sent, because of the card's status
//   - *StoppedError: nothing was moved because of what the card shows, or the card does not show
//     what the service says
//   - *transport.UndecidedError: it is not known whether the money has moved
//   - *transport.Error, *transport.RequestError and *transport.OutageError: it was not made
func (m *Mover) Move(ctx context.Context, cardID string, movement reconcile.Movement, record *reconcile.Record) (Transfer, error) {
	t := &run{Mover: m, cardID: cardID, movement: movement, record: record}
	if record != nil {
		t.result.Record = *record
	}
	if movement.Delta == 0 {
		return t.result, fmt.Errorf("%s: the amount has to be above zero", t.operation())
	}
	unlock, err := m.client.LockCard(ctx, cardID)
	if err != nil {
		return t.result, fmt.Errorf("%s: waiting for another call on this card: %w", t.operation(), err)
	}
	defer unlock()
	seen, err := t.ask(ctx)
	if _, pending := errors.AsType[*PendingError](err); pending {
		return t.result, err
	}
	if err != nil {
		return t.result, fmt.Errorf("%s: nothing was moved, because the card could not be read first: %w", t.operation(), err)
	}
	t.show(seen.Card)
	status := api.CardStatus(seen.Card.Status)
	sends := seen.Verdict == reconcile.Send || seen.Verdict == reconcile.SendKey
	switch {
	case movement.Purpose == reconcile.ForTopUp && !IsUsable(status) && (sends || seen.Verdict == reconcile.Stop):
		return t.result, &StatusError{CardID: cardID, Movement: movement, Status: status, Balance: seen.Card.Balance}
	case sends:
		err = t.send(ctx, seen)
	default:
		err = t.notSent(seen)
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	if record == nil && err == nil {
		m.unrecorded[cardID] += movement.Delta + t.result.Excess
	}
	// A decision that takes a new reading of the card makes a new anchor, whose balance includes what was
	// moved without a record; a record that keeps its anchor keeps the pointer.
	if record != nil && t.result.Record.Anchor != record.Anchor {
		delete(m.unrecorded, cardID)
	}
	return t.result, err
}

// Resolve finds out whether the pending movement of a record was made, and sends nothing.
// The error is an *UndecidedError when it cannot be told yet.
func (m *Mover) Resolve(ctx context.Context, cardID string, record reconcile.Record) (Transfer, error) {
	t := &run{Mover: m, cardID: cardID, movement: record.Pending.Movement(), record: &record}
	t.result.Record = record
	seen, err := t.resolve(ctx)
	if err != nil {
		return t.result, fmt.Errorf("find out whether an earlier run could %s: %w", t.operation(), err)
	}
	t.show(seen.Card)
	if seen.Verdict == reconcile.Send {
		t.result.Record = seen.Record
		return t.result, nil
	}
	return t.result, t.notSent(seen)
}

// Preview decides about a change of a card for the messages of a plan: by the balance in the
// state and one reading of the transactions. Where that would say anything, balance and
// transactions are read together, twice at most, and the last reading decides alone: what was
// bought since the refresh looks like money that no transaction explains. With the error of such
// a reading the decisions are those by the state.
func (m *Mover) Preview(ctx context.Context, card string, record reconcile.Record, change reconcile.Change, balance usd.Amount) ([]reconcile.Decision, error) {
	s := reconcile.Snapshot{Balance: balance, MovedByOtherCalls: m.movedWithoutRecord(card)}
	if record.Anchor != nil {
		reader{m.client}.readEvents(ctx, card, record.Anchor, &s)
	}
	s.At = m.client.ServiceTime() // which the first response tells
	decisions := change.Preview(record, s, m.client.KeysHonoured())
	if record.Anchor == nil { // no reading explains anything without an anchor
		return decisions, nil
	}
	for look := 0; look < 2 && slices.ContainsFunc(decisions, isRemarkable); look++ {
		if look > 0 {
			err := m.client.Clock().Wait(ctx, transport.PollInterval)
			if err != nil {
				return decisions, err
			}
		}
		fresh, err := m.Cards.ReadSnapshot(ctx, card, record.Anchor)
		if err != nil {
			return decisions, err
		}
		fresh.MovedByOtherCalls = m.movedWithoutRecord(card)
		decisions = change.Preview(record, fresh, m.client.KeysHonoured())
	}
	return decisions, nil
}

// isRemarkable reports whether a plan warns of a decision, or stops for it.
func isRemarkable(d reconcile.Decision) bool {
	if d.Verdict != reconcile.Send {
		return true
	}
	return d.Reason == reconcile.LooksEither || d.Reason == reconcile.OtherMoney && d.Since.Left != 0
}

// run is one movement.
type run struct {
	*Mover
	cardID   string
	movement reconcile.Movement
	record   *reconcile.Record // see Move
	result   Transfer
}

// operation completes "could not …".
func (t *run) operation() string { return api.MoveOperation(t.cardID, t.movement.Delta) }

// ask decides about a movement before it is sent. Of one without a record nothing was
// sent before: the card is its own anchor.
func (t *run) ask(ctx context.Context) (reconcile.Decision, error) {
	honoured := t.client.KeysHonoured()
	if t.record == nil {
		card, err := t.Cards.ReadSnapshot(ctx, t.cardID, nil)
		return reconcile.Ask(reconcile.ReadRecord(card), t.movement, card, honoured), err
	}
	record := *t.record
	patience := transport.CommitWait // what someone else has just moved may be listed late
	if record.Pending != nil {
		patience = shortLook
		if !record.Repeats(t.movement) {
			return reconcile.Decision{}, &PendingError{CardID: t.cardID, Movement: t.movement, PendingDelta: record.Pending.Delta}
		}
		err := t.waitForCommit(ctx, record.Pending.SentAt)
		if err != nil {
			return reconcile.Decision{}, err
		}
		ctx = transport.Verifying(ctx)
	}
	return t.look(ctx, record.Anchor, patience, func(card reconcile.Snapshot) reconcile.Decision {
		return reconcile.Ask(record, t.movement, card, honoured)
	})
}

// resolve decides what became of the record's pending movement.
func (t *run) resolve(ctx context.Context) (reconcile.Decision, error) {
	record := *t.record
	unlock, err := t.client.LockCard(ctx, t.cardID)
	if err != nil {
		return reconcile.Decision{}, err
	}
	defer unlock()
	err = t.waitForCommit(ctx, record.Pending.SentAt)
	if err != nil {
		return reconcile.Decision{}, err
	}
	return t.look(ctx, record.Anchor, shortLook, func(card reconcile.Snapshot) reconcile.Decision {
		return reconcile.Resolve(record, card)
	})
}

// waitForCommit gives a request that was sent a moment ago, perhaps by another process, its time.
func (t *run) waitForCommit(ctx context.Context, sentAt time.Time) error {
	left := transport.CommitWait - t.client.ServiceTime().Sub(sentAt)
	if left <= 0 {
		return nil
	}
	return t.client.Clock().Wait(ctx, min(left, transport.CommitWait))
}

// shortLook is the patience with a movement whose response was lost, and which has had its time.
const shortLook = 3 * transport.PollInterval

// look reads a card, with its transactions down to an anchor, until it can be decided about a
// movement. Snapshots that are read after patience has ended say so with Waited. The wait begins
// anew when the balance changes: what has come may be listed late.
func (t *run) look(
	ctx context.Context, since *reconcile.Anchor, patience time.Duration, decide func(card reconcile.Snapshot) reconcile.Decision,
) (reconcile.Decision, error) {
	clock := t.client.Clock()
	end := clock.Now().Add(transport.MaxRetryTime)
	var last usd.Amount // of the reading before; the first one starts the wait in any case
	for waited := time.Duration(0); ; waited += transport.PollInterval {
		card, err := t.Cards.ReadSnapshot(ctx, t.cardID, since)
		if err != nil {
			return reconcile.Decision{}, err
		}
		if card.Balance != last && clock.Now().Before(end) {
			waited = 0
			last = card.Balance
		}
		if t.record != nil {
			card.MovedByOtherCalls = t.movedWithoutRecord(t.cardID)
		}
		card.Waited = waited >= patience
		seen := decide(card)
		if seen.Verdict != reconcile.LookAgain {
			return seen, nil
		}
		err = clock.Wait(ctx, transport.PollInterval)
		if err != nil {
			return seen, err
		}
	}
}

func (t *run) show(card reconcile.Snapshot) {
	t.result.CardBalance = card.Balance
	t.result.CardStatus = api.CardStatus(card.Status)
}

func (t *run) remember(record reconcile.Record) {
	if t.record != nil {
		t.result.Record = record
	}
}

// notSent ends a movement that is not to be sent: it was made before, or the error says
// why not.
func (t *run) notSent(seen reconcile.Decision) error {
	t.remember(seen.Record)
	switch seen.Verdict {
	case reconcile.Made:
		t.result.How = api.AlreadyDone
		return nil
	case reconcile.Stop:
		return t.stopped(seen)
	}
	record := *t.record
	return &transport.UndecidedError{
		Kind: transport.MutationMove, Operation: t.operation(), Key: record.Key(t.cardID, t.movement),
		SentAt: record.Pending.SentAt, Err: t.cannotTell(seen),
	}
}

func (t *run) stopped(seen reconcile.Decision) *StoppedError {
	return &StoppedError{
		CardID: t.cardID, Movement: t.movement, Reason: seen.Reason, Balance: seen.Card.Balance, Found: t.movement.Found(seen.Since, seen.Reason),
		TopUp: t.movement.MayHaveTopUp(seen.Since), Unread: seen.Since.Hidden,
	}
}

func (t *run) cannotTell(seen reconcile.Decision) error {
	text := fmt.Sprintf("the card held %s USD before and holds %s USD now, and its transactions do not tell whether that is with the %s USD or without",
		seen.Before.Anchor.Balance, seen.Card.Balance, t.movement.Delta.Abs())
	unread := cmp.Or(seen.Since.Hidden, seen.Since.Ignored)
	if unread != "" {
		text += "; " + unread
	}
	return errors.New(text)
}

// IsUsable reports whether a card's status lets its money be spent, or will once it is unfrozen.
// Top-ups go to no other card.
func IsUsable(status api.CardStatus) bool {
	return status == api.StatusActive || status == api.StatusFrozen
}

// StatusError says that a top-up was not sent, because the card has a status in which its
// money may be of no use. The record is as it was.
type StatusError struct {
	CardID   string
	Movement reconcile.Movement
	Status   api.CardStatus
	Balance  usd.Amount // now, in USD
}

// Error names the movement and the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: nothing was sent, because the card is %s", api.MoveOperation(e.CardID, e.Movement.Delta), e.Status)
}

// PendingError says that nothing was sent, because another movement on the card is undecided.
type PendingError struct {
	CardID   string
	Movement reconcile.Movement
	// PendingDelta is the amount of the other movement; see reconcile.Movement.
	PendingDelta usd.Amount
}

// Error names both movements.
func (e *PendingError) Error() string {
	return fmt.Sprintf("%s: nothing was sent, because it is not known yet whether an earlier run could %s",
		api.MoveOperation(e.CardID, e.Movement.Delta), api.MoveOperation(e.CardID, e.PendingDelta))
}

// StoppedError says that it cannot be told whether a movement was made before, or
// whether it is due, and that nothing was sent this time. For NotShown the service has
// answered: nothing is sent again, unless it refused the key. Amounts are in USD.
type StoppedError struct {
	CardID          string
	Movement        reconcile.Movement
	Reason          reconcile.Reason
	Balance         usd.Amount       // now
	Found           usd.Amount       // what no transaction explains
	TopUp           bool             // it may have been made with a top-up
	Unread          string           // what could not be read; for Unreadable
	AnsweredBalance *usd.Amount      // of the card, in the response; nil without one
	Refusal         *transport.Error // of the key; nil for none
}

// Error names the movement and the balance.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("%s: stopped, because the card holds %s USD, and it cannot be told whether this was made before",
		api.MoveOperation(e.CardID, e.Movement.Delta), e.Balance)
}

func (e *StoppedError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}
