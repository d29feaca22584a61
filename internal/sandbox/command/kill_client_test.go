package command_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// card is what a client knows of a card.
type card struct {
	Status  string     `json:"status"`
	Balance usd.Amount `json:"balance"`
	Label   string     `json:"label"`
}

// change is one changing call.
type change struct {
	method, path, body, key string

	id       string // of the card; "" issues one
	after    card
	taken    usd.Amount // from the wallet
	event    string     // "" when there is none
	status   int
	response string // once there is one
}

// client changes cards of its own, so that it knows what they must be.
type client struct {
	name    int
	cards   map[string]*card
	taken   usd.Amount     // from the wallet
	events  map[string]int // by type and card
	done    []change
	unknown *change // cut off
}

func newClient(name int) *client {
	return &client{name: name, cards: map[string]*card{}, events: map[string]int{}}
}

// work changes cards until the server is gone.
func (c *client) work(t *testing.T, server *sandbox) {
	t.Helper()
	for {
		next := c.choose()
		a := server.send(next)
		if a.Err != nil {
			c.unknown = &next
			return
		}
		if a.Status != next.status {
			t.Errorf("%s %s answered %d %s", next.method, next.path, a.Status, a.Raw)
			return
		}
		c.record(next, a)
	}
}

// choose returns a change that the service must accept.
func (c *client) choose() change {
	live := slices.DeleteFunc(slices.Sorted(maps.Keys(c.cards)), func(id string) bool { return c.cards[id].Status == "terminated" })
	key := fmt.Sprintf("%d-%d", c.name, len(c.done))
	if len(live) == 0 || len(live) < 10 && rand.IntN(5) == 0 {
		label := "card " + key
		return change{
			method: http.MethodPost, path: "/api/v1/cards", key: key, status: 201,
			body:  fmt.Sprintf(`{"bin_id":"bin_ads_visa_us","amount":50,"label":%q}`, label),
			after: card{"active", 50 * usd.Dollar, label}, taken: 51 * usd.Dollar, event: "card.created",
		}
	}
	id := live[rand.IntN(len(live))]
	ch := change{method: http.MethodPost, path: "/api/v1/cards/" + id, key: key, status: 200, id: id, after: *c.cards[id]}
	amount := usd.Amount(1 + rand.IntN(500))
	switch n := rand.IntN(20); {
	case n == 0:
		ch.method = http.MethodDelete
		ch.taken, ch.after.Balance, ch.after.Status, ch.event = -ch.after.Balance, 0, "terminated", "card.terminated"
	case n < 5 && ch.after.Status == "active":
		ch.path += "/freeze"
		ch.after.Status, ch.event = "frozen", "card.frozen"
	case n < 5:
		ch.path += "/unfreeze"
		ch.after.Status, ch.event = "active", "card.unfrozen"
	case n < 10 && ch.after.Balance >= amount:
		ch.path, ch.body = ch.path+"/withdraw", `{"amount":`+amount.String()+`}`
		ch.taken, ch.after.Balance = -amount, ch.after.Balance-amount
	default:
		ch.path, ch.body = ch.path+"/fund", `{"amount":`+amount.String()+`}`
		ch.taken, ch.after.Balance, ch.event = amount, ch.after.Balance+amount, "card.funded"
	}
	return ch
}

// record keeps a change that was answered.
func (c *client) record(ch change, a sandboxtest.Response) {
	a.T.Helper()
	if ch.id == "" {
		ch.id = a.Text("id")
	}
	ch.response = a.Raw
	c.cards[ch.id] = &ch.after
	c.taken += ch.taken
	if ch.event != "" {
		c.events[ch.event+" "+ch.id]++
	}
	c.done = append(c.done, ch)
}

// resolve finds the card as it was before the change that was cut off, or as it
// is after it, and sends it again with the same key: it is replayed just when
// it had been committed.
func (c *client) resolve(t *testing.T, server *sandbox) (committed bool) {
	t.Helper()
	ch := *c.unknown
	c.unknown = nil
	cards := server.cards()
	if ch.id == "" {
		for _, got := range cards {
			committed = committed || got == ch.after
		}
	} else {
		switch cards[ch.id] {
		case ch.after:
			committed = true
		case *c.cards[ch.id]:
		default:
			t.Errorf("%s %s %s was half done: from %+v to %+v, the card is %+v",
				ch.method, ch.path, ch.body, *c.cards[ch.id], ch.after, cards[ch.id])
		}
	}
	a := server.send(ch).OK(ch.status)
	if a.Replayed() != committed {
		t.Errorf("%s %s: committed %v, replayed %v", ch.method, ch.path, committed, a.Replayed())
	}
	c.record(ch, a)
	return committed
}

// replayOne sends some change again, and must get the response that it got.
func (c *client) replayOne(t *testing.T, server *sandbox) {
	t.Helper()
	if len(c.done) == 0 {
		return
	}
	ch := c.done[rand.IntN(len(c.done))]
	a := server.send(ch).OK(ch.status)
	if !a.Replayed() || a.Raw != ch.response {
		t.Errorf("%s %s was answered %s, and now (replayed: %v) %s", ch.method, ch.path, ch.response, a.Replayed(), a.Raw)
	}
}
