package modeltest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// move makes a random move; not every one is possible at any time.
func (p *player) move() {
	type kind struct {
		weight int
		make   func() bool
	}
	kinds := []kind{
		{8, p.repeat},
		{6, p.orderCard},
		{22, p.moveMoney},
		{19, p.changeCard},
		{2, p.readDetails},
		{24, p.buy},
		{14, p.settleSome},
		{9, p.refundSome},
		{8, p.challengeCard},
		{6, p.depositMoney},
		{11, p.readList},
		{5, p.readRest},
		{2, p.subscribe},
		{1, p.redeliver},
		{1, p.forgetRequests},
	}
	for {
		n := p.rng.IntN(138)
		for _, k := range kinds {
			if n -= k.weight; n < 0 {
				if k.make() {
					return
				}
				break
			}
		}
	}
}

// anyCard draws a card.
func (p *player) anyCard() (*card, bool) {
	if len(p.cards) == 0 {
		return nil, false
	}
	c := oneOf(p.fixture, p.cards...)
	if c.status != "active" && p.rng.IntN(2) == 0 {
		c = oneOf(p.fixture, p.cards...) // on most cards, more can be done
	}
	return c, true
}

// amount draws an amount near to what would be too much.
func (p *player) amount(limit cents) cents {
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

// aboveThreshold is how much a card may lose before it freezes.
func (c *card) aboveThreshold() cents {
	threshold, _ := c.freezeAt.(cents)
	return c.balance - threshold
}

func (p *player) orderCard() bool {
	if len(p.cards) > 40 {
		return false
	}
	c := &card{
		bin:     oneOf(p.fixture, "bin_ads_visa_us", "bin_ads_mastercard_eu", "bin_software_mastercard_us", "bin_general_visa_eu"),
		balance: cents(50_00 + p.rng.Int64N(150_00)), categories: list{}, metadata: object{},
	}
	body := object{"bin_id": c.bin, "amount": c.balance}
	if p.rng.IntN(2) == 0 {
		c.label = fmt.Sprintf("Käufe %d", p.calls)
		body["label"] = c.label
	}
	if p.rng.IntN(3) == 0 {
		c.limit = cents(1 + p.rng.Int64N(200_00))
		body["spending_limit"] = c.limit
	}
	if p.rng.IntN(3) == 0 {
		c.categories = list{"advertising", "software", "food"}[:1+p.rng.IntN(3)]
		body["allowed_categories"] = append(slices.Clip(c.categories), c.categories[0])
	}
	if p.rng.IntN(2) == 0 {
		c.freezeAt = cents(p.rng.Int64N(80_00))
		body["auto_freeze_at"] = c.freezeAt
	}
	if p.rng.IntN(3) == 0 {
		c.metadata = object{"team": "ads", "n": json.Number("7.50"), "on": true}
		body["metadata"] = c.metadata
	}
	p.call(http.MethodPost, api+"/cards", body, p.issue(c))
	return true
}

// moveMoney funds a card or withdraws from it.
func (p *player) moveMoney() bool {
	c, drawn := p.anyCard()
	if !drawn {
		return false
	}
	call, amount, want := "fund", p.amount(oneOf(p.fixture, 30_00, 30_00, 30_00, p.wallet)), p.fund
	if p.rng.IntN(2) == 0 {
		call, amount, want = "withdraw", p.amount(oneOf(p.fixture, c.balance, c.aboveThreshold())), p.withdraw
	}
	path, body := api+"/cards/"+c.id.text+"/"+call, any(object{"amount": amount})
	if call == "withdraw" && p.rng.IntN(5) == 0 {
		amount, body = 0, nil // everything
	}
	p.call(http.MethodPost, path, body, want(c, amount))
	return true
}

// changeCard changes a card's state, or looks at it.
func (p *player) changeCard() bool {
	c, drawn := p.anyCard()
	if !drawn {
		return false
	}
	path := api + "/cards/" + c.id.text
	switch n := p.rng.IntN(19); {
	case n < 4:
		p.call(http.MethodPost, path+"/freeze", nil, p.switchTo(c, "frozen"))
	case n < 12:
		p.call(http.MethodPost, path+"/unfreeze", nil, p.switchTo(c, "active"))
	case n < 14:
		p.call(http.MethodDelete, path, nil, p.terminate(c))
	default:
		p.call(http.MethodGet, path, nil, found(c.summary()))
	}
	return true
}

// readDetails reads what is the same each time, and agrees with the card.
func (p *player) readDetails() bool {
	c, drawn := p.anyCard()
	if !drawn {
		return false
	}
	want, unusable := p.unusable(c)
	if !unusable {
		want = found(object{"id": c.id, "pan": c.pan, "cvv": c.cvv, "exp_month": int(c.expires.Month()), "exp_year": c.expires.Year()})
	}
	p.call(http.MethodGet, api+"/cards/"+c.id.text+"/details", nil, want)
	if !unusable && !strings.HasSuffix(c.pan.text, c.last4.text) {
		p.fail("the number of a card does not end in %s", c.last4)
	}
	return true
}

// outside makes a control call.
func (p *player) outside(call string, body object, want response) bool {
	p.call(http.MethodPost, control+"/"+call, body, want)
	return true
}

// withFee draws a fee, mostly none.
func (p *player) withFee(body object) cents {
	if p.rng.IntN(6) > 0 {
		return 0
	}
	fee := cents(1 + p.rng.Int64N(3_00))
	body["fee"] = fee
	return fee
}

func (p *player) buy() bool {
	c, drawn := p.anyCard()
	if !drawn {
		return false
	}
	mcc := oneOf(p.fixture, "7311", "7311", "7311", "5734", "3001", "5311", "5812", "0742")
	amount := p.amount(oneOf(p.fixture, c.balance, c.limit-c.spentOn[p.month()], c.aboveThreshold()))
	body := object{"card_id": c.id, "amount": amount, "merchant": object{"name": "Big Ads", "mcc": mcc}}
	fee := p.withFee(body)
	return p.outside("authorizations", body, p.authorize(c, amount, fee, mcc))
}

// earlier draws a transaction, mostly of the type that is asked for.
func (p *player) earlier(kind string) (*transaction, bool) {
	fitting := backward(p.transactions, func(t *transaction) bool { return t.kind == kind && !t.settled && t.refunded < t.amount })
	if len(fitting) == 0 || p.rng.IntN(8) == 0 {
		fitting = p.transactions
	}
	if len(fitting) == 0 {
		return nil, false
	}
	return oneOf(p.fixture, fitting...), true
}

func (p *player) settleSome() bool {
	of, drawn := p.earlier("authorization")
	if !drawn {
		return false
	}
	amount := oneOf(p.fixture, 0, of.amount, 1+cents(p.rng.Int64N(int64(of.amount))), of.amount+cents(p.rng.Int64N(2_00)))
	switch p.rng.IntN(20) {
	case 0, 1:
		amount = of.amount + p.amount(of.card.balance)
	case 2, 3:
		if p.wallet < firstWallet/2 {
			amount = of.amount + of.card.balance + p.wallet + cents(p.rng.Int64N(50_00)) // mostly a loss
		}
	}
	return p.followUpOf(of, "settlements", amount, p.settle)
}

func (p *player) refundSome() bool {
	of, drawn := p.earlier("settlement")
	if !drawn {
		return false
	}
	left := of.amount - of.refunded
	amount := oneOf(p.fixture, 0, max(1, left), left+1, 1+cents(p.rng.Int64N(max(1, int64(left)))))
	return p.followUpOf(of, "refunds", amount, p.refund)
}

func (p *player) followUpOf(of *transaction, call string, amount cents, want func(*transaction, cents, cents) response) bool {
	body := object{"transaction_id": of.id}
	if amount != 0 {
		body["amount"] = amount
	}
	fee := p.withFee(body)
	return p.outside(call, body, want(of, amount, fee))
}

// challengeCard begins a challenge or ends one.
func (p *player) challengeCard() bool {
	if len(p.challenges) > 0 && p.rng.IntN(2) == 0 {
		ch, result := oneOf(p.fixture, p.challenges...), oneOf(p.fixture, "approved", "failed")
		return p.outside("3ds-challenges/"+ch.id.text+"/complete", object{"outcome": result}, p.complete(ch, result))
	}
	c, drawn := p.anyCard()
	if !drawn {
		return false
	}
	amount := p.amount(10_00)
	return p.outside("3ds-challenges", object{"card_id": c.id, "merchant": "Big Ads", "amount": amount}, p.challenge(c, amount))
}

// depositMoney sends money to the wallet, or confirms that it has arrived.
func (p *player) depositMoney() bool {
	if len(p.deposits) > 0 && p.rng.IntN(2) == 0 {
		d := oneOf(p.fixture, p.deposits...)
		p.call(http.MethodPost, control+"/deposits/"+d.id.text+"/confirm", nil, p.confirm(d))
		return true
	}
	currency, amount := oneOf(p.fixture, "btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"), p.amount(200_00)
	return p.outside("deposits", object{"currency": currency, "amount": amount}, p.detect(currency, amount))
}

// readList reads a page of a list, filtered or not.
func (p *player) readList() bool {
	f, query := filter{number: 1, size: 25}, url.Values{}
	set := func(name, value string) string {
		if value != "" {
			query.Set(name, value)
		}
		return value
	}
	if p.rng.IntN(3) == 0 {
		status := cmp.Or(set("status", oneOf(p.fixture, "", "pending", "approved", "failed", "expired")), "pending")
		p.call(http.MethodGet, api+"/3ds?"+query.Encode(), nil, p.listChallenges(status))
		return true
	}
	if p.rng.IntN(2) == 0 {
		f.size = 1 + p.rng.IntN(100)
		set("per_page", fmt.Sprint(f.size))
	}
	if p.rng.IntN(2) == 0 {
		f.number = 1 + p.rng.IntN(max(len(p.cards), len(p.transactions))/f.size+2)
		set("page", fmt.Sprint(f.number))
	}
	if p.rng.IntN(2) == 0 {
		f.status = set("status", oneOf(p.fixture, "", "", "active", "frozen", "terminated"))
		f.bin = set("bin_id", oneOf(p.fixture, "", "", "bin_ads_visa_us", "bin_x"))
		p.call(http.MethodGet, api+"/cards?"+query.Encode(), nil, p.listCards(f))
		return true
	}
	f.kind = set("type", oneOf(p.fixture, "", "", "authorization", "settlement", "refund", "decline"))
	if c, drawn := p.anyCard(); drawn && p.rng.IntN(2) == 0 {
		f.card = set("card_id", c.id.text)
	}
	if all := p.transactions; len(all) > 0 && p.rng.IntN(3) == 0 {
		first, last, width := p.rng.IntN(len(all)), p.rng.IntN(len(all)), oneOf(p.fixture, len("2006-01-02"), len(all[0].created))
		f.from = set("from", all[min(first, last)].created[:width])
		f.to = set("to", all[max(first, last)].created[:width])
	}
	p.call(http.MethodGet, api+"/transactions?"+query.Encode(), nil, p.listTransactions(f))
	return true
}

// readRest reads what hardly changes.
func (p *player) readRest() bool {
	switch p.rng.IntN(5) {
	case 0:
		p.call(http.MethodGet, api+"/wallet/balance", nil, p.balance())
	case 1:
		address, _ := oneOf(p.fixture, p.addresses...).(object)
		currency, _ := address["currency"].(string)
		p.call(http.MethodGet, api+"/wallet/deposit-address?currency="+currency, nil, found(object{"data": list{address}}))
	case 2:
		p.call(http.MethodGet, control+"/clock", nil, found(object{"now": stamp(p.now)}))
	case 3:
		p.call(http.MethodGet, control+"/quirks", nil, found(p.quirks))
	case 4:
		p.call(http.MethodGet, control+"/limits", nil, found(noLimits()))
	}
	return true
}

func (p *player) subscribe() bool {
	if len(p.hooks) > 3 {
		return false
	}
	h := &hook{id: &chosen{prefix: "wh_"}, secret: &chosen{prefix: "whsec_"}, path: fmt.Sprint("/", p.calls)}
	h.events = oneOf(p.fixture, list{"*"}, list{"*"}, list{"transaction.authorized", "transaction.declined", "card.frozen"},
		list{"card.created", "deposit.confirmed", "3ds.challenge"})
	body := object{"url": p.receiver.URL + h.path, "events": h.events}
	p.call(http.MethodPost, api+"/webhooks", body, created(with(with(with(body, "id", h.id), "secret", h.secret), "created_at", stamp(p.now))))
	p.hooks = append(p.hooks, h)
	return true
}

// redeliver asks for an event once more, whether it has arrived or not.
func (p *player) redeliver() bool {
	all := p.deliveries()
	if len(all) == 0 {
		return false
	}
	d := oneOf(p.fixture, all...)
	want := with(with(with(d, "state", "pending"), "next_try_at", stamp(p.now)), "tries", anything{})
	p.call(http.MethodPost, fmt.Sprintf("%s/deliveries/%s/redeliver", control, d["id"]), nil, found(want))
	return true
}

func (p *player) forgetRequests() bool {
	p.call(http.MethodDelete, control+"/requests", nil, found(object{"data": list{}}))
	p.requests = nil
	return true
}
