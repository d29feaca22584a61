package modeltest_test

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// merchants is a code of each category that the clients buy in.
func merchants() map[string]string {
	return map[string]string{
		"7311": "advertising", "5734": "software", "3001": "travel", "5311": "retail", "5812": "food", "0742": "other",
	}
}

// spent is what a card's authorizations of a month come to.
func (c *card) spent(month string) (total cents) {
	for _, t := range c.authorizations {
		switch {
		case !strings.HasPrefix(t.created, month):
		case t.settlement != nil:
			total += t.settlement.amount
		default:
			total += t.amount
		}
	}
	return total
}

func (c *card) declineReason(m *model, amount, fee cents, mcc string) any {
	switch {
	case c.status == "terminated":
		return "card_terminated"
	case c.status == "frozen":
		return "card_frozen"
	case amount+fee > c.balance:
		return "insufficient_funds"
	case len(c.categories) > 0 && !slices.Contains(c.categories, any(merchants()[mcc])):
		return "category_not_allowed"
	case c.spent(stamp(m.now)[:7])+amount > c.limit:
		return "spending_limit_exceeded"
	}
	return nil
}

func (a *account) authorize(m *model, c *card, amount, fee cents, mcc string) outcome {
	reason := c.declineReason(m, amount, fee, mcc)
	t := &transaction{
		card: c, kind: "authorization", amount: amount, fee: fee, created: stamp(m.now),
		merchant: object{"name": "Big Ads", "mcc": mcc},
	}
	if reason != nil {
		t.kind, t.fee = "decline", 0
	}
	return outcome{
		status: http.StatusCreated,
		body:   object{"transaction": t.unnamed(), "decline_reason": reason},
		commit: func(got object) {
			a.record(t, got)
			if reason != nil {
				a.emit(m, c.owner, "transaction.declined", t.view())
				return
			}
			c.authorizations = append(c.authorizations, t)
			c.balance -= amount
			a.holds += amount
			a.charge(c, fee)
			a.emit(m, c.owner, "transaction.authorized", t.view())
			a.autoFreeze(m, c)
		},
	}
}

// unnamed is a transaction that the service still has to give an id.
func (t *transaction) unnamed() object {
	o := t.view()
	o["id"] = like("txn_")
	return o
}

func (a *account) record(t *transaction, got object) {
	shown, _ := got["transaction"].(object)
	t.id, _ = shown["id"].(string)
	a.transactions = append(a.transactions, t)
}

// charge takes a fee from whoever has the money.
func (a *account) charge(c *card, fee cents) {
	a.fees += fee
	a.collect(c, fee)
}

func (a *account) collect(c *card, amount cents) {
	for _, balance := range []*cents{&c.balance, &a.wallet} {
		part := min(amount, *balance)
		*balance -= part
		amount -= part
	}
	if amount > 0 {
		a.loss -= amount
		a.seen.add("loss")
	}
}

// give returns money to a card, or to the wallet in its place.
func (a *account) give(c *card, amount cents) {
	if c.status == "terminated" {
		a.wallet += amount
		a.seen.add("given to the wallet")
		return
	}
	c.balance += amount
}

// settle pays an authorization; amount is 0 for the held one.
func (a *account) settle(m *model, of *transaction, amount, fee cents) outcome {
	if of.kind != "authorization" || of.settlement != nil {
		return refused("invalid_request")
	}
	if amount == 0 {
		amount = of.amount
	}
	t := &transaction{card: of.card, kind: "settlement", amount: amount, fee: fee, merchant: of.merchant, created: stamp(m.now)}
	return a.followUp(m, t, "transaction.settled", func() {
		of.settlement = t
		of.card.settlements = append(of.card.settlements, t)
		a.holds -= of.amount
		a.merchants += amount
		if amount <= of.amount {
			a.give(of.card, of.amount-amount)
		} else {
			a.collect(of.card, amount-of.amount)
		}
	})
}

// refund gives back a settlement; amount is 0 for all that is left.
func (a *account) refund(m *model, of *transaction, amount, fee cents) outcome {
	if of.kind != "settlement" {
		return refused("invalid_request")
	}
	left := of.amount - of.refunded
	if amount == 0 {
		amount = left
	}
	if amount == 0 || amount > left {
		return refused("invalid_request")
	}
	t := &transaction{card: of.card, kind: "refund", amount: amount, fee: fee, merchant: of.merchant, created: stamp(m.now)}
	return a.followUp(m, t, "transaction.refunded", func() {
		of.refunded += amount
		a.merchants -= amount
		a.give(of.card, amount)
	})
}

// followUp is the way of a settlement or refund; pay moves its money.
func (a *account) followUp(m *model, t *transaction, told string, pay func()) outcome {
	return outcome{
		status: http.StatusCreated,
		body:   object{"transaction": t.unnamed()},
		commit: func(got object) {
			a.record(t, got)
			before := t.card.balance
			pay()
			a.charge(t.card, t.fee)
			a.emit(m, t.card.owner, told, t.view())
			if t.card.balance < before {
				a.autoFreeze(m, t.card)
			}
		},
	}
}

func (a *account) challenge(m *model, c *card, amount cents) outcome {
	if c.status == "terminated" {
		return refused("card_terminated")
	}
	ch := &challenge{card: c, amount: amount, status: "pending", expires: m.now.Add(5 * time.Minute)}
	body := ch.view(m.now)
	body["id"], body["otp"] = like("3ds_"), anything{}
	return outcome{status: http.StatusCreated, body: body, commit: func(got object) {
		ch.id, _ = got["id"].(string)
		ch.otp, _ = got["otp"].(string)
		a.challenges = append(a.challenges, ch)
		c.challenges = append(c.challenges, ch)
		a.emit(m, c.owner, "3ds.challenge", ch.view(m.now))
	}}
}

func (a *account) complete(m *model, ch *challenge, result string) outcome {
	if ch.statusAt(m.now) != "pending" {
		return refused("invalid_request")
	}
	body := ch.view(m.now)
	body["status"] = result
	return outcome{status: http.StatusOK, body: body, commit: func(object) { ch.status = result }}
}

func (a *account) detect(m *model, owner int, currency string, amount cents) outcome {
	d := &deposit{owner: owner, currency: currency, amount: amount, status: "pending", created: stamp(m.now)}
	for _, address := range a.addresses {
		if o, _ := address.(object); o["currency"] == currency {
			d.network, d.addressed = o["network"], o["address"]
		}
	}
	body := d.view()
	body["id"] = like("dep_")
	return outcome{status: http.StatusCreated, body: body, commit: func(got object) {
		d.id, _ = got["id"].(string)
		a.deposits = append(a.deposits, d)
		a.emit(m, owner, "deposit.pending", d.view())
	}}
}

func (a *account) confirm(m *model, d *deposit) outcome {
	if d.status == "confirmed" {
		return refused("invalid_request")
	}
	body := d.view()
	body["status"] = "confirmed"
	return outcome{status: http.StatusOK, body: body, commit: func(object) {
		d.status = "confirmed"
		a.deposited -= d.amount
		a.wallet += d.amount
		a.emit(m, d.owner, "deposit.confirmed", d.view())
	}}
}
