package modeltest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// outside makes a control call.
func outside(call string, body object, want func() outcome) (step, bool) {
	return step{method: http.MethodPost, path: control + "/" + call, body: mustJSON(body), want: want}, true
}

func number(c cents) json.Number { return json.Number(c.String()) }

// recording adds to an outcome that it records the transaction that a call brings about.
func (p *client) recording(o outcome) outcome {
	commit := o.commit
	if commit != nil {
		o.commit = func(got object) {
			commit(got)
			p.transactions = append(p.transactions, p.account.transactions[len(p.account.transactions)-1])
		}
	}
	return o
}

// fee is mostly none.
func (p *client) fee() cents {
	if p.rng.IntN(6) > 0 {
		return 0
	}
	return cents(p.rng.Int64N(3_00))
}

func (p *client) authorize() (step, bool) {
	c, found := p.onCard(true)
	if !found {
		return step{}, false
	}
	mcc := oneOf(p, "7311", "7311", "7311", "5734", "3001", "5311", "5812", "0742")
	amount, fee := cents(1+p.rng.Int64N(3_00)), cents(0)
	if c.owner != nobody {
		amount, fee = p.amount(oneOf(p, c.balance, c.limit-c.spent(stamp(p.model.now)[:7]), c.aboveThreshold())), p.fee()
	}
	body := object{"card_id": c.id, "amount": number(amount), "merchant": object{"name": "Big Ads", "mcc": mcc}}
	if fee > 0 {
		body["fee"] = number(fee)
	}
	return outside("authorizations", body, func() outcome { return p.recording(p.account.authorize(p.model, c, amount, fee, mcc)) })
}

// earlier draws a transaction, mostly of the type that is asked for. What happens
// on everybody's card stays small.
func (p *client) earlier(kind string) (*transaction, bool) {
	var fitting []*transaction
	for _, t := range p.transactions {
		if t.kind == kind && t.settlement == nil && t.refunded < t.amount {
			fitting = append(fitting, t)
		}
	}
	switch {
	case len(p.transactions) > 0 && p.rng.IntN(8) == 0:
		return oneOf(p, p.transactions...), true
	case len(fitting) > 0:
		return oneOf(p, fitting...), true
	}
	return nil, false
}

func (p *client) settle() (step, bool) {
	of, found := p.earlier("authorization")
	if !found {
		return step{}, false
	}
	amount := oneOf(p, 0, of.amount, 1+cents(p.rng.Int64N(int64(of.amount))), of.amount+cents(p.rng.Int64N(2_00)))
	if of.card.owner != nobody && p.rng.IntN(8) == 0 {
		amount = of.amount + p.amount(of.card.balance)
	}
	if p.rng.IntN(20) == 0 && !p.account.shared {
		amount = of.amount + of.card.balance + p.account.wallet + cents(p.rng.Int64N(50_00)) // mostly a loss
	}
	return p.followUp("settlements", of, amount, func(fee cents) outcome { return p.account.settle(p.model, of, amount, fee) })
}

func (p *client) refund() (step, bool) {
	of, found := p.earlier("settlement")
	if !found {
		return step{}, false
	}
	left := of.amount - of.refunded
	amount := oneOf(p, 0, max(1, left), left+1, 1+cents(p.rng.Int64N(max(1, int64(left)))))
	return p.followUp("refunds", of, amount, func(fee cents) outcome { return p.account.refund(p.model, of, amount, fee) })
}

func (p *client) followUp(call string, of *transaction, amount cents, want func(fee cents) outcome) (step, bool) {
	body, fee := object{"transaction_id": of.id}, p.fee()
	if amount != 0 {
		body["amount"] = number(amount)
	}
	if fee > 0 {
		body["fee"] = number(fee)
	}
	return outside(call, body, func() outcome { return p.recording(want(fee)) })
}

func (p *client) challenge() (step, bool) {
	c, found := p.onCard(false)
	if !found {
		return step{}, false
	}
	amount := p.amount(10_00)
	return outside("3ds-challenges", object{"card_id": c.id, "merchant": "Big Ads", "amount": number(amount)},
		func() outcome { return p.account.challenge(p.model, c, amount) })
}

func (p *client) complete() (step, bool) {
	c, found := p.onCard(false)
	if !found || len(c.challenges) == 0 {
		return step{}, false
	}
	ch, result := oneOf(p, c.challenges...), oneOf(p, "approved", "failed")
	return outside("3ds-challenges/"+ch.id+"/complete", object{"outcome": result},
		func() outcome { return p.account.complete(p.model, ch, result) })
}

func (p *client) detect() (step, bool) {
	currency, amount := oneOf(p, "btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"), p.amount(200_00)
	return outside("deposits", object{"currency": currency, "amount": number(amount)}, func() outcome {
		o := p.account.detect(p.model, p.id, currency, amount)
		commit := o.commit
		o.commit = func(got object) {
			commit(got)
			p.deposits = append(p.deposits, p.account.deposits[len(p.account.deposits)-1])
		}
		return o
	})
}

func (p *client) confirm() (step, bool) {
	if len(p.deposits) == 0 {
		return step{}, false
	}
	d := oneOf(p, p.deposits...)
	return step{
		method: http.MethodPost, path: control + "/deposits/" + d.id + "/confirm",
		want: func() outcome { return p.account.confirm(p.model, d) },
	}, true
}

// openAccount adds an account that nobody will use again.
func (p *client) openAccount() (step, bool) {
	state := oneOf(p, "ready", "email_unconfirmed", "no_deposit", "api_not_enabled")
	code := map[string]string{"email_unconfirmed": "onboarding_incomplete", "no_deposit": "onboarding_incomplete", "api_not_enabled": "api_not_enabled"}[state]
	return outside("accounts", object{"state": state, "initial_balance": number(5)}, func() outcome {
		return outcome{
			status: http.StatusCreated,
			body:   object{"account_id": like("acct_"), "api_key": like("sk_live_sandbox_")},
			commit: func(got object) {
				key, _ := got["api_key"].(string)
				want := outcome{status: http.StatusForbidden, code: code}
				if code == "" {
					want = found(object{"data": list{}, "page": 1})
				}
				if d := judge(p.caller.As(key).Send(p.ctx, http.MethodGet, api+"/transactions", nil), want, ""); len(d) > 0 {
					p.fail(d...)
				}
			},
		}
	})
}

// unknown asks for something that this account does not have.
func (p *client) unknown() (step, bool) {
	notFound := func() outcome { return outcome{status: http.StatusNotFound, code: "not_found"} }
	switch p.rng.IntN(4) {
	case 0:
		return step{method: http.MethodGet, path: api + "/cards/card_x", want: notFound}, true
	case 1:
		return outside("settlements", object{"transaction_id": "txn_x"}, notFound)
	case 2:
		return outside("deliveries/dlv_x/redeliver", object{}, notFound)
	}
	merchant := object{"name": "Big Ads", "mcc": "7311"}
	return outside("authorizations", object{"card_id": fmt.Sprintf("card_%d", p.calls), "amount": 1, "merchant": merchant}, notFound)
}
