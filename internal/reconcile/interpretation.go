package reconcile

import (
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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
