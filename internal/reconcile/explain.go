package reconcile

import (
	"cmp"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Rank tells how well a balance is explained.
type Rank int

// The ranks, from the least likely on.
const (
	Unexplained Rank = iota
	HoldReleased
	AsSettled // where the balance falls at settlement
	LessHolds // where it is less the holds, as with most services
)

// Explanation is what a snapshot tells about a movement since an anchor.
type Explanation struct {
	Anchored bool // without it nothing else is known
	Balance  usd.Amount
	With     Rank       // when the movement was made
	Without  Rank       // when it was not
	Left     usd.Amount // what Without does not explain; above zero when it came to the card
	// Hidden says what could not be read and may have gone in the movement's
	// direction; Ignored, in the other.
	Hidden, Ignored string
	// Stale says that the snapshot shows the card before its last movement, which
	// was just made, or before what other calls of this process have moved.
	Stale bool
	// Recent says that the service still keeps keys that were used since the anchor.
	Recent bool
	// Echoed says that the movement's response shows the balance of the snapshot.
	Echoed bool
	Delta  usd.Amount // of the movement
}

// Gain is what may have come to the card that no transaction explains: what is
// left over, or the movement.
func (e Explanation) Gain() usd.Amount {
	var gain usd.Amount
	if e.Without == Unexplained {
		gain = e.Left
	}
	if e.With != Unexplained {
		gain = max(gain, e.Delta)
	}
	return max(0, gain)
}

const (
	// StaleFor is how long a service may show a card as it was before a movement.
	StaleFor = 30 * time.Second
	// keysKept is how long a service keeps idempotency keys.
	keysKept = 24 * time.Hour
)

// Explain compares a snapshot with an anchor, nil for none, and a movement of
// delta: funded above zero, withdrawn below.
func Explain(a *Anchor, s Snapshot, delta usd.Amount) Explanation {
	e := Explanation{Balance: s.Balance, Delta: delta, Echoed: s.Answered != nil && *s.Answered == s.Balance}
	if a == nil {
		return e
	}
	c := comparison{snapshot: s, base: a.Balance + s.Own}
	byBalance := s.Unclear != "" && a.Unclear
	events := a.place(s.Events)
	if byBalance {
		c.ways = []interpretation{{}}
	} else {
		c.ways = interpret(events, false)
		e.Hidden, e.Ignored = unreadable(a, s, events, delta > 0), unreadable(a, s, events, delta < 0)
	}
	since := s.At.Sub(a.At)
	e.Anchored, e.Recent = true, since < keysKept && !s.At.IsZero()
	e.With, e.Without, e.Left = c.rank(delta), c.rank(0), c.left(delta)
	e.Stale = since < StaleFor && c.rank(-a.Last) > e.Without
	if own := (comparison{s, a.Balance, c.ways}); s.Own != 0 && own.rank(0) > own.rank(s.Own) {
		e.Stale = true
	}
	if e.With >= AsSettled && e.Without == Unexplained && !byBalance { // before it is called made
		c.ways = interpret(events, true)
		e.Without = c.rank(0)
	}
	switch {
	case byBalance:
		e.With, e.Without = min(e.With, AsSettled), min(e.Without, AsSettled)
	case e.Ignored != "":
		e.With = min(e.With, HoldReleased) // it proves nothing
	}
	return e
}

// unreadable says what may have moved money in a direction since an anchor and
// cannot be read.
func unreadable(a *Anchor, s Snapshot, events []placedEvent, up bool) string {
	if s.Unclear != "" {
		return s.Unclear
	}
	if len(a.Known) > 0 && !slices.ContainsFunc(events, func(e placedEvent) bool { return e.side == Before }) {
		return "the transactions that were there before are no longer listed"
	}
	for _, e := range events {
		if e.side != Before && e.mayMove(up) {
			return cmp.Or(e.Unclear, "only the service knows what transaction "+e.ID+" did to the balance")
		}
	}
	return ""
}

// comparison holds a snapshot against what it may show.
type comparison struct {
	snapshot Snapshot
	base     usd.Amount
	ways     []interpretation
}

func (c comparison) rank(delta usd.Amount) Rank {
	best := Unexplained
	for _, way := range c.ways {
		isShown := func(balance usd.Amount) bool { return abs(c.snapshot.Balance-balance) <= way.fractions }
		switch {
		case slices.ContainsFunc(way.lessHolds(c.base, delta), isShown):
			return LessHolds
		case slices.ContainsFunc(way.asSettled(c.base, delta), isShown):
			best = AsSettled
		case slices.ContainsFunc(way.released(c.base, delta), isShown):
			best = max(best, HoldReleased)
		}
	}
	return best
}

// left is the least that no interpretation explains. Where money came by each of
// them, a fund is looked for in the most that may have come.
func (c comparison) left(delta usd.Amount) usd.Amount {
	var rests []usd.Amount
	for _, way := range c.ways {
		for _, balance := range append(way.lessHolds(c.base, 0), way.asSettled(c.base, 0)...) {
			rests = append(rests, c.snapshot.Balance-balance)
		}
	}
	if delta > 0 && slices.Min(rests) > 0 {
		return slices.Max(rests)
	}
	return slices.MinFunc(rests, func(a, b usd.Amount) int { return cmp.Compare(abs(a), abs(b)) })
}

func abs(a usd.Amount) usd.Amount { return max(a, -a) }

// mayMove reports whether an unreadable event may have moved money in a direction.
func (e Event) mayMove(up bool) bool {
	switch e.Kind {
	case Decline:
		return false
	case Authorization, Settlement:
		return !up && e.Unclear != ""
	case Refund:
		return up && e.Unclear != ""
	}
	return true
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
		if all[i].side == Before && a.Listed && a.More {
			end = i + 1
		}
	}
	return all[:end]
}

// interpretation is what the events since an anchor did, or may have done, to the
// balance. The document does not say whether a balance is less the holds of open
// authorizations, whether fees are taken from the card, and when holds are released.
type interpretation struct {
	authorized  usd.Amount // held since the anchor
	settled     usd.Amount
	differences usd.Amount // what settlements gave back of what was held
	refunded    usd.Amount
	fees        usd.Amount
	fractions   usd.Amount // by how much parts of cents may add up
	excess      bool       // a settlement took more than was held, perhaps from the wallet
	open        []hold     // authorizations without a settlement; any one may have been released
}

type hold struct {
	amount   usd.Amount
	merchant string
}

// maxInterpretations bounds the ways in which settlements may end authorizations.
const maxInterpretations = 256

// interpret lists what may have happened: several interpretations where it cannot
// be told which events are new, or which authorization a settlement ends. That is
// one of the same amount, if there is one, unless all have to be thought of.
func interpret(events []placedEvent, thinkOfAll bool) []interpretation {
	all := interpretWith(events, true, thinkOfAll)
	if slices.ContainsFunc(events, func(e placedEvent) bool { return e.side == Around }) {
		all = append(all, interpretWith(events, false, thinkOfAll)...)
	}
	return all
}

// interpretWith counts the events since an anchor, with around also those of which
// it cannot be told.
func interpretWith(events []placedEvent, around, thinkOfAll bool) []interpretation {
	all := []interpretation{{}}
	for _, e := range slices.Backward(events) { // oldest first
		counts := e.side == Since || e.side == Around && around
		for i := range all {
			if counts {
				all[i].add(*e.Event)
			}
			if e.Kind == Authorization {
				all[i].open = append(all[i].open, hold{e.Amount, e.Merchant})
			}
		}
		if e.Kind == Settlement {
			all = settle(all, *e.Event, counts, thinkOfAll)
		}
	}
	return all
}

func (p *interpretation) add(e Event) {
	p.fees += e.Fee
	if e.Fraction {
		p.fractions += 2 * usd.Cent // one of the amount, one of the fee
	}
	switch e.Kind {
	case Authorization:
		p.authorized += e.Amount
	case Settlement:
		p.settled += e.Amount
	case Refund:
		p.refunded += e.Amount
	}
}

// settle ends an authorization of the same merchant, or one of long ago, which was
// for the same amount as far as is known.
func settle(all []interpretation, e Event, counts, thinkOfAll bool) []interpretation {
	for i := range all {
		exact := slices.Index(all[i].open, hold{e.Amount, e.Merchant})
		if exact >= 0 && !thinkOfAll {
			all[i].open = slices.Delete(all[i].open, exact, exact+1)
			continue
		}
		for j, h := range all[i].open {
			if len(all) == maxInterpretations {
				break
			}
			if h.merchant != e.Merchant || slices.Index(all[i].open, h) < j {
				continue
			}
			other := all[i]
			other.open = slices.Delete(slices.Clone(other.open), j, j+1)
			if counts {
				other.differences += h.amount - e.Amount
				other.excess = other.excess || e.Amount > h.amount
			}
			all = append(all, other)
		}
	}
	return all
}

// lessHolds returns what the card may hold when its balance is less its holds,
// with fees taken from the card or not.
func (p interpretation) lessHolds(before, delta usd.Amount) []usd.Amount {
	return p.balances(before-p.authorized+p.differences+p.refunded, delta)
}

// asSettled returns the same for a balance that falls at settlement.
func (p interpretation) asSettled(before, delta usd.Amount) []usd.Amount {
	return p.balances(before-p.settled+p.refunded, delta)
}

func (p interpretation) balances(balance, delta usd.Amount) []usd.Amount {
	all := []usd.Amount{balance + delta, balance - p.fees + delta}
	if p.excess { // the wallet pays what the card cannot, before the movement or after it
		all = append(all, max(0, balance)+delta, max(0, balance+delta))
	}
	return all
}

// released returns what the card may hold when one of its holds was released,
// which changes only a balance that is less the holds.
func (p interpretation) released(before, delta usd.Amount) []usd.Amount {
	balances := p.lessHolds(before, delta)
	all := make([]usd.Amount, 0, len(balances)*len(p.open))
	for _, balance := range balances {
		for _, h := range p.open {
			all = append(all, balance+h.amount)
		}
	}
	return all
}
