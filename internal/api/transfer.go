package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Cards is what is read of a card whose money is moved.
type Cards interface {
	// ReadSnapshot reads what is new on a card since an anchor, nil for its newest
	// page, and then its balance.
	ReadSnapshot(ctx context.Context, id string, since *reconcile.Anchor) (reconcile.Snapshot, CardStatus, error)
	// ReadBalance reads a snapshot's balance, and leaves its events as they are.
	ReadBalance(ctx context.Context, id string, s *reconcile.Snapshot) (CardStatus, error)
}

// Mover moves money by the client, as the cards show it.
type Mover struct {
	*Client
	Cards Cards
}

// Move is that of a Mover, with the cards as the service shows them.
func (c *Client) Move(ctx context.Context, m Movement) (Transfer, error) {
	return Mover{c, c}.Move(ctx, m)
}

// ResolvePending is that of a Mover, with the card as the service shows it.
func (c *Client) ResolvePending(ctx context.Context, card string, record reconcile.Record) (Transfer, error) {
	return Mover{c, c}.ResolvePending(ctx, card, record)
}

// Move moves money between the wallet and a card, once. It first reads whether the
// movement was made before. The error is an *UndecidedError when it cannot be told
// whether the money has moved, and a *StoppedError when nothing was moved for what the
// card shows, or when it does not show what the service says.
func (c Mover) Move(ctx context.Context, m Movement) (Transfer, error) {
	t := &transferRun{client: c, Movement: m}
	if m.Record != nil {
		t.Transfer.Record = *m.Record
	}
	if m.Delta == 0 {
		return t.Transfer, fmt.Errorf("%s: the amount has to be above zero", m)
	}
	release, err := c.LockCard(ctx, m.CardID)
	if err != nil {
		return t.Transfer, fmt.Errorf("%s: waiting for another call on this card: %w", m, err)
	}
	defer release()
	c.recent.update(m.CardID, func(card *recentCard) { card.status, card.anchor = "", nil }) // the service may freeze it
	seen, err := c.ask(ctx, m)
	if _, isPending := errors.AsType[*PendingError](err); isPending {
		return t.Transfer, err
	}
	if err != nil {
		return t.Transfer, fmt.Errorf("%s: nothing was moved, because the card could not be read first: %w", m, err)
	}
	if t.take(seen); seen.Verdict == reconcile.Send || seen.Verdict == reconcile.SendKey {
		t.sent = seen.Decision
		err = t.send(ctx)
	} else {
		err = t.ended(seen)
	}
	switch {
	case m.Record == nil && err == nil:
		c.recent.update(m.CardID, func(card *recentCard) { card.moved += m.Delta + t.Excess })
	case m.Record != nil && t.Transfer.Record.Anchor != m.Record.Anchor:
		c.recent.update(m.CardID, func(card *recentCard) { card.moved = 0 }) // the record has taken it in
	}
	return t.Transfer, err
}

// ask decides about a movement before it is sent. Of one without a record nothing was
// sent before: the card is its own anchor.
func (c Mover) ask(ctx context.Context, m Movement) (assessment, error) {
	if m.Record == nil {
		s, status, err := c.Cards.ReadSnapshot(ctx, m.CardID, nil)
		policy := reconcile.Policy{KeysHonoured: c.KeysHonoured()}
		return assessment{reconcile.Ask(reconcile.ReadRecord(s), m.Movement, s, policy), status}, err
	}
	patience := transport.CommitWait
	if p := m.Record.Pending; p != nil {
		patience = shortLook
		if !m.Record.Repeats(m.Movement) {
			return assessment{}, &PendingError{Movement: m, Pending: *p}
		}
		if err := c.letCommit(ctx, *p); err != nil {
			return assessment{}, err
		}
		ctx = transport.Verifying(ctx)
	}
	return c.look(ctx, m, look{since: m.Record.Anchor, patience: patience, decide: func(card reconcile.Snapshot, waited bool) reconcile.Decision {
		return reconcile.Ask(*m.Record, m.Movement, card, reconcile.Policy{KeysHonoured: c.KeysHonoured(), Waited: waited})
	}})
}

// look is how a card is read until it can be decided about a movement.
type look struct {
	since    *reconcile.Anchor // the transactions are read down to it
	patience time.Duration
	answered *usd.Amount // the balance in the response to the movement; nil without one
	decide   func(card reconcile.Snapshot, waited bool) reconcile.Decision
}

// shortLook is the patience with a movement whose response was lost, and which has had its time.
const shortLook = 3 * transport.LookAgainAfter

// look reads a card until it can be decided about a movement, or the wait is over,
// which begins anew when the balance changes: what has come may be listed late.
func (c Mover) look(ctx context.Context, m Movement, l look) (assessment, error) {
	end := c.clock.Now().Add(transport.LongestTrying)
	var before usd.Amount
	for waited := time.Duration(0); ; waited += transport.LookAgainAfter {
		s, status, err := c.Cards.ReadSnapshot(ctx, m.CardID, l.since)
		if err != nil {
			return assessment{}, err
		}
		if s.Balance != before && c.clock.Now().Before(end) {
			waited, before = 0, s.Balance
		}
		s.Answered = l.answered
		if m.Record != nil {
			s.Own = c.recent.of(m.CardID).moved
		}
		seen := assessment{l.decide(s, waited >= l.patience), status}
		if seen.Verdict != reconcile.LookAgain {
			return seen, nil
		}
		if err := c.clock.Wait(ctx, transport.LookAgainAfter); err != nil {
			return seen, err
		}
	}
}

// assessment is what one look at a card tells about a movement.
type assessment struct {
	reconcile.Decision
	status CardStatus
}

// letCommit gives a request that was sent a moment ago, perhaps by another process, its time.
func (c Mover) letCommit(ctx context.Context, p reconcile.Pending) error {
	if left := transport.CommitWait - c.ServiceTime().Sub(p.SentAt); left > 0 {
		return c.clock.Wait(ctx, min(left, transport.CommitWait))
	}
	return nil
}

// ResolvePending finds out whether the pending movement of a record took effect, and sends
// nothing. The error is an *UndecidedError when it cannot be told yet.
func (c Mover) ResolvePending(ctx context.Context, card string, record reconcile.Record) (Transfer, error) {
	m := Movement{Movement: record.Pending.Movement(), CardID: card, Record: &record}
	t := &transferRun{client: c, Movement: m}
	t.Transfer.Record = record
	release, err := c.LockCard(ctx, card)
	if err == nil {
		defer release()
		err = c.letCommit(ctx, *record.Pending)
	}
	var seen assessment
	if err == nil {
		seen, err = c.look(ctx, m, look{since: record.Anchor, patience: shortLook, decide: func(card reconcile.Snapshot, waited bool) reconcile.Decision {
			return reconcile.Resolve(record, card, waited)
		}})
	}
	if err != nil {
		return t.Transfer, fmt.Errorf("find out whether an earlier run could %s: %w", m, err)
	}
	t.take(seen)
	if seen.Verdict == reconcile.Send {
		t.Transfer.Record = seen.Record
		return t.Transfer, nil
	}
	return t.Transfer, t.ended(seen)
}

type transferRun struct {
	Movement
	Transfer
	client   Mover
	sent     reconcile.Decision
	after    assessment // as it was verified last
	answered usd.Amount // what the service says the card holds
	attempts int
}

func (t *transferRun) take(seen assessment) {
	t.CardBalance, t.CardStatus = seen.Card.Balance, seen.status
}

func (t *transferRun) remember(record reconcile.Record) {
	if t.Movement.Record != nil {
		t.Transfer.Record = record
	}
}

// ended takes in that a movement is not to be sent: it was made before, or the error
// says why not.
func (t *transferRun) ended(seen assessment) error {
	t.remember(seen.Record)
	switch seen.Verdict {
	case reconcile.Made:
		t.MadeBefore = true
		return nil
	case reconcile.Stop:
		return t.stopped(seen)
	}
	record := *t.Movement.Record
	return &transport.UndecidedError{
		Kind: transport.MutationMove, Operation: t.String(), Key: record.Key(t.CardID, t.Movement.Movement),
		SentAt: record.Pending.SentAt, Err: t.untold(seen),
	}
}

func (t *transferRun) stopped(seen assessment) *StoppedError {
	return &StoppedError{
		Movement: t.Movement, Reason: seen.Reason, Balance: seen.Card.Balance, Found: t.Found(seen.Since, seen.Reason),
		TopUp: t.MayHaveTopUp(seen.Since), Unread: seen.Since.Hidden,
	}
}

func (m Movement) untold(seen assessment) error {
	text := fmt.Sprintf("the card held %s USD before and holds %s USD now, and its transactions do not tell whether that is with the %s USD or without",
		seen.Before.Anchor.Balance, seen.Card.Balance, m.Delta.Abs())
	if unread := cmp.Or(seen.Since.Hidden, seen.Since.Ignored); unread != "" {
		text += "; " + unread
	}
	return errors.New(text)
}

// send makes the movement on a card that was read just before, and reads it again.
func (t *transferRun) send(ctx context.Context) error {
	e := t.sent.Since
	if t.Ignored = e.Ignored; e.Without == reconcile.Unexplained {
		t.LeftOver = e.Left
	}
	action := "/withdraw"
	if t.IsFund() {
		action = "/fund"
	}
	body, invalid := json.Marshal(map[string]usd.Amount{"amount": t.Delta.Abs()})
	move := t.client.cardCall(t.String(), http.MethodPost, t.CardID, action)
	move.Body, move.Invalid, move.Accept = body, cmp.Or(move.Invalid, invalid), t.accept
	how, err := t.client.Mutate(ctx, &transport.HookedMutation{
		Kind: transport.MutationMove, Call: move, Key: t.key(), Verify: t.verify,
		Uncertain: t.sent.Verdict == reconcile.SendKey || t.sent.Before.Pending != nil,
	})
	ctx, end := t.client.WithGrace(ctx)
	defer end()
	t.LostResponse, t.attempts = how.Lost, how.Attempts
	switch {
	case err != nil:
		return t.notMoved(ctx, err)
	case how.Verified:
		t.Recovered = true
		if wallet, err := t.client.WalletBalance(ctx); err == nil { // else the money has moved all the same
			t.WalletBalance = &wallet.Balance
		}
		if t.sent.Verdict == reconcile.SendKey { // what came was this movement
			t.LeftOver = 0
		}
		t.take(t.after)
		t.remember(t.after.Record)
		return nil
	}
	return t.confirm(ctx, &t.answered, nil)
}

// accept reads what the service answered. That the wallet's balance cannot be read says
// nothing about the movement.
func (t *transferRun) accept(body []byte) error {
	var fields struct {
		CardID        string          `json:"card_id"`
		CardBalance   usd.Amount      `json:"card_balance"`
		WalletBalance json.RawMessage `json:"wallet_balance"`
	}
	if err := transport.DecodeObject(body, &fields, "card_id", "card_balance"); err != nil {
		return err
	}
	t.answered, t.WalletBalance = fields.CardBalance, transport.Readable[*usd.Decimal](fields.WalletBalance)
	return sameCard(t.CardID, fields.CardID)
}

func (t *transferRun) verify(ctx context.Context) transport.Outcome {
	seen, err := t.client.look(ctx, t.Movement, look{since: t.sent.Record.Anchor, patience: shortLook, decide: t.sent.AfterLost})
	if err != nil {
		return transport.Outcome{State: transport.Undecided, Reason: err}
	}
	switch t.after = seen; seen.Verdict {
	case reconcile.Made:
		return transport.Outcome{State: transport.Applied}
	case reconcile.Send:
		return transport.Outcome{State: transport.NotApplied}
	}
	return transport.Outcome{State: transport.Undecided, Reason: t.untold(seen)}
}

func (t *transferRun) key() string { return t.sent.Record.Key(t.CardID, t.sent.Movement) }

// confirm reads the card after the service answered that the movement was made, or
// refused its key: that is one answer, and the card has to show it.
func (t *transferRun) confirm(ctx context.Context, answered *usd.Amount, refusal *transport.Error) error {
	decide := func(card reconcile.Snapshot, waited bool) reconcile.Decision {
		return t.sent.AfterAnswer(card, waited, refusal != nil)
	}
	card := t.sent.Card
	card.Answered = answered
	status, err := t.client.Cards.ReadBalance(ctx, t.CardID, &card)
	seen := assessment{decide(card, false), status}
	if err == nil && seen.Verdict == reconcile.LookAgain { // what has come since is not in it
		seen, err = t.client.look(ctx, t.Movement, look{since: t.sent.Before.Anchor, patience: transport.CommitWait, answered: answered, decide: decide})
	}
	if err != nil {
		open := &transport.UndecidedError{
			Kind: transport.MutationMove, Operation: t.String(), Key: t.key(), Attempts: t.attempts, SentAt: t.client.ServiceTime(),
			Err: fmt.Errorf("the service answered, but the card could not be read after it: %w", err),
		}
		if refusal != nil {
			return t.undecided(open)
		}
		t.remember(t.sent.Record.Unread(open.SentAt))
		return open
	}
	t.take(seen)
	t.remember(seen.Record)
	if seen.Verdict != reconcile.Made {
		stopped := t.stopped(seen)
		stopped.Answered, stopped.Refusal = answered, refusal
		return stopped
	}
	switch seen.Reason {
	case reconcile.MadeBefore: // what came was this movement
		t.MadeBefore, t.LeftOver = true, 0
	case reconcile.OtherAmount:
		t.Excess = seen.Since.Left - t.Delta
	}
	return nil
}

func (t *transferRun) notMoved(ctx context.Context, err error) error {
	if open, ok := errors.AsType[*transport.UndecidedError](err); ok {
		return t.undecided(open)
	}
	refusal, isRefusal := errors.AsType[*transport.Error](err)
	switch {
	case isRefusal && refusal.SpeaksOfKey():
		return t.confirm(ctx, nil, refusal)
	case t.Movement.Record == nil || !isRefusal:
	case refusal.AfterLostResponse:
		t.Transfer.Record = t.Movement.Record.NotMade()
	case refusal.IsFinal():
		t.Transfer.Record = t.Movement.Record.Refused(t.sent.Card)
	}
	return err
}

func (t *transferRun) undecided(open *transport.UndecidedError) error {
	t.remember(t.sent.Record.Lost(open.SentAt))
	return open
}

// Movement is money to be moved between the wallet and a card.
type Movement struct {
	reconcile.Movement
	CardID string
	// Record is what is remembered of the card's money; nil for a movement that
	// stands by itself, of which nothing tells whether it was made before.
	Record *reconcile.Record
}

// String completes "could not …".
func (m Movement) String() string {
	if m.IsFund() {
		return fmt.Sprintf("fund card %s with %s USD", m.CardID, m.Delta)
	}
	return fmt.Sprintf("withdraw %s USD from card %s", -m.Delta, m.CardID)
}

// Transfer is what became of a movement. Amounts are in USD.
type Transfer struct {
	Record        reconcile.Record // to be kept whatever the error; zero without one in the movement
	CardBalance   usd.Amount
	CardStatus    CardStatus
	WalletBalance *usd.Decimal // nil when it could not be told
	Recovered     bool         // the response was lost, and the card shows the movement
	MadeBefore    bool         // as the card shows: by a run that was cut off, as a rule
	LeftOver      usd.Amount   // what had come to the card before, or gone from it, and is named
	Ignored       string       // what could not be read
	Excess        usd.Amount   // what the service moved beyond what was asked, in either direction
	LostResponse  bool         // and the outcome found out
}

// PendingError says that nothing was sent, because another movement on the card is undecided.
type PendingError struct {
	Movement Movement
	Pending  reconcile.Pending
}

// Error names both movements.
func (e *PendingError) Error() string {
	return fmt.Sprintf("%s: nothing was sent, because it is not known yet whether an earlier run could %s", e.Movement, Movement{CardID: e.Movement.CardID, Movement: e.Pending.Movement()})
}

// StoppedError says that it cannot be told whether a movement was made before, or
// whether it is due, and that nothing was sent this time. For NotShown the service has
// answered: nothing is sent again, unless it refused the key. Amounts are in USD.
type StoppedError struct {
	Movement Movement
	Reason   reconcile.Reason
	Balance  usd.Amount // now
	Found    usd.Amount // what no transaction explains
	TopUp    bool       // it may have been made with a top-up
	Unread   string     // what could not be read; for Unreadable
	Answered *usd.Amount
	Refusal  *transport.Error // of the key; nil for none
}

// Error names the movement and the balance.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("%s: stopped, because the card holds %s USD, and it cannot be told whether this was made before", e.Movement, e.Balance)
}

func (e *StoppedError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}
