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

// newActivity sums up transactions, newest first. With around, those count too
// of which it cannot be told on which side of the anchor they lie.
func newActivity(transactions []Transaction, anchor *Anchor, around bool) activity {
	var a activity
	var settlements []Transaction
	open := []Transaction{} // authorizations without a settlement, newest first
	for _, t := range transactions {
		age := anchor.age(t)
		isNew := age == sinceAnchor || age == aroundAnchor && around
		amount := abs(t.Amount)
		switch {
		case t.Type == TransactionAuthorization:
			open = append(open, t)
		case !isNew:
			continue
		}
		if !isNew {
			continue
		}
		if t.Currency != "" && t.Currency != "USD" {
			a.unclear = fmt.Sprintf("transaction %s is in %s", t.ID, t.Currency)
			continue
		}
		a.fees += abs(t.Fee)
		switch t.Type {
		case TransactionAuthorization:
			a.authorized += amount
		case TransactionSettlement:
			a.settled += amount
			settlements = append(settlements, t)
		case TransactionRefund:
			a.refunded += amount
		case TransactionDecline:
		default:
			a.unclear = fmt.Sprintf("transaction %s (%s) came in between, of which only the service knows what it did to the balance", t.ID, t.Type)
		}
	}
	for _, settlement := range slices.Backward(settlements) { // oldest first
		open = a.match(settlement, open)
	}
	for _, authorization := range open {
		a.holds = append(a.holds, abs(authorization.Amount))
	}
	return a
}

// match finds the authorization that a settlement ends, of the same amount if
// there is one, and returns those that stay open.
func (a *activity) match(settlement Transaction, open []Transaction) []Transaction {
	sameMerchant := func(t Transaction) bool { return t.Merchant == settlement.Merchant }
	i := slices.IndexFunc(open, func(t Transaction) bool { return sameMerchant(t) && abs(t.Amount) == abs(settlement.Amount) })
	if i < 0 {
		i = slices.IndexFunc(open, sameMerchant)
	}
	if i < 0 {
		return open // it was authorized long ago, for the same amount as far as is known
	}
	a.differences += abs(open[i].Amount) - abs(settlement.Amount)
	return slices.Delete(open, i, i+1)
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

// released returns what the card may hold when one of its holds was released.
func (a activity) released(before usd.Amount) []usd.Amount {
	var all []usd.Amount
	for _, balance := range a.balances(before) {
		for _, hold := range a.holds {
			all = append(all, balance+hold)
		}
	}
	return all
}

func abs(a usd.Amount) usd.Amount { return max(a, -a) }
