package modeltest_test

import (
	"net/http"
	"slices"
	"time"
)

// entry is what the model knows of a BIN.
type entry struct {
	network string
	maximum cents
}

func catalogue() map[string]entry {
	return map[string]entry{
		"bin_ads_visa_us":            {"visa", 50_000_00},
		"bin_ads_mastercard_eu":      {"mastercard", 25_000_00},
		"bin_software_mastercard_us": {"mastercard", 15_000_00},
		"bin_general_visa_eu":        {"visa", 5_000_00},
	}
}

// merchants is a code of each category that the clients buy in.
func merchants() map[string]string {
	return map[string]string{
		"7311": "advertising", "5734": "software", "3001": "travel", "5311": "retail", "5812": "food", "0742": "other",
	}
}

// Each rule changes the model as the service should change, and returns what the
// service should respond.

func (a *account) issue(c *card) response {
	if a.wallet < c.balance+100 {
		return refused(http.StatusBadRequest, "insufficient_funds")
	}
	if c.limit == 0 {
		c.limit = catalogue()[c.bin].maximum
	}
	year, month, _ := a.now.Date()
	c.id, c.last4, c.pan, c.cvv = &chosen{prefix: "card_"}, &chosen{}, &chosen{prefix: "0"}, &chosen{}
	c.status, c.created, c.spentOn = "active", stamp(a.now), map[string]cents{}
	c.expires = time.Date(year+3, month+1, 0, 0, 0, 0, 0, time.UTC)
	a.wallet -= c.balance + 100
	a.fees += 100
	a.cards = append(a.cards, c)
	a.emit("card.created", c.full())
	return created(c.full())
}

// terminated is how calls that a terminated card does not take should end.
func (a *account) terminated() response {
	if status := a.quirks["terminated_status"].(int); status != http.StatusNotFound {
		return refused(status, "card_terminated")
	}
	return unknown()
}

// unusable tells how calls for money and details should end when the card's state forbids them.
func (a *account) unusable(c *card) (response, bool) {
	switch {
	case c.status == "terminated":
		return a.terminated(), true
	case c.status == "frozen" && a.quirks["frozen_money"] == "refused":
		return refused(http.StatusBadRequest, "card_frozen"), true
	}
	return response{}, false
}

func (a *account) switchTo(c *card, status string) response {
	switch {
	case c.status == "terminated":
		return a.terminated()
	case c.status == status && a.quirks["repeated_state"] == "conflict":
		return refused(http.StatusConflict, "card_"+status)
	case c.status != status:
		a.become(c, status)
	}
	return found(c.state())
}

func (a *account) become(c *card, status string) {
	c.status = status
	a.emit(map[string]string{"active": "card.unfrozen", "frozen": "card.frozen", "terminated": "card.terminated"}[status], c.full())
}

func (a *account) terminate(c *card) response {
	if c.status == "terminated" {
		return a.terminated()
	}
	returned := c.balance
	a.wallet += returned
	c.balance = 0
	a.become(c, "terminated")
	return found(object{"id": c.id, "status": "terminated", "returned_to_wallet": returned})
}

func (a *account) fund(c *card, amount cents) response {
	if r, unusable := a.unusable(c); unusable {
		return r
	}
	if amount > a.wallet {
		return refused(http.StatusBadRequest, "insufficient_funds")
	}
	a.wallet -= amount
	c.balance += amount
	a.emit("card.funded", c.full())
	return found(object{"card_id": c.id, "card_balance": c.balance, "wallet_balance": a.wallet})
}

// withdraw takes everything when the amount is 0.
func (a *account) withdraw(c *card, amount cents) response {
	if r, unusable := a.unusable(c); unusable {
		return r
	}
	if amount == 0 || a.quirks["withdraw_amount"] == "ignored" {
		amount = c.balance
	}
	if amount == 0 || amount > c.balance {
		return refused(http.StatusBadRequest, "insufficient_card_balance")
	}
	a.wallet += amount
	c.balance -= amount
	a.autoFreeze(c)
	return found(object{"card_id": c.id, "card_balance": c.balance, "wallet_balance": a.wallet})
}

// autoFreeze follows every decrease of a balance.
func (a *account) autoFreeze(c *card) {
	if threshold, set := c.freezeAt.(cents); set && c.status == "active" && c.balance < threshold {
		a.become(c, "frozen")
		a.see("auto-freeze")
	}
}

func (a *account) declineReason(c *card, amount, fee cents, mcc string) any {
	switch {
	case c.status != "active":
		return "card_" + c.status
	case amount+fee > c.balance:
		return "insufficient_funds"
	case len(c.categories) > 0 && !slices.Contains(c.categories, any(merchants()[mcc])):
		return "category_not_allowed"
	case c.spentOn[a.month()]+amount > c.limit:
		return "spending_limit_exceeded"
	}
	return nil
}

func (a *account) month() string { return stamp(a.now)[:len("2006-01")] }

// record adds a transaction.
func (a *account) record(t *transaction, kind string, amount, fee cents) *transaction {
	t.id, t.kind, t.amount, t.fee, t.created = &chosen{prefix: "txn_"}, kind, amount, fee, stamp(a.now)
	a.transactions = append(a.transactions, t)
	return t
}

func (a *account) authorize(c *card, amount, fee cents, mcc string) response {
	reason := a.declineReason(c, amount, fee, mcc)
	t := &transaction{card: c, merchant: object{"name": "Big Ads", "mcc": mcc}}
	if reason != nil {
		a.record(t, "decline", amount, 0)
		a.emit("transaction.declined", t.view())
	} else {
		a.record(t, "authorization", amount, fee)
		c.spentOn[a.month()] += amount
		c.balance -= amount
		a.holds += amount
		a.fees += fee
		a.collect(c, fee)
		a.emit("transaction.authorized", t.view())
		a.autoFreeze(c)
	}
	return created(object{"transaction": t.view(), "decline_reason": reason})
}

// collect takes an amount from whoever has the money.
func (a *account) collect(c *card, amount cents) {
	for _, balance := range []*cents{&c.balance, &a.wallet} {
		part := min(amount, *balance)
		*balance -= part
		amount -= part
	}
	if amount > 0 {
		a.loss -= amount
		a.see("loss")
	}
}

// give returns money to a card, or to the wallet in its place.
func (a *account) give(c *card, amount cents) {
	if c.status == "terminated" {
		a.wallet += amount
		a.see("given to the wallet")
		return
	}
	c.balance += amount
}

// settle pays an authorization; amount is 0 for the held one.
func (a *account) settle(of *transaction, amount, fee cents) response {
	if of.kind != "authorization" || of.settled {
		return invalid()
	}
	if amount == 0 {
		amount = of.amount
	}
	c := of.card
	before := c.balance
	of.settled = true
	c.spentOn[of.created[:len("2006-01")]] += amount - of.amount
	a.holds -= of.amount
	a.merchants += amount
	if amount <= of.amount {
		a.give(c, of.amount-amount)
	} else {
		a.collect(c, amount-of.amount)
	}
	return a.followUp(of, "settlement", "transaction.settled", amount, fee, before)
}

// refund gives back a settlement; amount is 0 for all that is left.
func (a *account) refund(of *transaction, amount, fee cents) response {
	left := of.amount - of.refunded
	if amount == 0 {
		amount = left
	}
	if of.kind != "settlement" || amount == 0 || amount > left {
		return invalid()
	}
	before := of.card.balance
	of.refunded += amount
	a.merchants -= amount
	a.give(of.card, amount)
	return a.followUp(of, "refund", "transaction.refunded", amount, fee, before)
}

// followUp records a settlement or refund and takes its fee.
func (a *account) followUp(of *transaction, kind, told string, amount, fee, before cents) response {
	t := a.record(&transaction{card: of.card, merchant: of.merchant}, kind, amount, fee)
	a.fees += fee
	a.collect(t.card, fee)
	a.emit(told, t.view())
	if t.card.balance < before {
		a.autoFreeze(t.card)
	}
	return created(object{"transaction": t.view()})
}

func (a *account) challenge(c *card, amount cents) response {
	if c.status == "terminated" {
		return refused(http.StatusBadRequest, "card_terminated")
	}
	ch := &challenge{c, &chosen{prefix: "3ds_"}, &chosen{}, amount, "pending", a.now.Add(5 * time.Minute)}
	a.challenges = append(a.challenges, ch)
	a.emit("3ds.challenge", a.showChallenge(ch))
	return created(a.showChallenge(ch))
}

func (a *account) complete(ch *challenge, result string) response {
	if ch.statusAt(a.now) != "pending" {
		return invalid()
	}
	ch.status = result
	return found(a.showChallenge(ch))
}

func (a *account) detect(currency string, amount cents) response {
	d := &deposit{id: &chosen{prefix: "dep_"}, currency: currency, amount: amount, status: "pending", created: stamp(a.now)}
	for _, address := range a.addresses {
		if o, _ := address.(object); o["currency"] == currency {
			d.network, d.address = o["network"], o["address"]
		}
	}
	a.deposits = append(a.deposits, d)
	a.emit("deposit.pending", d.view())
	return created(d.view())
}

func (a *account) confirm(d *deposit) response {
	if d.status == "confirmed" {
		return invalid()
	}
	d.status = "confirmed"
	a.deposited -= d.amount
	a.wallet += d.amount
	a.emit("deposit.confirmed", d.view())
	return found(d.view())
}
