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
