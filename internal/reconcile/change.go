package reconcile

import "github.com/vcard/terraform-provider-vcard/internal/usd"

// Purpose is what money is moved for. A plan makes at most one movement for each purpose.
type Purpose byte

// The purposes.
const (
	ForAmount Purpose = iota
	ForTopUp
)

// Movement is an amount to move between the wallet and a card, once.
type Movement struct {
	Purpose Purpose
	Delta   usd.Amount // a fund is above zero, a withdrawal below; never 0
	Before  usd.Amount // what was loaded for the purpose so far, according to the state
	Range   *Range     // of top_up; nil without top-ups
	TopUp   usd.Amount // the top-up that the same plan makes afterwards
}

// IsFund reports whether money goes to the card.
func (m Movement) IsFund() bool { return m.Delta > 0 }

// is reports whether two movements are the same request.
func (m Movement) is(other Movement) bool {
	return m.Purpose == other.Purpose && m.Delta == other.Delta && m.Before == other.Before
}

// MayHaveTopUp reports whether unexplained money on the card may be a fund together with the top-up of
// the same run, which was due. It is not if LessHolds explains the balance without the movement.
func (m Movement) MayHaveTopUp(e Explanation) bool {
	if m.Purpose != ForAmount || !m.IsFund() || m.Range == nil {
		return false
	}
	before := e.Balance - e.Came - e.Refunded
	due := before+m.Delta < m.Range.Below
	return due && e.Came > m.Delta && e.Without < LessHolds
}

// Beside returns the top-up that may have been made besides a fund that was made.
func (m Movement) Beside(e Explanation) usd.Amount {
	if m.MayHaveTopUp(e) {
		return e.Came - m.Delta
	}
	return 0
}

// Found returns the unexplained money that may be the movement or include it. For a fund and the reason
// LeftOver that is the most that any interpretation allows, and otherwise the least.
func (m Movement) Found(e Explanation, reason Reason) usd.Amount {
	if reason == LeftOver && m.IsFund() {
		return e.Came
	}
	return e.Left
}

// Change is the difference between state and plan for a card's money.
type Change struct {
	// What was loaded before the update, and what will be after it. They are equal if nothing moves.
	AmountBefore, AmountAfter     usd.Amount
	ToppedUpBefore, ToppedUpAfter usd.Amount

	RangeBefore, RangeAfter *Range // of top_up; nil without it
	Freezes                 bool   // the card is frozen after the update
}

// Movements returns the movements of a change: first amount, then the top-up.
func (c Change) Movements() []Movement {
	var all []Movement
	delta := c.AmountAfter - c.AmountBefore
	topUp := c.ToppedUpAfter - c.ToppedUpBefore
	if delta != 0 {
		all = append(all, Movement{Purpose: ForAmount, Delta: delta, Before: c.AmountBefore, Range: c.rangeFor(delta), TopUp: topUp})
	}
	if topUp != 0 {
		all = append(all, Movement{Purpose: ForTopUp, Delta: topUp, Before: c.ToppedUpBefore, Range: c.RangeAfter})
	}
	return all
}

// rangeFor returns the range to use when deciding about a movement of amount.
func (c Change) rangeFor(delta usd.Amount) *Range {
	if delta < 0 {
		if c.Freezes { // a frozen card is not topped up
			return nil
		}
		return c.RangeAfter
	}
	// An interrupted run may have topped up according to the range before.
	if c.RangeBefore != nil && (c.RangeAfter == nil || c.RangeAfter.Below < c.RangeBefore.Below) {
		return c.RangeBefore
	}
	return c.RangeAfter
}

// Preview decides about each movement, using one reading of the card, and stops at the first one that
// an apply would not make. It assumes that a movement that is sent takes effect at once.
func (c Change) Preview(r Record, card Snapshot, keysHonoured bool) []Decision {
	card.Waited = true
	var all []Decision
	for _, m := range c.Movements() {
		d := Ask(r, m, card, keysHonoured)
		all = append(all, d)
		switch d.Verdict {
		case Made:
			r = d.Record
		case Send, SendKey:
			card.Balance += m.Delta
			r = d.AfterAnswer(card, false).Record
		default:
			return all
		}
	}
	return all
}
