// Package reconcile decides what a card's readings prove about its money. It is
// pure: no calls, no clock. All amounts are in USD, all times the service's own.
package reconcile

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Kind says what an event does to a card.
type Kind int

// The kinds that the service documents (API §2.2). Of any other, only the
// service knows what it does to the balance.
const (
	Other Kind = iota
	Authorization
	Settlement
	Refund
	Decline
)

// Event is one transaction of a card.
type Event struct {
	ID          string
	Kind        Kind
	Amount, Fee usd.Amount // 0 where Unclear says why
	// Fraction says that Amount or Fee has a part below a cent, which is left out.
	Fraction bool
	Merchant string
	At       time.Time // zero where it cannot be read
	Unclear  string    // why the amounts cannot be relied on; empty when they can
}

// Snapshot is a card at one moment.
type Snapshot struct {
	Balance usd.Amount
	At      time.Time
	Events  []Event // newest first, down to the anchor
	More    bool    // there are older events than these
	Unclear string  // why Events cannot be relied on; empty when they can
	// Own is what other calls of this process have moved on the card since the anchor.
	Own usd.Amount
	// Answered is the balance in the response to the movement; nil without one.
	Answered *usd.Amount
}

// Anchor is the snapshot as it is compared with later ones.
func (s Snapshot) Anchor() *Anchor {
	newest := s.Events[:min(len(s.Events), maxKnown)]
	a := &Anchor{
		Balance: s.Balance, At: s.At.UTC().Truncate(time.Second),
		Listed: s.Unclear == "" || len(newest) > 0, More: s.More || len(s.Events) > maxKnown,
	}
	for _, event := range newest {
		a.Known = append(a.Known, shortID(event.ID))
	}
	return a
}

// reading is the snapshot in a text.
func (s Snapshot) reading() string {
	return fmt.Sprintf("%s %d %x", s.Balance, s.At.Unix(), s.Anchor().Known)
}

// Anchor is what a card is known to have held, and which of its events are in that. What it and
// the events since do not explain is money that came or went by another hand.
type Anchor struct {
	Balance usd.Amount // as read before the last movement, and that movement
	At      time.Time  // of the reading, to the second
	Last    usd.Amount // the last movement: funded above zero, withdrawn below
	Known   []ShortID  // the newest events that were read
	Listed  bool       // the events were read
	More    bool       // there were older events than Known
	New     bool       // the card was issued then: every event is later
	Unclear bool       // a stop has said that its events cannot be read
}

// maxKnown bounds Known.
const maxKnown = 24

// ShortID is the beginning of a hash of an event's id.
type ShortID [4]byte

func shortID(id string) (short ShortID) {
	sum := sha256.Sum256([]byte(id))
	copy(short[:], sum[:])
	return short
}

// atTolerance is how far an anchor's time may be off from when its balance was taken.
const atTolerance = 5 * time.Second

// Side tells on which side of an anchor an event lies.
type Side int

// The sides.
const (
	Around Side = iota // it cannot be told
	Before
	Since
)

// SideOf tells on which side of the anchor an event lies. One that is listed late
// may have been in the balance already.
func (a *Anchor) SideOf(e Event) Side {
	switch {
	case slices.Contains(a.Known, shortID(e.ID)):
		return Before
	case a.New, e.At.After(a.At.Add(atTolerance)):
		return Since
	case !a.Listed && !e.At.IsZero() && !e.At.After(a.At):
		return Before
	}
	return Around
}

// placedEvent is an event on a side of an anchor.
type placedEvent struct {
	*Event
	side Side
}

// place tells the side of each event. What is listed behind the oldest that the
// anchor knows is older still, and left out.
func (a *Anchor) place(events []Event) []placedEvent {
	all := make([]placedEvent, len(events))
	end := len(events)
	for i, e := range events {
		all[i] = placedEvent{&events[i], a.SideOf(e)}
		if all[i].side == Before && a.More {
			end = i + 1
		}
	}
	return all[:end]
}

// plus is the anchor with a movement of delta in it.
func (a *Anchor) plus(delta usd.Amount) *Anchor {
	moved := *a
	moved.Balance, moved.Last = a.Balance+delta, delta
	return &moved
}
