package modeltest_test

import (
	"net/http"
	"time"
)

// order is a card to be issued.
type order struct {
	bin        string
	load       cents
	label      string
	limit      cents // 0: the BIN's maximum
	categories list
	freezeAt   any
	metadata   object
	flaw       string // the code of the refusal that it deserves
}

// catalogue is each BIN's network and maximum.
func catalogue() map[string]struct {
	network string
	maximum cents
} {
	type entry = struct {
		network string
		maximum cents
	}
	return map[string]entry{
		"bin_ads_visa_us":            {"visa", 50_000_00},
		"bin_ads_mastercard_eu":      {"mastercard", 25_000_00},
		"bin_software_mastercard_us": {"mastercard", 15_000_00},
		"bin_general_visa_eu":        {"visa", 5_000_00},
	}
}

func networkOf(bin string) string { return catalogue()[bin].network }

func (a *account) issue(m *model, owner int, o order) outcome {
	switch {
	case o.flaw != "":
		return refused(o.flaw)
	case !a.shared && a.wallet < o.load+100:
		return refused("insufficient_funds")
	}
	if o.limit == 0 {
		o.limit = catalogue()[o.bin].maximum
	}
	year, month, _ := m.now.Date()
	c := &card{
		owner: owner, bin: o.bin, label: o.label, status: "active", balance: o.load, limit: o.limit,
		categories: o.categories, freezeAt: o.freezeAt, metadata: o.metadata, created: stamp(m.now),
		expires: time.Date(year+3, month+1, 0, 0, 0, 0, 0, time.UTC).Format(time.DateOnly),
	}
	body := c.full()
	body["id"], body["last4"] = like("card_"), anything{}
	return outcome{status: http.StatusCreated, body: body, commit: func(got object) {
		c.id, _ = got["id"].(string)
		c.last4, _ = got["last4"].(string)
		a.wallet -= o.load + 100
		a.fees += 100
		a.cards = append(a.cards, c)
		a.emit(m, owner, "card.created", c.full())
	}}
}

// terminated is how calls that a terminated card does not take should end.
func (m *model) terminated() outcome {
	o := outcome{status: m.quirks.TerminatedStatus, code: "card_terminated"}
	if o.status == http.StatusNotFound {
		o.code = "not_found"
	}
	return o
}

// unusable tells how calls for money and details should end when the card's
// state forbids them.
func (c *card) unusable(m *model) (outcome, bool) {
	switch {
	case c.status == "terminated":
		return m.terminated(), true
	case c.status == "frozen" && m.quirks.FrozenMoney == "refused":
		return refused("card_frozen"), true
	}
	return outcome{}, false
}

func (a *account) switchTo(m *model, c *card, status string) outcome {
	switch {
	case c.status == "terminated":
		return m.terminated()
	case c.status == status && m.quirks.RepeatedState == "conflict":
		return outcome{status: http.StatusConflict, code: "card_" + status}
	case c.status == status:
		return found(c.state())
	}
	return outcome{
		status: http.StatusOK,
		body:   object{"id": c.id, "status": status, "balance": c.held()},
		commit: func(object) { a.become(m, c, status) },
	}
}

func (a *account) become(m *model, c *card, status string) {
	c.status = status
	a.emit(m, c.owner, map[string]string{
		"active": "card.unfrozen", "frozen": "card.frozen", "terminated": "card.terminated",
	}[status], c.full())
}

func (a *account) terminate(m *model, c *card) outcome {
	if c.status == "terminated" {
		return m.terminated()
	}
	return outcome{
		status: http.StatusOK,
		body:   object{"id": c.id, "status": "terminated", "returned_to_wallet": c.balance},
		commit: func(object) {
			a.wallet += c.balance
			c.balance = 0
			a.become(m, c, "terminated")
		},
	}
}

// move takes an amount from the wallet to a card; a negative one, back.
func (a *account) move(m *model, c *card, amount cents) outcome {
	if o, unusable := c.unusable(m); unusable {
		return o
	}
	body := object{"card_id": c.id, "card_balance": c.held(), "wallet_balance": any(a.wallet - amount)}
	if c.owner != nobody {
		body["card_balance"] = c.balance + amount
	}
	if a.shared {
		body["wallet_balance"] = anything{}
	}
	return outcome{status: http.StatusOK, body: body, commit: func(object) {
		a.wallet -= amount
		c.balance += amount
		if amount > 0 {
			a.emit(m, c.owner, "card.funded", c.full())
			return
		}
		a.autoFreeze(m, c)
	}}
}

func (a *account) fund(m *model, c *card, amount cents) outcome {
	if o, unusable := c.unusable(m); unusable {
		return o
	}
	if amount > a.wallet {
		return refused("insufficient_funds")
	}
	return a.move(m, c, amount)
}

// withdraw takes everything when all is set.
func (a *account) withdraw(m *model, c *card, amount cents, all bool) outcome {
	if o, unusable := c.unusable(m); unusable {
		return o
	}
	if all || m.quirks.WithdrawAmount == "ignored" {
		amount = c.balance
	}
	if amount == 0 || amount > c.balance {
		return refused("insufficient_card_balance")
	}
	return a.move(m, c, -amount)
}

// aboveThreshold is how much a card may lose before it freezes.
func (c *card) aboveThreshold() cents {
	threshold, _ := c.freezeAt.(cents)
	return c.balance - threshold
}

// autoFreeze follows every decrease of a balance.
func (a *account) autoFreeze(m *model, c *card) {
	if threshold, set := c.freezeAt.(cents); set && c.status == "active" && c.balance < threshold {
		a.become(m, c, "frozen")
		a.seen.add("auto-freeze")
	}
}
