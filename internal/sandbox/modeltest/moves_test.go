package modeltest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// pick draws a random move; not every one is possible at any time.
func (p *client) pick() (step, bool) {
	type move struct {
		weight int
		make   func() (step, bool)
	}
	moves := []move{
		{6, p.issue},
		{12, p.fund},
		{10, p.withdraw},
		{4, p.freeze},
		{7, p.unfreeze},
		{2, p.terminate},
		{4, p.summary},
		{2, p.details},
		{24, p.authorize},
		{14, p.settle},
		{9, p.refund},
		{4, p.challenge},
		{4, p.complete},
		{3, p.detect},
		{3, p.confirm},
		{3, p.listCards},
		{5, p.listTransactions},
		{3, p.listChallenges},
		{2, p.readWallet},
		{1, p.readAddress},
		{1, p.readBINs},
		{2, p.subscribe},
		{1, p.readClock},
		{1, p.readConditions},
		{1, p.readRequests},
		{1, p.forgetRequests},
		{1, p.openAccount},
		{1, p.unknown},
	}
	total := 0
	for _, m := range moves {
		total += m.weight
	}
	n := p.rng.IntN(total)
	for _, m := range moves {
		if n -= m.weight; n < 0 {
			return m.make()
		}
	}
	panic("unreachable")
}

// oneOf draws an element.
func oneOf[T any](p *client, all ...T) T { return all[p.rng.IntN(len(all))] }

// onCard draws one of the client's cards, sometimes everybody's.
func (p *client) onCard(commonToo bool) (*card, bool) {
	if commonToo && p.common != nil && p.rng.IntN(4) == 0 {
		return p.common, true
	}
	if len(p.cards) == 0 {
		return nil, false
	}
	c := oneOf(p, p.cards...)
	if c.status != "active" && p.rng.IntN(2) == 0 {
		c = oneOf(p, p.cards...) // on most cards, more can be done
	}
	return c, true
}

// amount draws an amount near to what would be too much.
func (p *client) amount(limit cents) cents {
	switch p.rng.IntN(8) {
	case 0:
		return max(1, limit)
	case 1:
		return max(1, limit+1)
	case 2:
		return cents(1 + p.rng.Int64N(9))
	}
	return cents(1 + p.rng.Int64N(60_00))
}

// wrong draws an amount that is refused whatever the state.
func (p *client) wrong() (text string, drawn bool) {
	if p.rng.IntN(15) > 0 {
		return "", false
	}
	return oneOf(p, "0", "-1", "0.001", `"5"`, "1e400", "null", "[]", "{}"), true
}

func (p *client) issue() (step, bool) {
	o := p.randomOrder()
	if p.rng.IntN(8) == 0 {
		o = p.spoil(o)
	}
	return p.place(o), len(p.cards) < 12
}

func (p *client) place(o order) step {
	return step{
		method: http.MethodPost, path: api + "/cards", body: o.json(),
		want: func() outcome {
			made := p.account.issue(p.model, p.id, o)
			commit := made.commit
			if commit != nil {
				made.commit = func(got object) {
					commit(got)
					p.cards = append(p.cards, p.account.cards[len(p.account.cards)-1])
				}
			}
			return made
		},
	}
}

func (p *client) randomOrder() order {
	o := order{
		bin:  oneOf(p, "bin_ads_visa_us", "bin_ads_mastercard_eu", "bin_software_mastercard_us", "bin_general_visa_eu"),
		load: cents(50_00 + p.rng.Int64N(150_00)), categories: list{}, metadata: object{},
	}
	if p.rng.IntN(2) == 0 {
		o.label = fmt.Sprintf("Käufe %d-%d", p.id, p.calls)
	}
	if p.rng.IntN(3) == 0 {
		o.limit = cents(1 + p.rng.Int64N(200_00))
	}
	if p.rng.IntN(3) == 0 {
		o.categories = list{"advertising", "software", "food"}[:1+p.rng.IntN(3)]
	}
	if p.rng.IntN(2) == 0 {
		o.freezeAt = cents(p.rng.Int64N(80_00))
	}
	if p.rng.IntN(3) == 0 {
		o.metadata = object{"team": "ads", "n": json.Number("7.50"), "on": true}
	}
	return o
}

// spoil makes an order one that is refused.
func (p *client) spoil(o order) order {
	o.flaw = "invalid_request"
	switch p.rng.IntN(4) {
	case 0:
		o.load = 49_99
	case 1:
		o.bin, o.flaw = "bin_x", "bin_not_found"
	case 2:
		o.limit = 50_000_01
	case 3:
		o.label = strings.Repeat("ü", 65)
	}
	return o
}

func (o order) json() string {
	fields := object{"bin_id": o.bin, "amount": json.Number(o.load.String())}
	if o.label != "" {
		fields["label"] = o.label
	}
	if o.limit != 0 {
		fields["spending_limit"] = json.Number(o.limit.String())
	}
	if len(o.categories) > 0 {
		fields["allowed_categories"] = append(slices.Clip(o.categories), o.categories[0])
	}
	if threshold, set := o.freezeAt.(cents); set {
		fields["auto_freeze_at"] = json.Number(threshold.String())
	}
	if len(o.metadata) > 0 {
		fields["metadata"] = o.metadata
	}
	return mustJSON(fields)
}

// money makes a fund or a withdrawal.
func money(c *card, call string, amount cents, want func() outcome) step {
	return step{
		method: http.MethodPost, path: api + "/cards/" + c.id + "/" + call, body: `{"amount":` + amount.String() + `}`,
		want: want, faults: c.faults(),
	}
}

// faults are not set for a card that everybody uses.
func (c *card) faults() odds {
	if c.owner == nobody {
		return never
	}
	return sometimes
}

// wrongMoney makes one of what is no amount.
func wrongMoney(c *card, call, text string) step {
	s := money(c, call, 0, func() outcome { return refused("invalid_request") })
	s.body, s.faults = `{"amount":`+text+`}`, never
	return s
}

func (p *client) fund() (step, bool) {
	c, found := p.onCard(true)
	if !found {
		return step{}, false
	}
	if text, drawn := p.wrong(); drawn {
		return wrongMoney(c, "fund", text), true
	}
	amount := p.amount(30_00)
	if p.rng.IntN(15) == 0 {
		amount = 999_999_999_999_99
	}
	return money(c, "fund", amount, func() outcome { return p.account.fund(p.model, c, amount) }), true
}

func (p *client) withdraw() (step, bool) {
	all := p.model.quirks.WithdrawAmount == "ignored"
	c, found := p.onCard(!all)
	if !found {
		return step{}, false
	}
	if text, drawn := p.wrong(); drawn && !all {
		return wrongMoney(c, "withdraw", text), true
	}
	if c.owner != nobody && p.rng.IntN(5) == 0 {
		s := money(c, "withdraw", 0, func() outcome { return p.account.withdraw(p.model, c, 0, true) })
		s.body = ""
		return s, true
	}
	amount := cents(1 + p.rng.Int64N(9))
	if c.owner != nobody {
		amount = p.amount(oneOf(p, c.balance, c.aboveThreshold()))
	}
	return money(c, "withdraw", amount, func() outcome { return p.account.withdraw(p.model, c, amount, false) }), true
}

// change makes a call without a body on one of the client's cards.
func (p *client) change(method, call string, want func(*card) outcome) (step, bool) {
	c, found := p.onCard(false)
	if !found {
		return step{}, false
	}
	return step{method: method, path: api + "/cards/" + c.id + call, want: func() outcome { return want(c) }, faults: sometimes}, true
}

func (p *client) freeze() (step, bool) {
	return p.change(http.MethodPost, "/freeze", func(c *card) outcome { return p.account.switchTo(p.model, c, "frozen") })
}

func (p *client) unfreeze() (step, bool) {
	return p.change(http.MethodPost, "/unfreeze", func(c *card) outcome { return p.account.switchTo(p.model, c, "active") })
}

func (p *client) terminate() (step, bool) {
	return p.change(http.MethodDelete, "", func(c *card) outcome { return p.account.terminate(p.model, c) })
}

func (p *client) summary() (step, bool) {
	return p.change(http.MethodGet, "", func(c *card) outcome { return found(c.summary()) })
}

// details are the same each time.
func (p *client) details() (step, bool) {
	return p.change(http.MethodGet, "/details", func(c *card) outcome {
		if o, unusable := c.unusable(p.model); unusable {
			return o
		}
		if c.details != nil {
			return found(c.details)
		}
		o := found(object{"id": c.id, "pan": like("0"), "cvv": anything{}, "exp_month": anything{}, "exp_year": anything{}})
		o.commit = func(got object) {
			c.details = got
			year, month, _ := strings.Cut(c.expires[:len("2006-01")], "-")
			expiry := list{json.Number(year), json.Number(strings.TrimPrefix(month, "0"))}
			pan, _ := got["pan"].(string)
			if !strings.HasSuffix(pan, c.last4) || !slices.Equal(expiry, list{got["exp_year"], got["exp_month"]}) {
				p.fail("the details do not agree with the card")
			}
		}
		return o
	})
}
