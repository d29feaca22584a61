package reconcile_test

import (
	"fmt"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// passTime is what others do until the next run.
func (l *life) passTime() {
	purchases, apart := l.rng.IntN(5), 2*24*time.Hour
	if l.busy {
		purchases, apart = 30*purchases, 5*time.Hour
	}
	for range purchases {
		l.card.later(l.span(apart))
		l.purchase()
	}
	if l.chance(40) {
		l.card.later(l.span(5 * 24 * time.Hour))
	} else {
		l.card.later(30*time.Second + l.span(time.Hour))
	}
	if l.world != exact && l.chance(1) {
		l.card.give(-usd.Amount(1 + l.rng.IntN(99))) // an odd fee
		l.note(someoneMoved)
	}
	if (l.world == round || l.world == wild) && l.chance(10) {
		delta := l.sum(70)
		if l.chance(50) && delta <= l.card.balance {
			delta = -delta
		}
		l.tell("someone else moves %s", delta)
		l.note(someoneMoved)
		l.card.give(delta)
	}
}

// purchase is one at some merchant. Where nothing may be left unclear, each has a merchant of
// its own: which of several authorizations a settlement of another amount ends is told nowhere.
func (l *life) purchase() {
	amount := l.sum(25)
	asMuch := l.config.amount - l.state.amount
	if asMuch > 0 && l.world == exact && l.chance(40) {
		amount = asMuch
	}
	p := &purchase{life: l, amount: amount}
	fee := usd.Amount(0)
	if l.chance(10) {
		fee = 25
	}
	l.purchases++
	p.merchant = fmt.Sprint("m", l.rng.IntN(3))
	if !l.world.hasRoundSums() {
		p.merchant = fmt.Sprint("m", l.purchases)
	}
	if amount+fee > l.card.balance-l.card.unsettled {
		l.card.happen(reconcile.Event{Kind: reconcile.Decline, Amount: amount, Merchant: p.merchant}, 0)
		return
	}
	if !l.card.asSettled {
		p.hold = amount
	}
	p.happen(reconcile.Authorization, amount, fee, -p.hold)
	l.card.unsettled += amount - p.hold

	done := l.span(4 * 24 * time.Hour)
	ending := l.rng.IntN(100)
	if l.world == exact {
		ending %= 85
	}
	switch {
	case ending < l.kind.released:
		l.card.after(done, p.release)
	case ending < 75:
		l.card.after(done, func() { p.settle(amount) })
	case ending < 85: // less
		l.card.after(done, func() { p.settle(amount - amount/usd.Amount(2+l.rng.IntN(8))) })
	case ending < 90: // a tip
		l.card.after(done, func() { p.settle(amount + amount/usd.Amount(4+l.rng.IntN(8))) })
	case ending < 92: // two parts, of which only the second ends the hold
		l.card.after(done, p.end)
		for _, part := range []usd.Amount{amount / 3, amount - amount/3} {
			effect := -part
			if p.hold > 0 {
				effect = 0
			}
			l.card.after(done, func() { p.happen(reconcile.Settlement, part, 0, max(effect, -l.card.balance)) })
			done += l.span(2 * 24 * time.Hour)
		}
	}
	if l.chance(6) {
		l.card.after(done+l.span(5*24*time.Hour), func() { p.happen(reconcile.Refund, amount, 0, amount) })
	}
}

// purchase is an authorization and what becomes of it.
type purchase struct {
	life     *life
	merchant string
	amount   usd.Amount
	hold     usd.Amount // what the balance is less until it is settled
}

// happen adds a transaction, which some worlds list late.
func (p *purchase) happen(k reconcile.Kind, sum, fee, effect usd.Amount) {
	l := p.life
	l.card.happen(reconcile.Event{Kind: k, Amount: sum, Fee: fee, Merchant: p.merchant}, effect)
	if (l.world == round || l.world == wild) && l.chance(20) {
		from := l.card.now.Add(l.span(10 * time.Minute))
		l.card.events[len(l.card.events)-1].from = from
		l.ledger.facts[listedLate] = from
	}
	l.tell("kind %d of %s, to %s", k, sum, l.card.balance)
}

// end ends the authorization.
func (p *purchase) end() { p.life.card.unsettled -= p.amount - p.hold }

// settle ends the authorization with a settlement. What the card cannot pay comes from the wallet.
func (p *purchase) settle(sum usd.Amount) {
	p.end()
	if sum-p.hold > p.life.card.balance {
		p.life.note(walletPaid)
		p.life.ledger.overdrafts++
		p.life.ledger.reported = true // by the service
	}
	p.happen(reconcile.Settlement, sum, 0, max(p.hold-sum, -p.life.card.balance))
}

// release ends the authorization without a transaction.
func (p *purchase) release() {
	p.end()
	p.life.card.give(p.hold)
	p.life.tell("a hold of %s is released, to %s", p.hold, p.life.card.balance)
}
