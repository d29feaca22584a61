package reconcile

import (
	"cmp"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Rank says how well a balance is explained.
type Rank int

// The ranks, from the worst explanation to the best.
const (
	Unexplained  Rank = iota
	HoldReleased      // the balance is explained if it falls at authorization and one of the holds was released
	AsSettled         // the balance is explained if it falls at settlement
	LessHolds         // the balance is explained if it falls at authorization
)

// Explanation is what a snapshot shows about a movement since an anchor.
type Explanation struct {
	Balance usd.Amount
	Month   Month // of the snapshot
	With    Rank  // how well the balance is explained if the movement was made
	Without Rank  // the same, if it was not made
	// Remainder is the unexplained money if the movement was not made: positive if money arrived on the card,
	// and negative if money was taken from it. It depends on the interpretation, which comparison.unexplained chooses.
	Remainder usd.Amount
	// MaxArrived is the most unexplained money that may have arrived if the movement was not made, or 0.
	MaxArrived usd.Amount
	Refunded   usd.Amount // the sum of the refunds that may have happened since the anchor
	// Hidden says what could not be read and may have moved money in the movement's direction. Ignored
	// says the same for the other direction. Both are empty if the balance alone decides; see Anchor.Unclear.
	Hidden, Ignored string
	// Stale says that the balance fits better without the card's last movement, or without what other calls of this
	// process have moved. The last movement counts only if the anchor is less than StaleFor older than the snapshot.
	Stale bool
	// Undone says that the balance is unexplained without the movement, but fits the card as it was before its last
	// movement, which was a fund. The load of a new card does not count.
	Undone bool
	// Recent says that the service is trusted to still keep a key that was used since the anchor.
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
	if e.With == HoldReleased { // weak evidence, which counts unless the balance is explained better without the movement
		return e.Without <= HoldReleased
	}
	return e.With >= AsSettled
}

// made reports whether the balance proves that the movement was made.
func (e Explanation) made() bool {
	return e.With >= AsSettled && e.Without == Unexplained && e.Hidden == ""
}

// explainsEither reports whether a movement may have been made, although the balance does not prove it: the balance is
// explained with the movement at least as well as without it, or for a fund, at least as AsSettled. It ignores Hidden.
func (e Explanation) explainsEither(m Movement) bool {
	if e.Without == Unexplained {
		return e.With == HoldReleased // a released hold does not prove that the movement was made
	}
	if m.IsFund() && e.With >= AsSettled { // even if the balance is explained better without it
		return true
	}
	return e.With >= e.Without
}

// leavesHalf reports whether the unexplained money may be half of a movement or more.
func (e Explanation) leavesHalf(m Movement) bool {
	if m.IsFund() {
		return 2*e.MaxArrived >= m.Delta
	}
	return 2*e.Remainder <= m.Delta // for a withdrawal, money that left the card is below zero
}

// Gain returns the most that may have arrived on the card without a transaction: the movement, or other unexplained money.
func (e Explanation) Gain() usd.Amount {
	if e.With != Unexplained {
		return max(0, e.Delta, e.MaxArrived)
	}
	if e.Without <= HoldReleased { // what seems to be a released hold may as well be a top-up
		return e.MaxArrived
	}
	return 0
}

const (
	// StaleFor is how long after a movement a service may still show the card as it was before.
	StaleFor = 30 * time.Second
	// keysTrusted is how long after an anchor the service is trusted to keep keys. Services usually keep them for a
	// day. This time is shorter, because a movement may wait for rate limits before it is sent.
	keysTrusted = 22 * time.Hour
)

// Explain compares a snapshot with an anchor, which may be nil, and a movement of delta: above zero for
// a fund, below for a withdrawal, and 0 if no movement is in question.
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

	// With an Unclear anchor, the balance alone decides until the events can be read again.
	byBalance := s.Unclear != "" && a.Unclear
	var events []placedEvent
	if !byBalance {
		events = a.place(s.Events)
		if delta > 0 {
			e.Hidden = unreadable(a, s, events, toCard)
			e.Ignored = unreadable(a, s, events, fromCard)
		} else {
			e.Hidden = unreadable(a, s, events, fromCard)
			e.Ignored = unreadable(a, s, events, toCard)
		}
	}
	e.Refunded = refunded(events)
	age := s.At.Sub(a.At)
	e.Recent = -atTolerance <= age && age < keysTrusted

	others, pairs := splitPairs(events)
	c := comparison{
		shown:   s.Balance,
		anchor:  a.Balance + s.MovedByOtherCalls,
		changes: interpret(others, pairs),
	}
	e.With = c.rank(delta)
	e.Without = c.rank(0)
	e.Remainder, e.MaxArrived = c.unexplained(delta)
	rankBeforeLast := c.rank(-a.Last) // as if the last movement had not been made
	fitsBeforeLast := age < StaleFor && rankBeforeLast > e.Without
	fitsBeforeOtherCalls := c.rank(-s.MovedByOtherCalls) > e.Without
	e.Stale = fitsBeforeLast || fitsBeforeOtherCalls

	if e.Without <= HoldReleased {
		// Without the movement, the pairs explain the balance badly or not at all. Then a settlement may have ended
		// any authorization of its merchant. That counts if it explains the balance well with the movement.
		unpaired := c
		unpaired.changes = interpret(events, nil)
		unpaired.changes.released = c.changes.released // a released hold is combined only with the pairs
		with := unpaired.rank(delta)
		if with >= AsSettled {
			e.With = with
			e.Without = unpaired.rank(0)
		}
	}
	lastIsFund := a.Last > 0 && !a.New
	e.Undone = lastIsFund && rankBeforeLast >= AsSettled && e.Without == Unexplained

	if byBalance { // without the events, a balance that fits counts as AsSettled at most
		e.With = min(e.With, AsSettled)
		e.Without = min(e.Without, AsSettled)
	} else if e.Ignored != "" {
		// What cannot be read may offset other money, so the balance does not prove the movement.
		e.With = min(e.With, HoldReleased)
	}
	return e
}

// refunded returns the sum of the refunds that may have happened since the anchor.
func refunded(events []placedEvent) usd.Amount {
	var sum usd.Amount
	for _, event := range events {
		if event.side != BeforeAnchor && event.Kind == Refund {
			sum += event.Amount
		}
	}
	return sum
}

// direction says whether money moves to the card or from it.
type direction int

const (
	toCard direction = iota
	fromCard
)

// unreadable describes what cannot be read and may have moved money in a direction since an anchor. It returns
// "" if there is nothing of that kind.
func unreadable(a *Anchor, s Snapshot, events []placedEvent, d direction) string {
	if s.Unclear != "" {
		return s.Unclear
	}
	reachesAnchor := slices.ContainsFunc(events, func(e placedEvent) bool { return e.side == BeforeAnchor })
	if len(a.Known) > 0 && !reachesAnchor {
		return "the transactions that were listed before are missing"
	}
	for _, e := range events {
		if e.side != BeforeAnchor && e.mayMoveUnknown(d) {
			return cmp.Or(e.Unclear, "the effect of transaction "+e.ID+" on the balance is not documented")
		}
	}
	return ""
}

// comparison compares the balance that a snapshot shows with the balances that are possible since an anchor.
type comparison struct {
	shown   usd.Amount     // the snapshot's balance
	anchor  usd.Amount     // the anchor's balance, plus what other calls have moved since
	changes interpretation // the possible changes since the anchor
}

// rank returns how well the balance is explained if a movement of delta was made. A delta of 0 means no movement.
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

// explains reports whether one of the changes and a movement of delta lead to the balance, except for parts
// below a cent.
func (c comparison) explains(changes sums, delta usd.Amount) bool {
	for _, remainder := range c.remainders(changes, delta) {
		if remainder.Abs() <= c.changes.fractions {
			return true
		}
	}
	return false
}

// unexplained returns the unexplained money if no movement was made: of the interpretations, the amount nearest to
// 0, and the most that may have arrived. Released holds are not considered. When looking for a fund (delta above
// 0), both results are the most if money arrived according to every interpretation.
func (c comparison) unexplained(delta usd.Amount) (nearest, maxArrived usd.Amount) {
	remainders := append(c.remainders(c.changes.lessHolds, 0), c.remainders(c.changes.asSettled, 0)...)
	maxArrived = max(0, slices.Max(remainders))
	if delta > 0 && slices.Min(remainders) > 0 {
		return maxArrived, maxArrived
	}
	nearest = slices.MinFunc(remainders, func(a, b usd.Amount) int { return cmp.Compare(a.Abs(), b.Abs()) })
	return nearest, maxArrived
}

// remainders returns what a movement of delta and one of the changes leave unexplained of the balance: for
// the nearest, the least and the greatest change. If a settlement may have taken more than was held, remainders also
// returns what is left if the balance stopped at 0. If there are no changes, it returns nil.
func (c comparison) remainders(changes sums, delta usd.Amount) []usd.Amount {
	if len(changes.values) == 0 { // for example, there is no hold to release
		return nil
	}
	change := c.shown - c.anchor - delta // since the anchor, apart from the movement
	remainders := []usd.Amount{
		change - changes.nearest(change),
		change - changes.least(),
		change - changes.most(),
	}
	if c.changes.excess {
		// If the wallet pays what the card cannot, the balance stops at 0, either before or after the movement.
		lowest := c.anchor + changes.least()
		stoppedBefore := max(0, lowest) + delta
		stoppedAfter := max(0, lowest+delta)
		remainders = append(remainders, c.shown-stoppedBefore, c.shown-stoppedAfter)
	}
	return remainders
}

// mayMoveUnknown reports whether an event may have moved an unknown amount in a direction.
func (e Event) mayMoveUnknown(d direction) bool {
	switch e.Kind {
	case Decline:
		return false
	case Authorization, Settlement:
		return d == fromCard && e.Unclear != ""
	case Refund:
		return d == toCard && e.Unclear != ""
	}
	return true // it is not documented what this kind does
}

// splitPairs finds pairs of an authorization and the settlement that presumably ended it, with the same merchant and
// amount. The events are newest first. It returns the other events, also newest first, and the pairs.
func splitPairs(events []placedEvent) (others, pairs []placedEvent) {
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

// authorizationOf returns the index in older of the authorization that e presumably ended: the newest one of the same
// merchant and amount. The result is -1 if there is none, or if e is not a settlement. It is also -1 if older has a
// settlement of the merchant that is newer than the authorization, because that settlement may have ended it instead.
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
// from the card, or when holds are released.
type interpretation struct {
	lessHolds sums       // on a balance that falls at authorization
	released  sums       // the same, if one hold was also released without a settlement
	asSettled sums       // on a balance that falls at settlement
	fractions usd.Amount // how much the parts below a cent may add up to
	excess    bool       // a settlement may have taken more than was held, perhaps from the wallet
}

// interpret returns the possible effects of events, newest first, and of pairs; see splitPairs. The settlement of a
// pair counts as the end of its authorization. Another settlement may have ended any older authorization of its
// merchant that is not in a pair.
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
			fractions += 2 * usd.Cent // one for the amount, one for the fee
		}
		fees = e.addTo(fees, -e.Fee)
		switch e.Kind {
		case Authorization:
			held = e.addTo(held, -e.Amount)
		case Settlement:
			settled = e.addTo(settled, -e.Amount)
		case Refund:
			held = e.addTo(held, e.Amount)
			settled = e.addTo(settled, e.Amount)
		}
	}
	fees = fees.union(onlyZero()) // the fees may be taken from the wallet instead
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

// addTo adds the effect of an event, in USD, to each of the sums. If the anchor's balance may include the event
// already, the result has the sums with and without the effect.
func (e placedEvent) addTo(s sums, effect usd.Amount) sums {
	if e.side == AroundAnchor {
		return s.union(s.increased(effect))
	}
	return s.increased(effect)
}

// holds contains the possible effects of settlements on a balance that falls at authorization: the holds that they
// ended, less what they took.
type holds struct {
	all             sums
	withOneReleased sums // the same, if one hold was also released without a settlement
	excess          bool // a settlement may have taken more than was held
}

// endedHolds returns the possible effects of the settlements among events.
func endedHolds(events []placedEvent) holds {
	h := holds{all: onlyZero()}
	var merchants []string
	for _, e := range events {
		if slices.Contains(merchants, e.Merchant) {
			continue
		}
		merchants = append(merchants, e.Merchant)
		one := endedHoldsOf(events, e.Merchant)
		// The hold that was released without a settlement belongs to one of the merchants so far, or to this one.
		releasedBefore := h.withOneReleased.plus(one.all)
		releasedHere := h.all.plus(one.withOneReleased)
		h.withOneReleased = releasedBefore.union(releasedHere)
		h.all = h.all.plus(one.all)
		h.excess = h.excess || one.excess
	}
	return h
}

// endedHoldsOf returns the possible effects of a merchant's settlements. Each settlement ends an older
// authorization, or one that is not listed, presumably of the same amount. Only which authorizations ended
// matters for the sum, and not which settlement ended which.
func endedHoldsOf(events []placedEvent, merchant string) holds {
	// Each way to choose the authorizations that ended gives a sum. chosen[n] has the sums of those ways in which
	// n of the chosen authorizations still wait for their settlement. After all events, chosen[0] has the
	// sums in which settlements ended all of them, and chosen[1] those in which one ended without a settlement.
	chosen := []sums{onlyZero(), {}}
	for _, e := range events {
		if e.Merchant == merchant && e.endsHold() {
			chosen = append(chosen, sums{})
		}
	}
	least := usd.Max // the smallest authorization so far
	excess := false
	for _, e := range slices.Backward(events) { // oldest first
		if e.Merchant != merchant {
			continue
		}
		if e.Kind == Authorization {
			least = min(least, e.Amount)
			// Choose this authorization, or leave it out.
			for n := len(chosen) - 1; n > 0; n-- {
				chosen[n] = chosen[n].union(chosen[n-1].increased(e.Amount))
			}
		} else if e.endsHold() {
			excess = excess || e.Amount > least
			// This settlement ends one of the chosen authorizations, or one that is not listed.
			for n := 1; n < len(chosen); n++ {
				chosen[n-1] = chosen[n-1].union(chosen[n].increased(-e.Amount))
			}
			chosen = chosen[:len(chosen)-1] // at most one more can wait than settlements are left
		}
	}
	return holds{all: chosen[0], withOneReleased: chosen[1], excess: excess}
}

// endsHold reports whether an event may have ended a hold since the anchor.
func (e placedEvent) endsHold() bool { return e.Kind == Settlement && e.side != BeforeAnchor }
