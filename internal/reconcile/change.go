package reconcile

import "github.com/vcard/terraform-provider-vcard/internal/usd"

// Purpose is what money is moved for. A plan may make one movement for each.
type Purpose byte

// The purposes.
const (
	ForAmount Purpose = iota
	ForTopUp
)

// Movement is money to be moved between the wallet and a card, once.
type Movement struct {
	Purpose Purpose
	Delta   usd.Amount // not 0: funded above zero, withdrawn below
	Before  usd.Amount // what the state says was loaded for the purpose so far
	Range   *Range     // nil without top-ups
	TopUp   usd.Amount // that the same plan makes after it
}

// IsFund reports whether money goes to the card.
func (m Movement) IsFund() bool { return m.Delta > 0 }

// is reports whether two are the same request.
func (m Movement) is(other Movement) bool {
	return m.Purpose == other.Purpose && m.Delta == other.Delta && m.Before == other.Before
}

// MayHaveTopUp reports whether what may have come to the card may be a fund and the
// top-up of the same run, which would have been due. A balance that is less the holds
// and explained is believed.
func (m Movement) MayHaveTopUp(e Explanation) bool {
	before := e.Balance - e.Came - e.Refunded
	return m.Purpose == ForAmount && m.Range != nil && m.IsFund() && m.Delta < e.Came && before+m.Delta < m.Range.Below && e.Without < LessHolds
}

// Beside is what may have come with a fund that was made.
func (m Movement) Beside(e Explanation) usd.Amount {
	if m.MayHaveTopUp(e) {
		return e.Came - m.Delta
	}
	return 0
}

// Found is what may be the movement or hold it: the most that may have come for a fund,
// or what is left over.
func (m Movement) Found(e Explanation, why Reason) usd.Amount {
	if why == LeftOver && m.IsFund() {
		return e.Came
	}
	return e.Left
}

// Change is what an update changes of a card's money, by state and plan.
type Change struct {
	Amount, ToppedUp Step
	Was, Range       *Range // top_up before and after; nil without it
	Freezes          bool   // the card is frozen after it
}

// Step is from what was loaded to what is to be; the same where nothing moves.
type Step struct{ From, To usd.Amount }

// Movements are what a change moves: amount, then the top-up.
func (c Change) Movements() (all []Movement) {
	topUp := c.ToppedUp.To - c.ToppedUp.From
	if delta := c.Amount.To - c.Amount.From; delta != 0 {
		m := Movement{Purpose: ForAmount, Delta: delta, Before: c.Amount.From, Range: c.Range, TopUp: topUp}
		switch {
		case m.IsFund() && c.Was != nil && (m.Range == nil || m.Range.Below < c.Was.Below):
			m.Range = c.Was // a run that was cut off may have topped up by it
		case !m.IsFund() && c.Freezes:
			m.Range = nil
		}
		all = append(all, m)
	}
	if topUp != 0 {
		all = append(all, Movement{Purpose: ForTopUp, Delta: topUp, Before: c.ToppedUp.From, Range: c.Range})
	}
	return all
}

// Make makes the movements, each by the record that the one before has left, up to the
// first that is not made.
func (c Change) Make(r Record, move func(Movement, Record) (Record, error)) (Record, error) {
	for _, m := range c.Movements() {
		var err error
		if r, err = move(m, r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Preview decides about the movements by one reading of the card, up to the first that
// is not made, as if each that is sent were made at once.
func (c Change) Preview(r Record, card Snapshot, keysHonoured bool) (all []Decision) {
	for _, m := range c.Movements() {
		d := Ask(r, m, card, Policy{KeysHonoured: keysHonoured, Waited: true})
		all = append(all, d)
		switch d.Verdict {
		case Made:
			r = d.Record
		case Send, SendKey:
			card.Balance += m.Delta
			r = d.AfterAnswer(card, true, false).Record
		default:
			return all
		}
	}
	return all
}
