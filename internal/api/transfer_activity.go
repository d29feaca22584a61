package api

import (
	"fmt"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// activity is what a card's transactions since an anchor did, or may have done,
// to its balance, in USD. The document does not say whether a balance is less
// the holds of open authorizations, whether fees are taken from the card, and
// when holds are released: each answer is one reading of the activity.
type activity struct {
	authorized  usd.Amount // held since the anchor
	settled     usd.Amount
	differences usd.Amount // what settlements gave back of what was held
	refunded    usd.Amount
	fees        usd.Amount
	holds       []usd.Amount // any one of them may have been released
	unclear     string       // why the sums cannot be relied on; empty when they can
}

// newActivities sums up transactions, newest first: several possibilities where
// it cannot be told which authorization a settlement ends. With around, those
// count too of which it cannot be told on which side of the anchor they lie.
func newActivities(transactions []Transaction, anchor *Anchor, around bool) []activity {
	var a activity
	var open, settlements []Transaction // open are authorizations without a settlement
	counts := func(t Transaction) bool {
		age := anchor.age(t)
		return age == sinceAnchor || age == aroundAnchor && around
	}
	for _, t := range slices.Backward(transactions) { // oldest first
		switch t.Type {
		case TransactionAuthorization:
			open = append(open, t)
		case TransactionSettlement:
			settlements = append(settlements, t)
		}
		if counts(t) {
			a.add(t)
		}
	}
	return a.match(settlements, open, counts)
}

// add sums up one transaction.
func (a *activity) add(t Transaction) {
	amount, fee, err := t.inUSD()
	if err != nil {
		a.unclear = err.Error()
		return
	}
	a.fees += fee
	switch t.Type {
	case TransactionAuthorization:
		a.authorized += amount
	case TransactionSettlement:
		a.settled += amount
	case TransactionRefund:
		a.refunded += amount
	case TransactionDecline:
	default:
		a.unclear = fmt.Sprintf("transaction %s (%s) came in between, of which only the service knows what it did to the balance", t.ID, t.Type)
	}
}

// mostPossibilities bounds the ways in which settlements may end authorizations.
const mostPossibilities = 16

// match finds the authorization that each settlement ends: one of the same
// merchant, of the same amount if there is one. Those that stay open are holds.
func (a activity) match(settlements, open []Transaction, counts func(Transaction) bool) []activity {
	if len(settlements) == 0 {
		for _, authorization := range open {
			a.holds = append(a.holds, authorization.held())
		}
		return []activity{a}
	}
	settlement, rest := settlements[0], settlements[1:]
	var candidates []int
	for i, authorization := range open {
		switch {
		case authorization.Merchant != settlement.Merchant:
		case authorization.Amount.Equal(settlement.Amount):
			return a.match(rest, slices.Delete(slices.Clone(open), i, i+1), counts)
		default:
			candidates = append(candidates, i)
		}
	}
	if len(candidates) == 0 { // it was authorized long ago, for the same amount as far as is known
		return a.match(rest, open, counts)
	}
	var all []activity
	for _, i := range candidates {
		possible := a
		if counts(settlement) {
			possible.differences += open[i].held() - settlement.held()
		}
		all = append(all, possible.match(rest, slices.Delete(slices.Clone(open), i, i+1), counts)...)
		if len(all) >= mostPossibilities {
			break
		}
	}
	return all
}

// held is a transaction's amount in USD, 0 where that cannot be told.
func (t Transaction) held() usd.Amount {
	amount, _, _ := t.inUSD()
	return amount
}

// lessHolds returns what the card may hold now if it held before and its balance
// is less its holds, with fees taken from the card or not.
func (a activity) lessHolds(before usd.Amount) []usd.Amount {
	balance := before - a.authorized + a.differences + a.refunded
	return []usd.Amount{balance, balance - a.fees}
}

// asSettled returns the same for a balance that falls at settlement.
func (a activity) asSettled(before usd.Amount) []usd.Amount {
	balance := before - a.settled + a.refunded
	return []usd.Amount{balance, balance - a.fees}
}

// balances returns what the card may hold now, by either.
func (a activity) balances(before usd.Amount) []usd.Amount {
	return append(a.lessHolds(before), a.asSettled(before)...)
}

// released returns what the card may hold when one of its holds was released,
// which changes only a balance that is less the holds.
func (a activity) released(before usd.Amount) []usd.Amount {
	var all []usd.Amount
	for _, balance := range a.lessHolds(before) {
		for _, hold := range a.holds {
			all = append(all, balance+hold)
		}
	}
	return all
}

func abs(a usd.Amount) usd.Amount { return max(a, -a) }
