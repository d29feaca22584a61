package transfer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	// snapshotPages bounds how many pages of transactions are read since an anchor.
	snapshotPages = 200
	// standardPage is the number of transactions from which a page counts as full, so that older ones may follow. It
	// is the default for a page of cards (API §4.2). The service documents none for transactions.
	standardPage = 25
	// awaitAgainAfter is the time between two readings of a card that the service may show late.
	awaitAgainAfter = 2 * time.Second
)

// Cards reads cards whose money is moved.
type Cards interface {
	// ReadSnapshot reads a card's transactions since the anchor of a record, and then its balance and
	// status. If the record has no anchor, it reads the newest page of transactions. If the transactions cannot be
	// read, it returns no error, and the snapshot's Unclear says why.
	ReadSnapshot(ctx context.Context, id string, since reconcile.Record) (reconcile.Snapshot, error)
	// ReadBalance reads a card's balance and status into a snapshot, and sets the snapshot's time. It does not change
	// the events.
	ReadBalance(ctx context.Context, id string, s *reconcile.Snapshot) error
}

// reader reads cards from the service.
type reader struct{ client *api.Client }

func (r reader) ReadSnapshot(ctx context.Context, id string, since reconcile.Record) (reconcile.Snapshot, error) {
	var s reconcile.Snapshot
	r.readEvents(ctx, id, since, &s)
	err := r.ReadBalance(ctx, id, &s)
	return s, err
}

func (r reader) ReadBalance(ctx context.Context, id string, s *reconcile.Snapshot) error {
	card, err := r.client.GetCard(ctx, id)
	if err != nil {
		return err
	}
	s.Balance = card.Balance
	s.Status = string(card.Status)
	s.At = r.client.ServiceTime()
	return nil
}

// Await reads a card that another process may have issued or changed shortly before. If the service does not find the
// card, or shows it without the record's last movement, Await may read it again for a limited time.
func (m *Mover) Await(ctx context.Context, id string, record reconcile.Record) (api.CardSummary, error) {
	clock := m.client.Clock()
	end := clock.Now().Add(reconcile.StaleFor)
	card, err := m.client.AwaitCard(ctx, id, reconcile.StaleFor)
	if err != nil || record.Anchor == nil {
		return card, err
	}
	for m.isStale(card, record) && clock.Now().Before(end) {
		err = clock.Wait(ctx, awaitAgainAfter)
		if err != nil {
			return card, err
		}
		card, err = m.client.GetCard(ctx, id)
		if err != nil {
			return card, err
		}
	}
	return card, nil
}

// isStale reports whether a card seems to be shown as it was before the record's last movement.
func (m *Mover) isStale(card api.CardSummary, record reconcile.Record) bool {
	if card.Status == api.StatusTerminated {
		return false
	}
	snapshot := reconcile.Snapshot{Balance: card.Balance, At: m.client.ServiceTime()}
	const noMovement = 0 // no further movement is in question
	return reconcile.Explain(record.Anchor, snapshot, noMovement).Stale
}

// readEvents reads pages of transactions until one contains an event from before the anchor or nothing
// new. Without an anchor, the newest page is enough. readEvents uses each page to its end, because a transaction may
// be listed late, among older ones. It leaves out transactions of other cards, because a service may ignore card_id. If
// the events are incomplete, s.Unclear says why.
func (r reader) readEvents(ctx context.Context, id string, since reconcile.Record, s *reconcile.Snapshot) {
	readPage := r.client.TransactionPages(api.TransactionFilter{CardID: id})
	clock := r.client.Clock()
	end := r.client.Deadline(ctx)
	seen := map[string]bool{}
	for number := 1; number <= snapshotPages && clock.Now().Before(end); number++ {
		page, err := readPage(ctx, number)
		if err != nil {
			s.Unclear = "the card's transactions could not be read: " + transport.WithoutOperation(err)
			return
		}
		isOnlyPage := false
		oldestFirst := number == 1 && isOldestFirst(page)
		if oldestFirst {
			nextPage, err := readPage(ctx, 2)
			if err != nil {
				s.Unclear = "the card's transactions could not be read: " + transport.WithoutOperation(err)
				return
			}
			// After the only page, a service may repeat it.
			isOnlyPage = len(nextPage) == 0 || nextPage[0].ID == page[0].ID
			if !isOnlyPage {
				s.Unclear = "the card's transactions are listed oldest first, so the newest may be missing"
				return
			}
			slices.Reverse(page)
		}

		added := 0
		reachedAnchor := false
		for _, transaction := range page {
			event := eventOf(transaction)
			if seen[event.ID] {
				continue
			}
			seen[event.ID] = true
			added++
			if transaction.IsOfOtherCard(id) {
				continue
			}
			s.Events = append(s.Events, event)
			if since.Anchor != nil && since.Anchor.SideOf(event) == reconcile.BeforeAnchor {
				reachedAnchor = true
			}
		}
		// An only page sets More too if it is full. That changes nothing if all its transactions are different ones of this
		// card: they are more than an anchor keeps, so the anchor has More anyway.
		s.More = added > 0 && len(page) >= standardPage
		isLastPage := added == 0 || isOnlyPage
		if isLastPage || reachedAnchor || since.Anchor == nil {
			return
		}
	}
	s.Unclear = fmt.Sprintf("only the newest %d of the card's transactions could be read", len(s.Events))
}

// isOldestFirst reports whether the dates of a page show that it lists the oldest transaction first.
func isOldestFirst(page []api.Transaction) bool {
	var first, last time.Time
	for i, t := range page {
		at, err := t.CreatedAt.Time()
		if err != nil || at.Before(last) {
			return false
		}
		last = at
		if i == 0 {
			first = at
		}
	}
	return last.After(first)
}

// eventOf converts a transaction.
func eventOf(t api.Transaction) reconcile.Event {
	kinds := map[api.TransactionType]reconcile.Kind{ // any other type is Other, the zero value
		api.TransactionAuthorization: reconcile.Authorization,
		api.TransactionSettlement:    reconcile.Settlement,
		api.TransactionRefund:        reconcile.Refund,
		api.TransactionDecline:       reconcile.Decline,
	}
	e := reconcile.Event{ID: t.ID, Kind: kinds[t.Type], Merchant: t.Merchant.MCC.Raw() + " " + t.Merchant.Name.Raw()}
	e.At, _ = t.CreatedAt.Time() // the zero time if it cannot be read
	if t.Problem != "" {
		e.Unclear = t.Problem
		return e
	}
	if t.Currency != "USD" {
		e.Unclear = "transaction " + t.ID + " is in " + t.Currency
		return e
	}

	// If the amount or the fee is out of range, the other one still counts: package reconcile also adds up events that are
	// Unclear. For example, a decline moves no amount, but its fee may be taken from the card.
	amount, amountHasFraction, err := floorToCents(t.Amount)
	if err != nil {
		e.Unclear = "transaction " + t.ID + " cannot be read: " + err.Error()
	}
	fee, feeHasFraction, err := floorToCents(t.Fee)
	if err != nil {
		e.Unclear = "transaction " + t.ID + " cannot be read: " + err.Error()
	}
	e.Amount = amount
	e.Fee = fee
	e.Fraction = amountHasFraction || feeHasFraction
	return e
}

// floorToCents returns a decimal rounded down to whole cents, and whether that may have left out a part of it. If the
// decimal is out of range, the amount is 0.
func floorToCents(d usd.Decimal) (amount usd.Amount, hasFraction bool, err error) {
	amount, err = d.Amount()
	if err == nil {
		return amount, false, nil
	}
	amount, err = d.Floor()
	return amount, true, err
}
