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
	Balance  usd.Amount
	Month    Month      // of the snapshot
	With     Rank       // when the movement was made
	Without  Rank       // when it was not
	Left     usd.Amount // what Without does not explain; above zero when it came to the card
	Came     usd.Amount // the most that may have come besides what the events tell
	Refunded usd.Amount // since the anchor, as far as it may be
	// Hidden says what could not be read and may have gone in the movement's
	// direction; Ignored, in the other.
	Hidden, Ignored string
	// Stale says that the snapshot shows the card before its last movement, which
	// was just made, or before what other calls of this process have moved.
	Stale bool
	// Undone says that nothing but the card as it was before its last fund, at any age,
	// explains it.
	Undone bool
	// Recent says that the service still keeps keys that were used since the anchor.
	Recent bool
	// Echoed says that the movement's response shows the balance of the snapshot.
	Echoed bool
	Delta  usd.Amount // of the movement
	Own    usd.Amount // that other calls of this process have moved since the anchor
}

// LostRecord is what Hidden says where there is no anchor.
const LostRecord = "its money_record is lost or damaged"

// shows reports whether the card shows the movement, which the service says was made.
func (e Explanation) shows() bool {
	return e.With != Unexplained && e.With >= min(e.Without, AsSettled)
}

// Gain is what may have come to the card that no transaction explains: the movement, or
// the most that is left over, which a released hold explains no better than a top-up.
func (e Explanation) Gain() usd.Amount {
	switch {
	case e.With != Unexplained:
		return max(0, e.Delta, e.Came)
	case e.Without <= HoldReleased:
		return e.Came
	}
	return 0
}

const (
	// StaleFor is how long a service may show a card as it was before a movement.
	StaleFor = 30 * time.Second
	// keysTrusted is less than the day for which a service keeps keys, since a movement
	// may wait for the limits before it is sent.
	keysTrusted = 22 * time.Hour
)

// Explain compares a snapshot with an anchor, nil for none, and a movement of
// delta: funded above zero, withdrawn below.
func Explain(a *Anchor, s Snapshot, delta usd.Amount) Explanation {
	e := Explanation{Balance: s.Balance, Month: MonthOf(s.At), Delta: delta, Own: s.Own, Echoed: s.Answered != nil && *s.Answered == s.Balance}
	if a == nil {
		e.Hidden = LostRecord
		return e
	}
	byBalance := s.Unclear != "" && a.Unclear
	var events []placedEvent
	if !byBalance {
		events = a.place(s.Events)
		up := delta > 0
		e.Hidden, e.Ignored = unreadable(a, s, events, up), unreadable(a, s, events, !up)
	}
	c := comparison{s.Balance, a.Balance + s.Own, interpret(unpaired(events))}
	since := s.At.Sub(a.At)
	e.Recent = -atTolerance <= since && since < keysTrusted
	e.With, e.Without = c.rank(delta), c.rank(0)
	e.Left, e.Came = c.left(delta)
	for _, event := range events {
		if event.side != Before && event.Kind == Refund {
			e.Refunded += event.Amount
		}
	}
	e.Stale = since < StaleFor && c.rank(-a.Last) > e.Without || c.rank(-s.Own) > e.Without
	undone := a.Last > 0 && !a.New && c.rank(-a.Last) >= AsSettled
	if e.Without <= HoldReleased { // all has to be thought of
		released := c.released
		c.interpretation = interpret(events, nil)
		c.released = released
		if with := c.rank(delta); with >= AsSettled {
			e.With, e.Without = with, c.rank(0)
		}
	}
	e.Undone = undone && e.Without == Unexplained
	switch {
	case byBalance:
		e.With, e.Without = min(e.With, AsSettled), min(e.Without, AsSettled)
	case e.Ignored != "":
		e.With = min(e.With, HoldReleased) // it proves nothing
	}
	return e
}

// unreadable says what may have moved money in a direction since an anchor and cannot be read.
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

// comparison holds a balance against what it may be.
type comparison struct {
	shown, anchor usd.Amount
	interpretation
}

func (c comparison) rank(delta usd.Amount) Rank {
	isShown := func(rest usd.Amount) bool { return rest.Abs() <= c.fractions }
	switch {
	case slices.ContainsFunc(c.rests(c.lessHolds, delta), isShown):
		return LessHolds
	case slices.ContainsFunc(c.rests(c.asSettled, delta), isShown):
		return AsSettled
	case slices.ContainsFunc(c.rests(c.released, delta), isShown):
		return HoldReleased
	}
	return Unexplained
}

// left is the least that no interpretation explains, and the most that came by any.
// Where money came by each of them, a fund is looked for in that.
func (c comparison) left(delta usd.Amount) (left, came usd.Amount) {
	rests := append(c.rests(c.lessHolds, 0), c.rests(c.asSettled, 0)...)
	came = max(0, slices.Max(rests))
	if delta > 0 && slices.Min(rests) > 0 {
		return came, came
	}
	return slices.MinFunc(rests, func(a, b usd.Amount) int { return cmp.Compare(a.Abs(), b.Abs()) }), came
}

// rests returns by how much the balance is off the nearest, the least and the most
// that it may be after some changes and a movement of delta.
func (c comparison) rests(changes sums, delta usd.Amount) []usd.Amount {
	if len(changes.values) == 0 {
		return nil
	}
	rest, least := c.shown-c.anchor-delta, c.anchor+changes.least()
	rests := []usd.Amount{rest - changes.nearest(rest), rest - changes.least(), rest - changes.most()}
	if c.excess { // the wallet pays what the card cannot, before the movement or after it
		rests = append(rests, c.shown-max(0, least)-delta, c.shown-max(0, least+delta))
	}
	return rests
}

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

// unpaired sorts out the pairs of a settlement and the authorization of the same
// merchant and amount that it ended: the newest, unless another settlement since, one
// without such an authorization, may have ended that.
func unpaired(events []placedEvent) (others, pairs []placedEvent) {
	for _, e := range slices.Backward(events) { // oldest first
		i := slices.IndexFunc(others, func(o placedEvent) bool {
			return e.Kind == Settlement && o.Merchant == e.Merchant && (o.Kind == Settlement || o.Kind == Authorization && o.Amount == e.Amount)
		})
		if i >= 0 && others[i].Kind == Authorization {
			pairs = append(pairs, others[i], e)
			others = slices.Delete(others, i, i+1)
		} else {
			others = slices.Insert(others, 0, e)
		}
	}
	return others, pairs
}

// interpretation is what events may have done to the balance since an anchor. The
// document does not say whether a balance is less the holds of open authorizations,
// whether fees are taken from the card, and when holds are released.
type interpretation struct {
	lessHolds sums       // to a balance that is less its holds
	released  sums       // to the same, where one hold was released besides
	asSettled sums       // to one that falls at settlement
	fractions usd.Amount // by how much parts of cents may add up
	excess    bool       // a settlement may have taken more than was held, perhaps from the wallet
}

// interpret tells what events, newest first, may have done. The settlement of a pair
// ended its authorization; any other may have ended any.
func interpret(events, pairs []placedEvent) (p interpretation) {
	held, settled, fees := unchanged(), unchanged(), unchanged()
	for _, e := range slices.Concat(events, pairs) {
		if e.side == Before {
			continue
		}
		if e.Fraction {
			p.fractions += 2 * usd.Cent // one of the amount, one of the fee
		}
		change := func(s sums, by usd.Amount) sums {
			if e.side == Around { // it may be in the anchor's balance
				return s.or(s, by)
			}
			return sums{}.or(s, by)
		}
		fees = change(fees, -e.Fee)
		switch e.Kind {
		case Authorization:
			held = change(held, -e.Amount)
		case Settlement:
			settled = change(settled, -e.Amount)
		case Refund:
			held, settled = change(held, e.Amount), change(settled, e.Amount)
		}
	}
	differences, released := unchanged(), sums{}
	var merchants []string
	for _, e := range events {
		if slices.Contains(merchants, e.Merchant) {
			continue
		}
		merchants = append(merchants, e.Merchant)
		ended, oneMore, excess := settle(events, e.Merchant)
		p.excess = p.excess || excess
		released = released.plus(ended).or(differences.plus(oneMore), 0)
		differences = differences.plus(ended)
	}
	fees = fees.or(unchanged(), 0)
	held = held.plus(fees)
	p.lessHolds, p.released, p.asSettled = held.plus(differences), held.plus(released), settled.plus(fees)
	return p
}

// settle returns what a merchant's settlements may have given back of what was held,
// and the same with a hold that was released. Each settlement ends an older
// authorization, or one that is not listed, of the same amount as far as is known;
// which ends which makes no difference to the sum.
func settle(events []placedEvent, merchant string) (ended, released sums, excess bool) {
	isOf := func(e placedEvent, k Kind) bool { return e.Kind == k && e.Merchant == merchant }
	counts := func(e placedEvent) bool { return isOf(e, Settlement) && e.side != Before }
	chosen := []sums{unchanged(), {}} // by how many of the holds in them no settlement has ended yet
	for _, e := range events {
		if counts(e) {
			chosen = append(chosen, sums{})
		}
	}
	least := usd.Max
	for _, e := range slices.Backward(events) { // oldest first
		switch {
		case isOf(e, Authorization):
			least = min(least, e.Amount)
			for n := len(chosen) - 1; n > 0; n-- {
				chosen[n] = chosen[n].or(chosen[n-1], e.Amount)
			}
		case counts(e):
			excess = excess || e.Amount > least
			for n := 1; n < len(chosen); n++ {
				chosen[n-1] = chosen[n-1].or(chosen[n], -e.Amount)
			}
			chosen = chosen[:len(chosen)-1]
		}
	}
	return chosen[0], chosen[1], excess
}
