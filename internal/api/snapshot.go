package api

import (
	"context"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	// snapshotPages bounds the transactions that are read since an anchor.
	snapshotPages = 10
	// standardPage is what a page holds unless the service has its own idea (API §4.10).
	standardPage = 25
)

// ReadSnapshot reads what is new on a card since an anchor, nil for its newest
// page, and then its balance.
func (c *Client) ReadSnapshot(ctx context.Context, id string, since *reconcile.Anchor) (reconcile.Snapshot, CardStatus, error) {
	var s reconcile.Snapshot
	c.readEventsOrSayWhyNot(ctx, id, since, &s)
	status, err := c.readBalance(ctx, id, &s)
	return s, status, err
}

// Foresee decides about a movement on a card by its balance as it was read a moment
// ago and one reading of its transactions, without waiting, for the words of a plan.
func (c *Client) Foresee(ctx context.Context, m Movement, balance usd.Amount) (reconcile.Explanation, reconcile.Decision) {
	s := reconcile.Snapshot{Balance: balance, At: c.serviceTime()}
	switch anchor := m.Record.Anchor; {
	case anchor == nil:
	case anchor.Balance == balance && (m.Delta < 0 || m.Range == nil): // else a top-up may have led there
		return reconcile.Explanation{}, reconcile.Decision{Verdict: reconcile.Send, Reason: reconcile.Explained}
	default:
		c.readEventsOrSayWhyNot(ctx, m.CardID, anchor, &s)
	}
	seen := c.decide(reconcile.BeforeSending, m, m.Record.Anchor, s, true)
	return seen.explanation, seen.decision
}

// readBalance reads a snapshot's balance, and leaves its events as they are.
func (c *Client) readBalance(ctx context.Context, id string, s *reconcile.Snapshot) (CardStatus, error) {
	card, err := c.GetCard(ctx, id)
	s.Balance, s.At = card.Balance, c.serviceTime()
	return card.Status, err
}

func (c *Client) readEventsOrSayWhyNot(ctx context.Context, id string, since *reconcile.Anchor, s *reconcile.Snapshot) {
	if err := c.readEvents(ctx, id, since, s); err != nil {
		s.Unclear = "its transactions could not be read: " + err.Error()
	}
}

// readEvents reads pages until one holds an event from before the anchor, or brings
// nothing new: how long a page may be is not said. Late events are listed among
// those that are known already.
func (c *Client) readEvents(ctx context.Context, id string, since *reconcile.Anchor, s *reconcile.Snapshot) error {
	pages := c.transactionPages(TransactionFilter{CardID: id})
	for number := 1; number <= snapshotPages; number++ {
		page, err := pages.read(ctx, number)
		if err != nil {
			return err
		}
		isReversed := number == 1 && isOldestFirst(page)
		if isReversed {
			more, err := pages.read(ctx, 2)
			if err != nil {
				return err
			}
			if len(more) > 0 && more[0].ID != page[0].ID { // else page 1 is the whole list, which some services repeat
				s.Unclear = "its transactions are listed oldest first, so the newest may be missing"
				return nil
			}
			slices.Reverse(page)
		}
		fresh := 0
		reaches := since == nil || isReversed
		for _, t := range page {
			event := t.event()
			if !slices.ContainsFunc(s.Events, func(known reconcile.Event) bool { return known.ID == event.ID }) {
				s.Events = append(s.Events, event)
				fresh++
				reaches = reaches || since.SideOf(event) == reconcile.Before
			}
		}
		if s.More = fresh > 0 && len(page) >= standardPage; fresh == 0 || reaches {
			return nil
		}
	}
	s.Unclear = "more transactions have come since than are read"
	return nil
}

// isOldestFirst reports whether the dates of a page tell so: each can be read, none is
// before the one above it, and the last is later than the first.
func isOldestFirst(page []Transaction) bool {
	var first, last time.Time
	for i, t := range page {
		at, err := t.CreatedAt.Time()
		if err != nil || at.Before(last) {
			return false
		}
		if last = at; i == 0 {
			first = at
		}
	}
	return last.After(first)
}

// event is the transaction as it changes a card's balance.
func (t Transaction) event() reconcile.Event {
	kinds := map[TransactionType]reconcile.Kind{
		TransactionAuthorization: reconcile.Authorization, TransactionSettlement: reconcile.Settlement,
		TransactionRefund: reconcile.Refund, TransactionDecline: reconcile.Decline,
	}
	e := reconcile.Event{ID: t.ID, Kind: kinds[t.Type], Merchant: t.Merchant.MCC.Raw() + " " + t.Merchant.Name.Raw()}
	e.At, _ = t.CreatedAt.Time() // zero where it cannot be read
	switch {
	case t.Problem != "":
		e.Unclear = t.Problem
	case t.Currency != dollar:
		e.Unclear = "transaction " + t.ID + " is in " + t.Currency
	default:
		var problem error
		part := func(d usd.Decimal) usd.Amount {
			amount, err := d.Amount()
			if err != nil {
				e.Fraction = true
				amount, err = d.Floor()
			}
			if err != nil {
				problem = err
			}
			return amount
		}
		e.Amount, e.Fee = part(t.Amount), part(t.Fee)
		if problem != nil {
			e.Unclear = "transaction " + t.ID + " cannot be read: " + problem.Error()
		}
	}
	return e
}

// look reads a card until it can be decided about a movement, or the wait is over,
// which begins anew when the balance changes: what has come may be listed late.
func (c *Client) look(ctx context.Context, moment reconcile.Moment, m Movement, since *reconcile.Anchor, answered *usd.Amount) (sight, error) {
	patience := c.config.CommitWait
	if moment == reconcile.AnswerLost || moment == reconcile.WhilePending {
		patience = 3 * lookAgainAfter
	}
	end := c.clock.Now().Add(longestTrying)
	var before usd.Amount
	for waited := time.Duration(0); ; waited += lookAgainAfter {
		s, status, err := c.ReadSnapshot(ctx, m.CardID, since)
		if err != nil {
			return sight{snapshot: s}, err
		}
		if s.Balance != before && c.clock.Now().Before(end) {
			waited, before = 0, s.Balance
		}
		s.Answered = answered
		seen := c.decide(moment, m, since, s, waited >= patience)
		seen.status = status
		if seen.decision.Verdict != reconcile.LookAgain {
			return seen, nil
		}
		if err := c.clock.Wait(ctx, lookAgainAfter); err != nil {
			return seen, err
		}
	}
}

// sight is what one look at a card tells about a movement.
type sight struct {
	since       *reconcile.Anchor
	snapshot    reconcile.Snapshot
	status      CardStatus
	explanation reconcile.Explanation
	decision    reconcile.Decision
}

// decide explains a snapshot by an anchor. What the service says that it made, and
// the card still does not show, may have been made before, since the record's anchor.
func (c *Client) decide(moment reconcile.Moment, m Movement, since *reconcile.Anchor, s reconcile.Snapshot, waited bool) sight {
	explain := func(since *reconcile.Anchor) reconcile.Explanation {
		s := s
		if m.Record != nil && since == m.Record.Anchor {
			s.Own = c.recent.of(m.CardID).moved
		}
		return reconcile.Explain(since, s, m.Delta)
	}
	seen := sight{since: since, snapshot: s, explanation: explain(since)}
	e := seen.explanation
	if moment == reconcile.Answered && waited && m.Record != nil && e.With == reconcile.Unexplained {
		before := explain(m.Record.Anchor)
		e.With, e.Without = before.With, before.Without
	}
	policy := reconcile.Policy{KeysHonoured: c.config.KeysHonoured, OtherKey: m.Record != nil && !m.Record.HasKey, Waited: waited}
	seen.decision = reconcile.Decide(moment, e, m.Movement, policy)
	return seen
}
