package modeltest_test

import (
	"fmt"
	"net/http"
	"net/url"
)

func read(path string, want func() outcome) (step, bool) {
	return step{method: http.MethodGet, path: path, want: want}, true
}

// withQuery adds the parameters that have a value, given as name and value.
func withQuery(path string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" && pairs[i+1] != "0" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// paging draws a page, and how the query asks for it.
func (p *client) paging(total int) (number, size int, asked [2]string) {
	number, size = 1, 25
	if p.rng.IntN(2) == 0 {
		size = 1 + p.rng.IntN(100)
		asked[1] = fmt.Sprint(size)
	}
	if p.rng.IntN(2) == 0 {
		number = 1 + p.rng.IntN(total/size+2)
		asked[0] = fmt.Sprint(number)
	}
	return number, size, asked
}

// listCards and its kin know what comes only where nobody else is at work.
func (p *client) listCards() (step, bool) {
	if p.account.shared {
		return step{}, false
	}
	return p.anyCards()
}

func (p *client) anyCards() (step, bool) {
	f := cardFilter{status: oneOf(p, "", "", "active", "frozen", "terminated"), bin: oneOf(p, "", "", "bin_ads_visa_us", "bin_x")}
	var asked [2]string
	f.number, f.size, asked = p.paging(len(p.account.cards))
	path := withQuery(api+"/cards", "status", f.status, "bin_id", f.bin, "page", asked[0], "per_page", asked[1])
	return read(path, func() outcome { return found(p.account.listCards(p.model, f)) })
}

func (p *client) listTransactions() (step, bool) {
	if p.account.shared {
		return step{}, false
	}
	return p.anyTransactions()
}

func (p *client) anyTransactions() (step, bool) {
	f := transactionFilter{kind: oneOf(p, "", "", "authorization", "settlement", "refund", "decline")}
	if c, drawn := p.onCard(true); drawn && p.rng.IntN(2) == 0 {
		f.card = c.id
	}
	if all := p.account.transactions; len(all) > 0 && p.rng.IntN(3) == 0 {
		first, last := p.rng.IntN(len(all)), p.rng.IntN(len(all))
		f.from, f.to = all[min(first, last)].created, all[max(first, last)].created
		if p.rng.IntN(2) == 0 {
			f.from, f.to = f.from[:len("2006-01-02")], f.to[:len("2006-01-02")]
		}
	}
	var asked [2]string
	f.number, f.size, asked = p.paging(len(p.account.transactions))
	path := withQuery(api+"/transactions", "card_id", f.card, "type", f.kind, "from", f.from, "to", f.to, "page", asked[0], "per_page", asked[1])
	return read(path, func() outcome { return found(p.account.listTransactions(p.model, f)) })
}

func (p *client) listChallenges() (step, bool) {
	if p.account.shared {
		return step{}, false
	}
	return p.anyChallenges()
}

func (p *client) anyChallenges() (step, bool) {
	status := oneOf(p, "", "pending", "approved", "failed", "expired")
	path := withQuery(api+"/3ds", "status", status)
	if status == "" {
		status = "pending"
	}
	return read(path, func() outcome { return found(object{"data": listChallenges(p.model, p.account.challenges, status)}) })
}

func (p *client) readWallet() (step, bool) {
	if p.account.shared {
		return step{}, false
	}
	return p.anyWallet()
}

func (p *client) anyWallet() (step, bool) {
	return read(api+"/wallet/balance", func() outcome { return found(p.account.balanceView()) })
}

func (p *client) readAddress() (step, bool) {
	want := oneOf(p, p.account.addresses...).(object)
	return read(api+"/wallet/deposit-address?currency="+want["currency"].(string), func() outcome {
		return found(object{"data": list{want}})
	})
}

// readBINs looks for the ones that the clients use.
func (p *client) readBINs() (step, bool) {
	return read(api+"/bins", func() outcome {
		o := found(object{"data": anything{}, "total": 9})
		o.commit = func(got object) {
			known := 0
			data, _ := got["data"].(list)
			for _, one := range data {
				b, _ := one.(object)
				id, _ := b["id"].(string)
				if entry, listed := catalogue()[id]; listed && entry.network == b["network"] {
					known++
				}
			}
			if known != len(catalogue()) || len(data) != 9 {
				p.fail("the catalogue is another")
			}
		}
		return o
	})
}

// subscribe registers an endpoint; in a shared account only while the others
// rest, since it decides who hears of what they do.
func (p *client) subscribe() (step, bool) {
	if p.account.shared || len(p.account.hooks) > 3 {
		return step{}, false
	}
	return p.newEndpoint()
}

func (p *client) newEndpoint() (step, bool) {
	events := oneOf(p, `"*"`, `"*"`, `"transaction.authorized","transaction.declined","card.frozen"`, `"card.created","deposit.confirmed","3ds.challenge"`)
	path := fmt.Sprintf("/%s-%d-%d", p.part, p.id, p.calls)
	body := fmt.Sprintf(`{"url":%q,"events":[%s]}`, p.receiver.URL+path, events)
	return step{method: http.MethodPost, path: api + "/webhooks", body: body, want: func() outcome {
		h := &hook{path: path}
		return outcome{
			status: http.StatusCreated,
			body: object{
				"id": like("wh_"), "url": p.receiver.URL + path, "events": anything{}, "secret": like("whsec_"), "created_at": stamp(p.model.now),
			},
			commit: func(got object) {
				h.id, _ = got["id"].(string)
				h.secret, _ = got["secret"].(string)
				h.events, _ = got["events"].(list)
				p.account.hooks = append(p.account.hooks, h)
			},
		}
	}}, true
}

func (p *client) readClock() (step, bool) {
	return read(control+"/clock", func() outcome { return found(object{"now": stamp(p.model.now)}) })
}

// readConditions reads what the fixture has set.
func (p *client) readConditions() (step, bool) {
	if p.rng.IntN(2) == 0 {
		return read(control+"/quirks", func() outcome { return found(p.model.quirks.view()) })
	}
	return read(control+"/limits", func() outcome { return found(noLimits()) })
}

func noLimits() object {
	return object{"requests_per_minute": 0, "requests_per_hour": 0, "creates_per_minute": 0, "details_per_minute": 0}
}

// largePage is how much of a list a control call returns.
const largePage = 1000

// largeList is the first page of a control call's list.
func largeList(all list) object {
	return object{"data": all[:min(len(all), largePage)], "page": 1, "per_page": largePage, "total": len(all)}
}

func (p *client) readRequests() (step, bool) {
	if p.account.shared {
		return step{}, false
	}
	return read(control+"/requests", func() outcome {
		return found(largeList(objects(p.account.requests, func(o object) object { return o })))
	})
}

func (p *client) forgetRequests() (step, bool) {
	if p.account.shared {
		return step{}, false
	}
	return step{method: http.MethodDelete, path: control + "/requests", want: func() outcome {
		o := found(object{"data": list{}})
		o.commit = func(object) { p.account.requests = nil }
		return o
	}}, true
}
