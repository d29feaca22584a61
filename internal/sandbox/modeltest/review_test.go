package modeltest_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// review compares an account with the model while no client calls.
func (p *client) review() {
	if p.account.shared {
		p.adoptOrder()
	}
	ledger := p.send(step{method: http.MethodGet, path: control + "/ledger"}, "")
	p.compareLedger(ledger, p.account.ledger())
	p.walk(api+"/cards?per_page=100", func(number int) object {
		return p.account.listCards(p.model, cardFilter{number: number, size: 100})
	})
	p.walk(api+"/transactions?per_page=100", func(number int) object {
		return p.account.listTransactions(p.model, transactionFilter{number: number, size: 100})
	})
	reads := []func() (step, bool){p.anyWallet, p.anyChallenges, p.anyChallenges, p.summary, p.summary}
	for range 6 {
		reads = append(reads, p.anyCards, p.anyTransactions)
	}
	for _, read := range reads {
		if s, possible := read(); possible && !p.broken.Load() {
			p.perform(s)
		}
	}
	p.reviewRequests()
}

// walk reads a list page by page until one is empty.
func (p *client) walk(path string, want func(number int) object) (all []object) {
	for number := 1; !p.broken.Load(); number++ {
		r := p.must(http.MethodGet, fmt.Sprintf("%s&page=%d", path, number), "", found(want(number)))
		data, _ := r.Body["data"].(list)
		if len(data) == 0 {
			break
		}
		for _, one := range data {
			o, _ := one.(object)
			all = append(all, o)
		}
	}
	return all
}

// adoptOrder puts the cards and transactions of a shared account, which no
// model can foresee the order of, into the order of the service, after seeing
// that it has just these, and each client's own in that client's order.
func (p *client) adoptOrder() {
	anyPage := func(int) object {
		o := object{"data": anything{}, "page": anything{}, "per_page": anything{}, "total": anything{}}
		if p.model.quirks.CardsTotal == "absent" {
			delete(o, "total")
		}
		return o
	}
	cards := p.walk(api+"/cards?per_page=100", anyPage)
	p.account.cards = adopt(p, "cards", cards, p.account.cards, func(c *card) (string, int) { return c.id, c.owner })
	shown := p.walk(api+"/transactions?per_page=100", func(int) object { return object{"data": anything{}, "page": anything{}} })
	p.account.transactions = adopt(p, "transactions", shown, p.account.transactions,
		func(t *transaction) (string, int) { return t.id, t.card.owner })
	p.adoptChallenges()
}

// adoptChallenges orders what one list does not show as a whole.
func (p *client) adoptChallenges() {
	var shown []object
	for _, status := range []string{"pending", "expired", "approved", "failed"} {
		r := p.must(http.MethodGet, api+"/3ds?status="+status, "", found(object{"data": anything{}}))
		data, _ := r.Body["data"].(list)
		for _, one := range data {
			o, _ := one.(object)
			shown = append(shown, o)
		}
	}
	// Within a status the service's order stands; across them nobody looks.
	p.account.challenges = adopt(p, "challenges", shown, p.account.challenges, func(ch *challenge) (string, int) { return ch.id, nobody })
}

func adopt[T any](p *client, what string, shown []object, all []T, of func(T) (id string, owner int)) []T {
	known := map[string]T{}
	orders := map[int][]string{}
	for _, one := range all {
		id, owner := of(one)
		known[id] = one
		orders[owner] = append(orders[owner], id)
	}
	var adopted []T
	seen := map[int][]string{}
	for _, o := range slices.Backward(shown) {
		id, _ := o["id"].(string)
		one, expected := known[id]
		if !expected {
			p.fail(fmt.Sprintf("the list of %s has %v, which nobody made", what, o))
			return all
		}
		_, owner := of(one)
		seen[owner] = append(seen[owner], id)
		adopted = append(adopted, one)
	}
	for owner, ids := range orders {
		got := seen[owner]
		if owner == nobody {
			slices.Sort(ids)
			got = slices.Sorted(slices.Values(got))
		}
		if !slices.Equal(got, ids) {
			p.fail(fmt.Sprintf("client %d's %s are listed as %v, want %v", owner, what, got, ids))
		}
	}
	return adopted
}

// reviewRequests compares the log of a shared account without its order.
func (p *client) reviewRequests() {
	data := p.listed(control + "/requests")
	if len(data) != len(p.account.requests) {
		p.fail(fmt.Sprintf("%d requests are logged, %d were made", len(data), len(p.account.requests)))
		return
	}
	got, want := make([]string, len(data)), make([]string, len(data))
	for i := range data {
		logged := maps.Clone(data[i].(object))
		for name, value := range p.account.requests[i] {
			if value == (anything{}) {
				logged[name] = value
			}
		}
		got[i], want[i] = mustJSON(logged), mustJSON(p.account.requests[i])
	}
	if p.account.shared {
		slices.Sort(got)
		slices.Sort(want)
	}
	for i := range got {
		if got[i] != want[i] {
			p.fail(fmt.Sprintf("logged is %s, want %s", got[i], want[i]))
			return
		}
	}
}

// settleDeliveries waits until all events have arrived, and moves the clock for
// those that were turned away at first.
func (s *fixture) settleDeliveries(p *client) {
	patience := time.Now().Add(time.Minute)
	for !s.broken.Load() {
		waiting, next := 0, ""
		for _, d := range p.deliveries() {
			if at, waits := d["next_try_at"].(string); waits && at <= stamp(s.model.now) {
				waiting++
			} else if waits {
				next = max(next, at)
			}
		}
		switch {
		case waiting > 0 && time.Now().After(patience):
			p.fail(fmt.Sprintf("%d deliveries that are due do not arrive", waiting))
		case waiting > 0:
			time.Sleep(20 * time.Millisecond)
		case next == "":
			return
		default:
			at, err := time.Parse(time.RFC3339, next)
			if err != nil {
				p.fail(err.Error())
				return
			}
			s.advance(p, at.Sub(s.model.now))
		}
	}
}

// listed returns all pages of a control call's list.
func (p *client) listed(path string) (all list) {
	for page := 1; ; page++ {
		r := p.send(step{method: http.MethodGet, path: fmt.Sprintf("%s?page=%d", path, page)}, "")
		data, _ := r.Body["data"].(list)
		if all = append(all, data...); len(data) < largePage {
			return all
		}
	}
}

func (p *client) deliveries() (all []object) {
	for _, one := range p.listed(control + "/deliveries") {
		o, _ := one.(object)
		all = append(all, o)
	}
	return all
}

// reviewEvents compares what arrived at each endpoint with what should have
// happened: in order, as far as one client alone brought it about.
func (p *client) reviewEvents() {
	events := map[string]sandboxtest.Event{}
	for _, e := range p.receiver.Events() {
		events[e.Path+" "+e.ID()] = e
	}
	told := map[string][]object{}
	for _, d := range p.deliveries() {
		id, _ := d["webhook_id"].(string)
		told[id] = append(told[id], d)
	}
	for _, h := range p.account.hooks {
		if len(told[h.id]) != len(h.expected) {
			p.fail(fmt.Sprintf("an endpoint for %v was told %d events, want %d", h.events, len(told[h.id]), len(h.expected)))
			return
		}
		arrived := map[int][]object{}
		for _, d := range told[h.id] {
			payload := p.arrived(events, h, d)
			arrived[p.ownerOf(payload)] = append(arrived[p.ownerOf(payload)], payload)
		}
		for owner, payloads := range arrived {
			p.compareEvents(owner, payloads, slices.DeleteFunc(slices.Clone(h.expected), func(e event) bool { return e.owner != owner }))
		}
	}
}

// arrived returns the payload of a delivery, whose signature it checks.
func (p *client) arrived(events map[string]sandboxtest.Event, h *hook, delivery object) (payload object) {
	eventID, _ := delivery["event_id"].(string)
	e := events[h.path+" "+eventID]
	if payload = e.Payload(); !e.SignedWith(h.secret) || payload["id"] != eventID || payload["type"] != delivery["type"] {
		p.fail(fmt.Sprintf("delivery %v did not arrive as it should", delivery))
	}
	return payload
}

// ownerOf returns whose card or deposit an event is about.
func (p *client) ownerOf(payload object) int {
	data, _ := payload["data"].(object)
	for _, c := range p.account.cards {
		if c.id == data["id"] || c.id == data["card_id"] {
			return c.owner
		}
	}
	for _, d := range p.account.deposits {
		if d.id == data["id"] {
			return d.owner
		}
	}
	p.fail(fmt.Sprintf("an event about nothing that is known: %v", payload))
	return nobody
}

func (p *client) compareEvents(owner int, got []object, want []event) {
	if len(got) != len(want) {
		p.fail(fmt.Sprintf("%d events about the things of %d, want %d", len(got), owner, len(want)))
		return
	}
	if owner == nobody { // in any order
		byContent := func(kind, created any, data object) string {
			return fmt.Sprint(kind, created, data["id"], data["amount"])
		}
		slices.SortFunc(got, func(a, b object) int {
			x, _ := a["data"].(object)
			y, _ := b["data"].(object)
			return strings.Compare(byContent(a["type"], a["created_at"], x), byContent(b["type"], b["created_at"], y))
		})
		slices.SortFunc(want, func(a, b event) int {
			return strings.Compare(byContent(a.kind, a.created, a.data), byContent(b.kind, b.created, b.data))
		})
	}
	for i, e := range want {
		p.seen.add(e.kind)
		expected := object{"id": like("evt_"), "type": e.kind, "created_at": e.created, "data": e.data}
		if d := compare("event", expected, got[i], e.notation); len(d) > 0 {
			p.fail(d...)
			return
		}
	}
}
