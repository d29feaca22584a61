package reconcile

import (
	"cmp"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Rank says how well a balance is explained.
type Rank int

// The ranks, from the least likely on.
const (
	Unexplained  Rank = iota
	HoldReleased      // the balance is less the holds, and one of them was released
	AsSettled         // the balance falls at settlement
	LessHolds         // the balance is less the holds, as with most services
)

// Explanation is what a snapshot shows about a movement since an anchor.
type Explanation struct {
	Balance usd.Amount
	Month   Month // of the snapshot
	With    Rank  // if the movement was made
	Without Rank  // if it was not
	// Remainder is the unexplained money if the movement was not made: the smallest sum by any
	// interpretation, positive if money arrived on the card and negative if money was taken from it. For a
	// fund it is MaxArrived if money arrived by every interpretation.
	Remainder usd.Amount
	// MaxArrived is the most unexplained money that may have arrived, by any interpretation, if the movement
	// was not made. It is never below zero.
	MaxArrived usd.Amount
	Refunded   usd.Amount // the most that may have been refunded since the anchor
	// Hidden says what could not be read and may have moved money in the movement's direction. Ignored
	// says the same for the other direction.
	Hidden, Ignored string
	// Stale says that the snapshot shows the card before its last movement, made a moment ago, or
	// before what other calls of this process have moved.
	Stale bool
	// Undone says that only the card as it was before its last fund explains the snapshot, however long
	// ago that was.
	Undone bool
	// Recent says that the service still keeps keys that were used since the anchor.
	Recent bool
	// Echoed says that the movement's response contains the balance of the snapshot.
	Echoed            bool
	Delta             usd.Amount // of the movement
	MovedByOtherCalls usd.Amount // see Snapshot
}

// DamagedRecord is the value of Hidden if there is no anchor.
const DamagedRecord = "its money_record is lost or damaged"

// shows reports whether the balance confirms a movement that the service says was made.
func (e Explanation) shows() bool {
	return e.With != Unexplained && e.With >= min(e.Without, AsSettled)
}

// made reports whether the movement was certainly made.
func (e Explanation) made() bool {
	return e.With >= AsSettled && e.Without == Unexplained && e.Hidden == ""
}

// explainsEither reports whether the balance can be explained both with and without a movement.
func (e Explanation) explainsEither(m Movement) bool {
	if e.Without == Unexplained {
		return e.With == HoldReleased
	}
	if m.IsFund() && e.With >= AsSettled {
		return true
	}
	return e.With >= e.Without
}

// leavesHalf reports whether the unexplained money may be half of a movement or more.
func (e Explanation) leavesHalf(m Movement) bool {
	if m.IsFund() {
		return 2*e.MaxArrived >= m.Delta
	}
	return 2*e.Remainder <= m.Delta
}

// Gain returns the most that may have arrived on the card without a transaction: the movement, or other
// unexplained money. A released hold explains money no better than a top-up does.
func (e Explanation) Gain() usd.Amount {
	if e.With != Unexplained {
		return max(0, e.Delta, e.MaxArrived)
	}
	if e.Without <= HoldReleased {
		return e.MaxArrived
	}
	return 0
}

const (
	// StaleFor is how long a service may still show a card as it was before a movement.
	StaleFor = 30 * time.Second
	// keysTrusted is shorter than the day for which a service keeps keys, since a movement may wait for
	// the rate limits before it is sent.
	keysTrusted = 22 * time.Hour
)

// Explain compares a snapshot with an anchor, which may be nil, and a movement of delta: above zero for
// a fund, below for a withdrawal.
func Explain(a *Anchor, s Snapshot, delta usd.Amount) Explanation {
	e := Explanation{
		Balance:           s.Balance,
		Month:             MonthOf(s.At),
		Delta:             delta,
		MovedByOtherCalls: s.MovedByOtherCalls,
		Echoed:            s.AnsweredBalance != nil && *s.AnsweredBalance == s.Balance,
	}
	if a == nil {
		e.Hidden = DamagedRecord
		return e
	}

	// The user was told that the events cannot be read. As long as they cannot, the balance decides.
	byBalance := s.Unclear != "" && a.Unclear
	var events []placedEvent
	if !byBalance {
		events = a.place(s.Events)
		e.Hidden = unreadable(a, s, events, delta > 0)
		e.Ignored = unreadable(a, s, events, delta <= 0)
	}
	e.Refunded = refunded(events)
	age := s.At.Sub(a.At)
	e.Recent = -atTolerance <= age && age < keysTrusted

	c := comparison{shown: s.Balance, anchor: a.Balance + s.MovedByOtherCalls, changes: interpret(unpaired(events))}
	e.With = c.rank(delta)
	e.Without = c.rank(0)
	e.Remainder, e.MaxArrived = c.unexplained(delta)
	beforeLast := age < StaleFor && c.rank(-a.Last) > e.Without
	beforeOtherCalls := c.rank(-s.MovedByOtherCalls) > e.Without
	e.Stale = beforeLast || beforeOtherCalls
	undone := a.Last > 0 && !a.New && c.rank(-a.Last) >= AsSettled

	if e.Without <= HoldReleased { // then try every pairing of settlements and authorizations
		released := c.changes.released
		c.changes = interpret(events, nil)
		c.changes.released = released
		with := c.rank(delta)
		if with >= AsSettled {
			e.With = with
			e.Without = c.rank(0)
		}
	}
	e.Undone = undone && e.Without == Unexplained

	if byBalance {
		e.With = min(e.With, AsSettled)
		e.Without = min(e.Without, AsSettled)
	} else if e.Ignored != "" {
		e.With = min(e.With, HoldReleased) // it proves nothing
	}
	return e
}

// refunded returns the most that may have been refunded since the anchor.
func refunded(events []placedEvent) usd.Amount {
	var sum usd.Amount
	for _, event := range events {
		if event.side != BeforeAnchor && event.Kind == Refund {
			sum += event.Amount
		}
	}
	return sum
}

// unreadable names what may have moved money in a direction since an anchor and cannot be read.
func unreadable(a *Anchor, s Snapshot, events []placedEvent, up bool) string {
	if s.Unclear != "" {
		return s.Unclear
	}
	if len(a.Known) > 0 && !slices.ContainsFunc(events, func(e placedEvent) bool { return e.side == BeforeAnchor }) {
		return "the transactions that were listed before are missing"
	}
	for _, e := range events {
		if e.side != BeforeAnchor && e.mayMove(up) {
			return cmp.Or(e.Unclear, "it is not documented what transaction "+e.ID+" does to the balance")
		}
	}
	return ""
}

// comparison compares a balance with the possible ones.
type comparison struct {
	shown, anchor usd.Amount
	changes       interpretation // since the anchor
}

// rank returns how well the balance is explained if a movement of delta was made. Zero stands for none.
func (c comparison) rank(delta usd.Amount) Rank {
	if c.explains(c.changes.lessHolds, delta) {
		return LessHolds
	}
	if c.explains(c.changes.asSettled, delta) {
		return AsSettled
	}
	if c.explains(c.changes.released, delta) {
		return HoldReleased
	}
	return Unexplained
}

// explains reports whether one of the changes and a movement of delta lead to the balance.
func (c comparison) explains(changes sums, delta usd.Amount) bool {
	return slices.ContainsFunc(c.rests(changes, delta), func(rest usd.Amount) bool { return rest.Abs() <= c.changes.fractions })
}

// unexplained returns the smallest unexplained sum by any interpretation, and the most that may have
// arrived. If money arrived by every interpretation, both are the most when looking for a fund.
func (c comparison) unexplained(delta usd.Amount) (smallest, maxArrived usd.Amount) {
	rests := append(c.rests(c.changes.lessHolds, 0), c.rests(c.changes.asSettled, 0)...)
	maxArrived = max(0, slices.Max(rests))
	if delta > 0 && slices.Min(rests) > 0 {
		return maxArrived, maxArrived
	}
	smallest = slices.MinFunc(rests, func(a, b usd.Amount) int { return cmp.Compare(a.Abs(), b.Abs()) })
	return smallest, maxArrived
}

// rests returns the differences between the balance and the nearest, the least and the greatest possible
// one after some changes and a movement of delta.
func (c comparison) rests(changes sums, delta usd.Amount) []usd.Amount {
	if len(changes.values) == 0 {
		return nil
	}
	rest := c.shown - c.anchor - delta
	rests := []usd.Amount{rest - changes.nearest(rest), rest - changes.least(), rest - changes.most()}
	if c.changes.excess { // the wallet pays what the card cannot, before or after the movement
		least := c.anchor + changes.least()
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

// unpaired finds pairs of an authorization and the settlement that ended it, with the same merchant and
// amount. It returns the other events, newest first, and the pairs.
func unpaired(events []placedEvent) (others, pairs []placedEvent) {
	for _, e := range slices.Backward(events) { // oldest first
		i := authorizationOf(e, others)
		if i >= 0 {
			pairs = append(pairs, others[i], e)
			others = slices.Delete(others, i, i+1)
		} else {
			others = slices.Insert(others, 0, e)
		}
	}
	return others, pairs
}

// authorizationOf returns the index of the authorization that a settlement ended, and -1 if there is none.
// It is the newest of the same merchant and amount. If a settlement of that merchant without a pair is
// newer, that settlement may have ended it instead.
func authorizationOf(e placedEvent, older []placedEvent) int {
	if e.Kind != Settlement {
		return -1
	}
	for i, o := range older { // newest first
		if o.Merchant != e.Merchant {
			continue
		}
		if o.Kind == Settlement {
			return -1
		}
		if o.Kind == Authorization && o.Amount == e.Amount {
			return i
		}
	}
	return -1
}

// interpretation contains the possible effects of events on the balance since an anchor. The service
// does not document whether the holds of open authorizations reduce the balance, whether fees are taken
// from the card, and when holds are released.
type interpretation struct {
	lessHolds sums       // on a balance that is less its holds
	released  sums       // the same, if one hold was also released
	asSettled sums       // on a balance that falls at settlement
	fractions usd.Amount // how much the parts below a cent may add up to
	excess    bool       // a settlement may have taken more than was held, perhaps from the wallet
}

// interpret returns the possible effects of events, newest first. The settlement of a pair ended its
// authorization; any other settlement may have ended any authorization.
func interpret(events, pairs []placedEvent) interpretation {
	held := onlyZero()
	settled := onlyZero()
	fees := onlyZero()
	var fractions usd.Amount
	for _, e := range slices.Concat(events, pairs) {
		if e.side == BeforeAnchor {
			continue
		}
		if e.Fraction {
			fractions += 2 * usd.Cent // one of the amount, one of the fee
		}
		fees = e.change(fees, -e.Fee)
		switch e.Kind {
		case Authorization:
			held = e.change(held, -e.Amount)
		case Settlement:
			settled = e.change(settled, -e.Amount)
		case Refund:
			held = e.change(held, e.Amount)
			settled = e.change(settled, e.Amount)
		}
	}
	fees = fees.union(onlyZero()) // fees may also be taken from elsewhere
	held = held.plus(fees)

	ended := endedHolds(events)
	return interpretation{
		lessHolds: held.plus(ended.all),
		released:  held.plus(ended.withOneReleased),
		asSettled: settled.plus(fees),
		fractions: fractions,
		excess:    ended.excess,
	}
}

// change adds the effect of an event to sums. If the anchor's balance may include the event already, the
// result has the sums with and without it.
func (e placedEvent) change(s sums, by usd.Amount) sums {
	if e.side == AroundAnchor {
		return s.union(s.increased(by))
	}
	return s.increased(by)
}

// holds contains the sums that settlements may have released from holds.
type holds struct {
	all             sums
	withOneReleased sums // the same, if one hold was also released without a settlement
	excess          bool // a settlement may have taken more than was held
}

// endedHolds returns what the settlements of all merchants may have released.
func endedHolds(events []placedEvent) holds {
	h := holds{all: onlyZero()}
	var merchants []string
	for _, e := range events {
		if slices.Contains(merchants, e.Merchant) {
			continue
		}
		merchants = append(merchants, e.Merchant)
		one := endedHoldsOf(events, e.Merchant)
		// The released hold belongs to one of the merchants so far, or to this one.
		h.withOneReleased = h.withOneReleased.plus(one.all).union(h.all.plus(one.withOneReleased))
		h.all = h.all.plus(one.all)
		h.excess = h.excess || one.excess
	}
	return h
}

// endedHoldsOf returns what a merchant's settlements may have released. Each settlement ends an older
// authorization, or one that is not listed, presumably of the same amount. Which one ends which makes no
// difference to the sum.
func endedHoldsOf(events []placedEvent, merchant string) holds {
	// chosen[n] are the sums of holds of which n were not ended by a settlement yet.
	chosen := []sums{onlyZero(), {}}
	for _, e := range events {
		if e.Merchant == merchant && e.endsHold() {
			chosen = append(chosen, sums{})
		}
	}
	least := usd.Max
	excess := false
	for _, e := range slices.Backward(events) { // oldest first
		if e.Merchant != merchant {
			continue
		}
		if e.Kind == Authorization {
			least = min(least, e.Amount)
			for n := len(chosen) - 1; n > 0; n-- {
				chosen[n] = chosen[n].union(chosen[n-1].increased(e.Amount))
			}
		} else if e.endsHold() {
			excess = excess || e.Amount > least
			for n := 1; n < len(chosen); n++ {
				chosen[n-1] = chosen[n-1].union(chosen[n].increased(-e.Amount))
			}
			chosen = chosen[:len(chosen)-1]
		}
	}
	return holds{all: chosen[0], withOneReleased: chosen[1], excess: excess}
}

// endsHold reports whether an event may have ended a hold since the anchor.
func (e placedEvent) endsHold() bool { return e.Kind == Settlement && e.side != BeforeAnchor }
