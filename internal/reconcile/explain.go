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
	HoldReleased      // the balance is less the holds, and one hold was released besides
	AsSettled         // the balance falls at settlement
	LessHolds         // the balance is less the holds, as with most services
)

// Explanation is what a snapshot says about a movement since an anchor.
type Explanation struct {
	Balance usd.Amount
	Month   Month // of the snapshot
	With    Rank  // if the movement was made
	Without Rank  // if it was not
	// Left is what the events do not explain without the movement: the least by any interpretation,
	// above zero if it came to the card and below if it is gone. For a fund it is Came if money came
	// by every interpretation.
	Left usd.Amount
	// Came is the most that may have come by any interpretation without the movement; never below zero.
	Came     usd.Amount
	Refunded usd.Amount // the most that may have been refunded since the anchor
	// Hidden says what could not be read and may have gone in the movement's
	// direction; Ignored, in the other.
	Hidden, Ignored string
	// Stale says that the snapshot shows the card before its last movement, which
	// was just made, or before what other calls of this process have moved.
	Stale bool
	// Undone says that only the card as it was before its last fund, at any age,
	// explains the snapshot.
	Undone bool
	// Recent says that the service still keeps keys that were used since the anchor.
	Recent bool
	// Echoed says that the movement's response shows the balance of the snapshot.
	Echoed            bool
	Delta             usd.Amount // of the movement
	MovedByOtherCalls usd.Amount // see Snapshot
}

// DamagedRecord is the text of Hidden if there is no anchor.
const DamagedRecord = "its money_record is lost or damaged"

// shows reports whether the card shows a movement that the service says was made.
func (e Explanation) shows() bool {
	return e.With != Unexplained && e.With >= min(e.Without, AsSettled)
}

// made reports whether a movement was made for sure.
func (e Explanation) made() bool {
	return e.With >= AsSettled && e.Without == Unexplained && e.Hidden == ""
}

// explainsEither reports whether the balance may be explained with a movement and without it.
func (e Explanation) explainsEither(m Movement) bool {
	if e.Without == Unexplained {
		return e.With == HoldReleased
	}
	return e.With >= e.Without || m.IsFund() && e.With >= AsSettled
}

// leavesHalf reports whether what is left over may be half of a movement or more.
func (e Explanation) leavesHalf(m Movement) bool {
	if m.IsFund() {
		return 2*e.Came >= m.Delta
	}
	return 2*e.Left <= m.Delta
}

// Gain returns what may have come to the card and is explained by no transaction: the movement,
// or the most that is left over, which a released hold explains no better than a top-up.
func (e Explanation) Gain() usd.Amount {
	if e.With != Unexplained {
		return max(0, e.Delta, e.Came)
	}
	if e.Without <= HoldReleased {
		return e.Came
	}
	return 0
}

const (
	// StaleFor is how long a service may show a card as it was before a movement.
	StaleFor = 30 * time.Second
	// keysTrusted is less than the day for which a service keeps keys, since a movement
	// may wait for the rate limits before it is sent.
	keysTrusted = 22 * time.Hour
)

// Explain compares a snapshot with an anchor, nil for none, and a movement of delta, which is
// above zero for a fund and below for a withdrawal.
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

	// A stop has said that the events cannot be read: while it stays so, the balance decides.
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
	e.Left, e.Came = c.left(delta)
	e.Stale = age < StaleFor && c.rank(-a.Last) > e.Without || c.rank(-s.MovedByOtherCalls) > e.Without
	undone := a.Last > 0 && !a.New && c.rank(-a.Last) >= AsSettled

	if e.Without <= HoldReleased { // any settlement may have ended any authorization
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

// refunded returns the most that events may have refunded since the anchor.
func refunded(events []placedEvent) usd.Amount {
	var sum usd.Amount
	for _, event := range events {
		if event.side != Before && event.Kind == Refund {
			sum += event.Amount
		}
	}
	return sum
}

// unreadable returns what may have moved money in a direction since an anchor and cannot be read.
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

// comparison compares a balance with what it may be.
type comparison struct {
	shown, anchor usd.Amount
	changes       interpretation // since the anchor
}

// rank returns how well the balance is explained if a movement of delta was made.
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

// left returns the least that no interpretation explains, and the most that came by any.
// If money came by each of them, a fund is looked for in the most.
func (c comparison) left(delta usd.Amount) (left, came usd.Amount) {
	rests := append(c.rests(c.changes.lessHolds, 0), c.rests(c.changes.asSettled, 0)...)
	came = max(0, slices.Max(rests))
	if delta > 0 && slices.Min(rests) > 0 {
		return came, came
	}
	left = slices.MinFunc(rests, func(a, b usd.Amount) int { return cmp.Compare(a.Abs(), b.Abs()) })
	return left, came
}

// rests returns by how much the balance differs from the nearest, the least and the most
// that it may be after some changes and a movement of delta.
func (c comparison) rests(changes sums, delta usd.Amount) []usd.Amount {
	if len(changes.values) == 0 {
		return nil
	}
	rest := c.shown - c.anchor - delta
	rests := []usd.Amount{rest - changes.nearest(rest), rest - changes.least(), rest - changes.most()}
	if c.changes.excess { // the wallet pays what the card cannot, before the movement or after it
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

// unpaired finds the pairs of a settlement and the authorization of the same merchant and
// amount that it ended. That is the newest one, unless another settlement since, one without
// such an authorization, may have ended it. It returns the other events, newest first, and the pairs.
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

// interpret returns what events, newest first, may have done. The settlement of a pair
// ended its authorization; any other may have ended any.
func interpret(events, pairs []placedEvent) interpretation {
	held, settled, fees := unchanged(), unchanged(), unchanged()
	var fractions usd.Amount
	for _, e := range slices.Concat(events, pairs) {
		if e.side == Before {
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
	fees = fees.or(unchanged(), 0) // which may not be taken from the card
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

// change adds a change by an event to sums. If the event may be in the anchor's balance already,
// they are with and without it.
func (e placedEvent) change(s sums, by usd.Amount) sums {
	if e.side == Around {
		return s.or(s, by)
	}
	return sums{}.or(s, by)
}

// holds is what settlements may have given back of what was held.
type holds struct {
	all             sums
	withOneReleased sums // the same, where one hold was released besides
	excess          bool // a settlement may have taken more than was held
}

// endedHolds returns what the settlements of all merchants may have given back.
func endedHolds(events []placedEvent) holds {
	h := holds{all: unchanged()}
	var merchants []string
	for _, e := range events {
		if slices.Contains(merchants, e.Merchant) {
			continue
		}
		merchants = append(merchants, e.Merchant)
		one := endedHoldsOf(events, e.Merchant)
		// The released hold is of one of the merchants so far, or of this one.
		h.withOneReleased = h.withOneReleased.plus(one.all).or(h.all.plus(one.withOneReleased), 0)
		h.all = h.all.plus(one.all)
		h.excess = h.excess || one.excess
	}
	return h
}

// endedHoldsOf returns what a merchant's settlements may have given back. Each settlement ends an
// older authorization, or one that is not listed, of the same amount as far as is known; which
// ends which makes no difference to the sum.
func endedHoldsOf(events []placedEvent, merchant string) holds {
	// chosen are the sums by how many of the holds in them no settlement has ended yet.
	chosen := []sums{unchanged(), {}}
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
				chosen[n] = chosen[n].or(chosen[n-1], e.Amount)
			}
		} else if e.endsHold() {
			excess = excess || e.Amount > least
			for n := 1; n < len(chosen); n++ {
				chosen[n-1] = chosen[n-1].or(chosen[n], -e.Amount)
			}
			chosen = chosen[:len(chosen)-1]
		}
	}
	return holds{all: chosen[0], withOneReleased: chosen[1], excess: excess}
}

// endsHold reports whether an event may have ended a hold since the anchor.
func (e placedEvent) endsHold() bool { return e.Kind == Settlement && e.side != Before }
