package reconcile

import "github.com/vcard/terraform-provider-vcard/internal/usd"

// Purpose is what money is moved for.
type Purpose byte

// The purposes.
const (
	ForAmount Purpose = iota
	ForTopUp
)

// Movement is an amount to move between the wallet and a card.
type Movement struct {
	Purpose      Purpose
	Delta        usd.Amount // positive for a fund, negative for a withdrawal
	LoadedBefore usd.Amount // what was loaded for the purpose so far, according to the state; 0 if there is no state
	Range        *Range     // the range of top_up that the decision considers; nil if it considers none
	TopUp        usd.Amount // the top-up that is planned after this movement; 0 without one
}

// IsFund reports whether money goes to the card.
func (m Movement) IsFund() bool { return m.Delta > 0 }

// isSameRequest reports whether two movements are the same request. Range and TopUp are not part of a request.
func (m Movement) isSameRequest(other Movement) bool {
	return m.Purpose == other.Purpose && m.Delta == other.Delta && m.LoadedBefore == other.LoadedBefore
}

// MayHaveTopUp reports whether unexplained money on the card may be this fund together with a top-up
// after it.
func (m Movement) MayHaveTopUp(e Explanation) bool {
	if m.Purpose != ForAmount || !m.IsFund() || m.Range == nil {
		return false
	}
	// A low estimate of the balance before the fund: the refunds may have arrived later.
	balanceBefore := e.Balance - e.MaxArrived - e.Refunded
	topUpMayHaveBeenDue := balanceBefore+m.Delta < m.Range.Below
	if !topUpMayHaveBeenDue {
		return false
	}
	if e.Without == LessHolds { // the highest rank: no explanation with the fund can be better
		return false
	}
	return e.MaxArrived > m.Delta // more than the fund alone
}

// possibleTopUp returns the top-up that may have been made after this fund, or 0.
func (m Movement) possibleTopUp(e Explanation) usd.Amount {
	if m.MayHaveTopUp(e) {
		return e.MaxArrived - m.Delta
	}
	return 0
}

// Change is the difference between state and plan for a card's money.
type Change struct {
	// The attributes amount and topped_up in the state (Before) and in the plan (After). The difference is the money
	// to move.
	AmountBefore, AmountAfter     usd.Amount
	ToppedUpBefore, ToppedUpAfter usd.Amount

	RangeBefore, RangeAfter *Range // of top_up; nil if it is not set or not known
	TopUpPaused             bool   // the planned configuration freezes the card, so the next plan does not top it up
}

// Movements returns the movements of a change: first the one of the attribute amount, then the top-up.
func (c Change) Movements() []Movement {
	var all []Movement
	delta := c.AmountAfter - c.AmountBefore
	topUp := c.ToppedUpAfter - c.ToppedUpBefore
	if delta != 0 {
		all = append(all, Movement{
			Purpose:      ForAmount,
			Delta:        delta,
			LoadedBefore: c.AmountBefore,
			Range:        c.rangeFor(delta),
			TopUp:        topUp,
		})
	}
	if topUp != 0 {
		all = append(all, Movement{
			Purpose:      ForTopUp,
			Delta:        topUp,
			LoadedBefore: c.ToppedUpBefore,
			Range:        c.RangeAfter,
		})
	}
	return all
}

// rangeFor returns the range to use when deciding about a movement of the attribute amount, or nil for none.
func (c Change) rangeFor(delta usd.Amount) *Range {
	if delta < 0 {
		if c.TopUpPaused { // a withdrawal may leave the card below the range
			return nil
		}
		return c.RangeAfter
	}
	// An interrupted run may have topped up by the range in the state or by the planned one. The range with the
	// higher Below covers both.
	if c.RangeBefore == nil {
		return c.RangeAfter
	}
	if c.RangeAfter == nil || c.RangeAfter.Below < c.RangeBefore.Below {
		return c.RangeBefore
	}
	return c.RangeAfter
}

// Preview decides about the movements from one reading of the card. It stops after a movement that is neither made
// nor to be sent. It assumes that a movement that is sent takes effect at once.
func (c Change) Preview(r Record, card Snapshot, keysHonoured bool) []Decision {
	card.Waited = true // there is no further reading, so Ask must not return LookAgain
	const keySeenBefore = false
	var all []Decision
	for _, m := range c.Movements() {
		d := Ask(r, m, card, keysHonoured)
		all = append(all, d)
		switch d.Verdict {
		case Made:
			r = d.Record
		case Send, SendKey:
			card.Balance += m.Delta
			answered := d.AfterAnswer(card, keySeenBefore)
			r = answered.Record
		default:
			return all
		}
	}
	return all
}
