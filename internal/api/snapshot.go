package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	// snapshotPages bounds the transactions that are read since an anchor.
	snapshotPages = 200
	// standardPage is what a page holds unless the service has its own idea (API §4.10).
	standardPage = 25
)

// ReadSnapshot reads what is new on a card since an anchor, nil for its newest
// page, and then its balance.
func (c *Client) ReadSnapshot(ctx context.Context, id string, since *reconcile.Anchor) (reconcile.Snapshot, CardStatus, error) {
	var s reconcile.Snapshot
	c.readEvents(ctx, id, since, &s)
	status, err := c.ReadBalance(ctx, id, &s)
	return s, status, err
}

// Preview decides about a change of a card by its balance as it was read a moment ago
// and one reading of its transactions, without waiting, for the words of a plan.
func (c *Client) Preview(ctx context.Context, card string, record reconcile.Record, change reconcile.Change, balance usd.Amount) []reconcile.Decision {
	s := reconcile.Snapshot{Balance: balance, Own: c.recent.of(card).moved}
	if record.Anchor != nil {
		c.readEvents(ctx, card, record.Anchor, &s)
	}
	s.At = c.ServiceTime() // which the first response tells
	return change.Preview(record, s, c.KeysHonoured())
}

// ReadBalance reads a snapshot's balance, and leaves its events as they are.
func (c *Client) ReadBalance(ctx context.Context, id string, s *reconcile.Snapshot) (CardStatus, error) {
	card, err := c.GetCard(ctx, id)
	s.Balance, s.At = card.Balance, c.ServiceTime()
	return card.Status, err
}

// readEvents reads pages until one holds an event from before the anchor, or brings
// nothing new, or says why not: how long a page may be is not said. Late events are listed
// among those that are known already.
func (c *Client) readEvents(ctx context.Context, id string, since *reconcile.Anchor, s *reconcile.Snapshot) {
	unread := func(err error) { s.Unclear = "its transactions could not be read: " + err.Error() }
	pages, known, end := c.transactionPages(TransactionFilter{CardID: id}), map[string]bool{}, c.Deadline(ctx)
	for number := 1; number <= snapshotPages && c.clock.Now().Before(end); number++ {
		page, err := pages.read(ctx, number)
		if err != nil {
			unread(err)
			return
		}
		isReversed := number == 1 && isOldestFirst(page)
		if isReversed {
			more, err := pages.read(ctx, 2)
			if err != nil {
				unread(err)
				return
			}
			if len(more) > 0 && more[0].ID != page[0].ID { // else page 1 is the whole list, which some services repeat
				s.Unclear = "its transactions are listed oldest first, so the newest may be missing"
				return
			}
			slices.Reverse(page)
		}
		fresh := len(s.Events)
		reaches := since == nil || isReversed
		for _, t := range page {
			if event := t.event(); !known[event.ID] {
				known[event.ID] = true
				s.Events = append(s.Events, event)
				reaches = reaches || since.SideOf(event) == reconcile.Before
			}
		}
		fresh = len(s.Events) - fresh
		if s.More = fresh > 0 && len(page) >= standardPage; fresh == 0 || reaches {
			return
		}
	}
	s.Unclear = fmt.Sprintf("the list of its transactions was not read to its end: there were more than %d", len(s.Events))
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
