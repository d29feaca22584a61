// Package reconcile decides what the readings of a card prove about its money, and therefore whether to
// send money. It makes no calls and reads no clock. All amounts are in USD, and all times are
// by the service's clock.
package reconcile

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Kind is what an event does to a card.
type Kind int

// The kinds (API §2.2).
const (
	Other Kind = iota // not documented, so its effect on the balance is unknown
	Authorization
	Settlement
	Refund
	Decline
)

// Event is one transaction of a card.
type Event struct {
	ID          string
	Kind        Kind
	Amount, Fee usd.Amount // 0 if they are not known in USD
	// Fraction says that Amount or Fee has a part below a cent, which is not included.
	Fraction bool
	Merchant string
	At       time.Time // zero if it cannot be read
	Unclear  string    // why the amounts cannot be relied on; empty if they can
}

// Snapshot is a card at one moment.
type Snapshot struct {
	Balance usd.Amount
	At      time.Time
	Events  []Event // newest first, back to the anchor if there is one
	More    bool    // there may be older events than these
	Unclear string  // why Events cannot be relied on; empty if they can
	Status  string  // as the service shows it
	Waited  bool    // the card was read again for long enough, so the verdict must not be LookAgain
	// MovedByOtherCalls is what other calls of this process, such as actions, have moved since the anchor. It is
	// positive if they moved more to the card than from it.
	MovedByOtherCalls usd.Amount
	// AnsweredBalance is the balance in the response to the movement; nil without one.
	AnsweredBalance *usd.Amount
}

// Anchor returns the part of a snapshot that later snapshots are compared with.
func (s Snapshot) Anchor() *Anchor {
	newest := s.Events[:min(len(s.Events), maxKnown)]
	a := &Anchor{
		Balance: s.Balance,
		At:      toSecond(s.At),
		Listed:  s.Unclear == "" || len(newest) > 0,
		More:    s.More || len(s.Events) > maxKnown,
	}
	for _, event := range newest {
		a.Known = append(a.Known, shortID(event.ID))
	}
	return a
}

// reading returns the snapshot as a text, from which the next seed is made.
func (s Snapshot) reading() string {
	return fmt.Sprintf("%s %d %x", s.Balance, s.At.Unix(), s.Anchor().Known)
}

// Anchor is a balance that a card is known to have had, and the events that it includes. Money that the
// anchor and the events since then do not explain may have been moved by a request without a response, or by someone
// else.
type Anchor struct {
	Balance usd.Amount // as read, or the load of a new card; plus what was moved after that
	At      time.Time  // of the reading or the issue, to the second
	Last    usd.Amount // the last movement after the reading, or the load of a new card; below zero for a withdrawal
	Known   []ShortID  // the newest events that were read
	Listed  bool       // the events were read, at least the newest
	More    bool       // if Listed: there may have been older events than Known
	New     bool       // the card was issued then, so its events are later
	// Unclear says that the balance alone decides as long as the events cannot be read.
	Unclear bool
}

// maxKnown limits Known, because the text of a record contains it.
const maxKnown = 24

// ShortID is the first bytes of a hash of an event's id.
type ShortID [4]byte

func shortID(id string) ShortID {
	sum := sha256.Sum256([]byte(id))
	return ShortID(sum[:len(ShortID{})])
}

// atTolerance is how far the time of an anchor may be from the moment of its balance.
const atTolerance = 5 * time.Second

// Side says whether an event happened before or after the reading of an anchor.
type Side int

// The sides.
const (
	AroundAnchor Side = iota // it is not known which
	BeforeAnchor
	SinceAnchor
)

// SideOf returns the side of an event. An event that the anchor does not know and that is not certainly later may
// have been listed late: the balance may include it already.
func (a *Anchor) SideOf(e Event) Side {
	if slices.Contains(a.Known, shortID(e.ID)) {
		return BeforeAnchor
	}
	if a.New || e.At.After(a.At.Add(atTolerance)) {
		return SinceAnchor
	}
	if a.Listed || e.At.IsZero() {
		return AroundAnchor
	}
	// Without a list, only the time says what the balance includes.
	if e.At.After(a.At) {
		return AroundAnchor
	}
	return BeforeAnchor
}

// placedEvent is an event and its side of an anchor.
type placedEvent struct {
	*Event
	side Side
}

// place returns events with their sides. The events are newest first. If there may have been more events than the
// anchor knows, place leaves out what follows the last event on the side BeforeAnchor: the anchor's balance includes it.
func (a *Anchor) place(events []Event) []placedEvent {
	all := make([]placedEvent, len(events))
	end := len(events)
	for i, e := range events {
		all[i] = placedEvent{Event: &events[i], side: a.SideOf(e)}
		if all[i].side == BeforeAnchor && a.More {
			end = i + 1
		}
	}
	return all[:end]
}

// plus returns the anchor after a movement of delta.
func (a *Anchor) plus(delta usd.Amount) *Anchor {
	moved := *a
	moved.Balance = a.Balance + delta
	moved.Last = delta
	return &moved
}
