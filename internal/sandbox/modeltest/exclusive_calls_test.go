package modeltest_test

import (
	"maps"
	"net/http"
)

// exclusiveCalls makes the calls that would get in the way of others.
func (p *client) exclusiveCalls() {
	if p.broken.Load() {
		return
	}
	p.cards = p.cards[max(0, len(p.cards)-8):] // room for new ones
	issue := p.place(p.randomOrder())
	issue.faults = surely
	p.perform(issue)
	p.arrangeFaults()
	p.redeliver()
	if p.account.shared {
		if s, possible := p.newEndpoint(); possible && len(p.account.hooks) < 4 {
			p.perform(s)
		}
	}
}

// arrangeFaults sets a fault for nobody, and takes it back.
func (p *client) arrangeFaults() {
	order := object{"method": "GET", "path": "/cards/nobody", "times": 0, "when": "before", "delay_ms": 5, "then": "pass"}
	made := p.must(http.MethodPost, control+"/faults", mustJSON(order), outcome{status: http.StatusCreated, body: with(order, "id", anything{})})
	listed := found(object{"data": list{with(order, "id", made.Body["id"])}})
	p.must(http.MethodGet, control+"/faults", "", listed)
	p.must(http.MethodDelete, control+"/faults", "", found(object{"data": list{}}))
	p.must(http.MethodGet, control+"/faults", "", found(object{"data": list{}}))
}

func with(o object, name string, value any) object {
	more := maps.Clone(o)
	more[name] = value
	return more
}

// redeliver asks for an event once more, whether it has arrived or not.
func (p *client) redeliver() {
	all := p.deliveries()
	if len(all) == 0 {
		return
	}
	d := oneOf(p, all...)
	id, _ := d["id"].(string)
	want := with(with(with(d, "state", "pending"), "next_try_at", stamp(p.model.now)), "tries", anything{})
	p.must(http.MethodPost, control+"/deliveries/"+id+"/redeliver", "", found(want))
}
