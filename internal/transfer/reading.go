package transfer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	// snapshotPages bounds the transactions that are read since an anchor.
	snapshotPages = 200
	// standardPage is what a page holds unless the service has its own idea (API §4.10).
	standardPage = 25
	// awaitAgainAfter is the time between two readings of a card that may be shown late.
	awaitAgainAfter = 2 * time.Second
)

// Cards is what is read of a card whose money is moved.
type Cards interface {
	// ReadSnapshot reads what is new on a card since an anchor, nil for its newest
	// page, and then its balance and status.
	ReadSnapshot(ctx context.Context, id string, since *reconcile.Anchor) (reconcile.Snapshot, error)
	// ReadBalance reads a snapshot's balance and status, and leaves its events as they are.
	ReadBalance(ctx context.Context, id string, s *reconcile.Snapshot) error
}

// reader reads cards as the service shows them.
type reader struct{ client *api.Client }

func (r reader) ReadSnapshot(ctx context.Context, id string, since *reconcile.Anchor) (reconcile.Snapshot, error) {
	var s reconcile.Snapshot
	r.readEvents(ctx, id, since, &s)
	err := r.ReadBalance(ctx, id, &s)
	return s, err
}

func (r reader) ReadBalance(ctx context.Context, id string, s *reconcile.Snapshot) error {
	card, err := r.client.GetCard(ctx, id)
	s.Balance = card.Balance
	s.Status = string(card.Status)
	s.At = r.client.ServiceTime()
	return err
}

// Await reads a card that another process may have issued just before this one started, or whose
// last movement, of this anchor, it may have made: again for a while where the service does not
// show that yet.
func (m *Mover) Await(ctx context.Context, id string, anchor *reconcile.Anchor) (api.CardSummary, error) {
	clock := m.client.Clock()
	end := clock.Now().Add(reconcile.StaleFor)
	card, err := m.client.AwaitCard(ctx, id, reconcile.StaleFor)
	for err == nil && anchor != nil && card.Status != api.StatusTerminated && clock.Now().Before(end) {
		shown := reconcile.Snapshot{Balance: card.Balance, At: m.client.ServiceTime()}
		if !reconcile.Explain(anchor, shown, 0).Stale {
			break
		}
		err = clock.Wait(ctx, awaitAgainAfter)
		if err == nil {
			card, err = m.client.GetCard(ctx, id)
		}
	}
	return card, err
}

// readEvents reads pages until one holds an event from before the anchor, or brings
// nothing new, or says why not: how long a page may be is not said. Late events are listed
// among those that are known already.
func (r reader) readEvents(ctx context.Context, id string, since *reconcile.Anchor, s *reconcile.Snapshot) {
	read := r.client.TransactionPages(api.TransactionFilter{CardID: id})
	clock, end := r.client.Clock(), r.client.Deadline(ctx)
	known := map[string]bool{}
	for number := 1; number <= snapshotPages && clock.Now().Before(end); number++ {
		page, err := read(ctx, number)
		if err != nil {
			s.Unclear = "its transactions could not be read: " + err.Error()
			return
		}
		reversed := number == 1 && isOldestFirst(page)
		if reversed {
			more, err := read(ctx, 2)
			if err != nil {
				s.Unclear = "its transactions could not be read: " + err.Error()
				return
			}
			if len(more) > 0 && more[0].ID != page[0].ID { // else page 1 is the whole list, which some services repeat
				s.Unclear = "its transactions are listed oldest first, so the newest may be missing"
				return
			}
			slices.Reverse(page)
		}
		before := len(s.Events)
		reached := since == nil || reversed
		for _, t := range page {
			event := eventOf(t)
			if known[event.ID] {
				continue
			}
			known[event.ID] = true
			s.Events = append(s.Events, event)
			reached = reached || since.SideOf(event) == reconcile.Before
		}
		fresh := len(s.Events) - before
		s.More = fresh > 0 && len(page) >= standardPage
		if fresh == 0 || reached {
			return
		}
	}
	s.Unclear = fmt.Sprintf("the list of its transactions was not read to its end: there were more than %d", len(s.Events))
}

// isOldestFirst reports whether the dates of a page tell so: each can be read, none is
// before the one above it, and the last is later than the first.
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

// eventOf is a transaction as reconcile sees it.
func eventOf(t api.Transaction) reconcile.Event {
	kinds := map[api.TransactionType]reconcile.Kind{
		api.TransactionAuthorization: reconcile.Authorization,
		api.TransactionSettlement:    reconcile.Settlement,
		api.TransactionRefund:        reconcile.Refund,
		api.TransactionDecline:       reconcile.Decline,
	}
	e := reconcile.Event{ID: t.ID, Kind: kinds[t.Type], Merchant: t.Merchant.MCC.Raw() + " " + t.Merchant.Name.Raw()}
	e.At, _ = t.CreatedAt.Time() // zero where it cannot be read
	if t.Problem != "" {
		e.Unclear = t.Problem
		return e
	}
	if t.Currency != "USD" {
		e.Unclear = "transaction " + t.ID + " is in " + t.Currency
		return e
	}
	for _, part := range []struct {
		of   usd.Decimal
		into *usd.Amount
	}{{t.Amount, &e.Amount}, {t.Fee, &e.Fee}} {
		amount, err := part.of.Amount()
		if err != nil {
			e.Fraction = true
			amount, err = part.of.Floor()
		}
		*part.into = amount
		if err != nil {
			e.Unclear = "transaction " + t.ID + " cannot be read: " + err.Error()
		}
	}
	return e
}
