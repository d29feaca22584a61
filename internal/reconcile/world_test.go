package reconcile_test

import (
	"fmt"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func (l *life) chance(percent int) bool { return l.rng.IntN(100) < percent }

// span is up to a duration.
func (l *life) span(d time.Duration) time.Duration { return time.Duration(l.rng.Int64N(int64(d))) }

// dollars are at least so many, and a few steps more, on a larger scale where sums are
// to be told apart.
func (l *life) dollars(least, step, steps int) usd.Amount {
	sum := usd.Amount(least+step*l.rng.IntN(steps)) * dollar
	if !l.round {
		sum *= 1000
	}
	return sum
}

// sum is one that people like, or any, of so many that they do not add up to another
// one by chance.
func (l *life) sum(liked int) usd.Amount {
	switch {
	case !l.round:
		return usd.Amount(1 + l.rng.Int64N(60_000_00))
	case l.chance(liked):
		return usd.Amount([]int{5, 10, 10, 15, 20, 20, 25, 30, 40, 50, 50, 60}[l.rng.IntN(12)]) * dollar
	}
	return usd.Amount(100 + l.rng.Int64N(60_00))
}

// lag is how far what is read is behind.
func (l *life) lag() time.Duration {
	if l.lagging && l.chance(30) {
		return l.span(12 * time.Second)
	}
	return 0
}

// world is what others do until the next run.
func (l *life) world() {
	for range l.rng.IntN(5) {
		l.card.later(l.span(2 * 24 * time.Hour))
		l.purchase()
	}
	if l.chance(40) {
		l.card.later(l.span(5 * 24 * time.Hour))
	} else {
		l.card.later(30*time.Second + l.span(time.Hour))
	}
	if !l.strict && l.chance(1) {
		l.card.give(-usd.Amount(1 + l.rng.IntN(99))) // an odd fee
	}
	if !l.ordinary && !l.strict && l.chance(10) {
		delta := l.sum(70)
		if l.chance(50) && delta <= l.card.balance {
			delta = -delta
		}
		l.tell("another hand moves %s", delta)
		l.card.give(delta)
	}
}

// change writes another amount into the configuration.
func (l *life) change() {
	delta := l.sum(70)
	if l.chance(45) {
		delta = -delta
	}
	if l.target+delta > 0 {
		l.target += delta
	}
}

// purchase is one at some merchant. Where nothing may be left unclear, each has a
// merchant of its own: which of several authorizations a settlement of another amount
// ends is told nowhere.
func (l *life) purchase() {
	c, amount := l.card, l.sum(25)
	fee := usd.Amount(0)
	if l.chance(10) {
		fee = 25
	}
	l.purchases++
	merchant := fmt.Sprint("m", l.rng.IntN(3))
	if !l.round {
		merchant = fmt.Sprint("m", l.purchases)
	}
	if amount+fee > c.balance-l.held {
		c.happen(reconcile.Event{Kind: reconcile.Decline, Amount: amount, Merchant: merchant}, 0)
		return
	}
	happen := func(k reconcile.Kind, sum, fee, effect usd.Amount) {
		c.happen(reconcile.Event{Kind: k, Amount: sum, Fee: fee, Merchant: merchant}, effect)
		if !l.ordinary && !l.strict && l.chance(20) {
			c.events[len(c.events)-1].from = c.now.Add(l.span(10 * time.Minute))
		}
		l.tell("kind %d of %s, to %s", k, sum, c.balance)
	}
	hold := amount
	if c.asSettled {
		hold = 0
	}
	happen(reconcile.Authorization, amount, fee, -hold)
	l.held += amount - hold
	ends := func() { l.held -= amount - hold }
	settle := func(sum usd.Amount) {
		ends()
		if sum-hold > c.balance { // the wallet pays the rest, which may hide a movement
			l.loose, l.spoke = true, true
		}
		happen(reconcile.Settlement, sum, 0, max(hold-sum, -c.balance))
	}
	done := l.span(4 * 24 * time.Hour)
	way := l.rng.IntN(100)
	if l.strict {
		way %= 85
	}
	switch {
	case way < l.released:
		c.after(done, func() {
			ends()
			c.give(hold)
			l.tell("a hold of %s is released, to %s", hold, c.balance)
		})
	case way < 75:
		c.after(done, func() { settle(amount) })
	case way < 85: // less
		c.after(done, func() { settle(amount - amount/usd.Amount(2+l.rng.IntN(8))) })
	case way < 90: // a tip
		c.after(done, func() { settle(amount + amount/usd.Amount(4+l.rng.IntN(8))) })
	case way < 92: // two parts, of which only the second ends the hold
		c.after(done, ends)
		for _, part := range []usd.Amount{amount / 3, amount - amount/3} {
			effect := -part
			if hold > 0 {
				effect = 0
			}
			c.after(done, func() { happen(reconcile.Settlement, part, 0, max(effect, -c.balance)) })
			done += l.span(2 * 24 * time.Hour)
		}
	}
	if l.chance(6) {
		c.after(done+l.span(5*24*time.Hour), func() { happen(reconcile.Refund, amount, 0, amount) })
	}
}
