package command_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// flawless is a log without errors.
type flawless struct{ testing.TB }

func (log flawless) Write(lines []byte) (int, error) {
	if bytes.Contains(lines, []byte("level=ERROR")) {
		log.Errorf("the log has an error: %s", lines)
	}
	return len(lines), nil
}

// Two sandboxes share a file, which they begin together. At random moments, while
// clients change cards and others read all that there is, one is killed and the other
// one stopped. After each restart, what was answered is there, what was not is there
// as a whole or not at all, and in the end every event has arrived.
func TestKill(t *testing.T) {
	t.Parallel()
	const initial = 10_000_000 * usd.Dollar
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	receiver := sandboxtest.NewReceiver(t, nil)
	path := filepath.Join(t.TempDir(), "s.db")
	servers := make([]*sandboxtest.Process, 2)
	startBoth := func() {
		var group sync.WaitGroup
		for i := range servers {
			group.Go(func() {
				servers[i] = sandboxtest.StartProcess(t, flawless{t}, "--data", path, "--initial-balance", initial.String(), "--webhook-ca", receiver.CAFile())
			})
		}
		if group.Wait(); t.Failed() || servers[0].Key != servers[1].Key {
			t.Fatal("two processes do not begin together, with one key")
		}
	}
	startBoth()
	servers[0].Unlimited()
	servers[0].Post("/webhooks", `{"url":"`+receiver.URL+`","events":["*"]}`).OK(201)
	clients := make([]*client, 4)
	for i := range clients {
		clients[i] = &client{name: i, cards: map[string]card{}, events: map[string]int{}}
	}
	for round := range rounds {
		var group sync.WaitGroup
		for i, c := range clients {
			group.Go(func() { c.work(servers[i%2]) })
		}
		for _, server := range servers {
			group.Go(func() { readAll(server) })
		}
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		servers[round%2].Kill()
		sandboxtest.Must(0, servers[(round+1)%2].Interrupt())
		group.Wait()

		startBoth()
		for _, c := range clients {
			if c.unknown != nil {
				c.resolve(servers[0])
			}
		}
		if audit(t, servers[1], clients, initial); t.Failed() {
			return
		}
	}
	sandboxtest.Eventually(t, func() bool { return !isDelivering(servers[0]) })
	compare(t, receiver.Events(), clients, rounds)
}

// readAll reads what a person looks at, until the server is gone.
func readAll(server *sandboxtest.Process) {
	for !server.T.Failed() {
		for _, path := range []string{"/_sandbox/ledger", "/_sandbox/requests", "/_sandbox/deliveries", "/cards", "/transactions"} {
			a := server.Send(server.T.Context(), http.MethodGet, path, nil)
			if a.Err != nil {
				return
			}
			if a.Status != http.StatusOK || strings.Contains(a.Raw, `"balanced":false`) {
				server.T.Errorf("GET %s answered %d %s", path, a.Status, a.Raw)
			}
		}
	}
}

// audit compares all cards and the wallet with what the clients know.
func audit(t *testing.T, server *sandboxtest.Process, clients []*client, initial usd.Amount) {
	t.Helper()
	cards, wallet := allCards(server), initial
	for _, c := range clients {
		c.replayOne(t, server)
		for id, want := range c.cards {
			if got := cards[id]; got != want {
				t.Errorf("card %s is %+v, want %+v", id, got, want)
			}
			delete(cards, id)
		}
		wallet -= c.taken
	}
	if len(cards) > 0 {
		t.Errorf("no client knows of %v", cards)
	}
	sandboxtest.Equal(t, "the wallet holds", server.Wallet(), wallet)
	server.Balanced()
}

// isDelivering tells whether there is something left to deliver.
func isDelivering(server *sandboxtest.Process) bool {
	server.T.Helper()
	for page := 1; ; page++ {
		list := server.Get(fmt.Sprintf("/_sandbox/deliveries?page=%d", page)).OK(http.StatusOK)
		if pending := strings.Contains(list.Raw, `"state":"pending"`); pending || len(list.Data()) == 0 {
			return pending
		}
	}
}

// compare holds what arrived against what the clients changed.
func compare(t *testing.T, arrived []sandboxtest.Event, clients []*client, kills int) {
	t.Helper()
	ids, left := map[string]bool{}, map[string]int{}
	for _, e := range arrived {
		if payload := e.Payload(); !ids[e.ID()] {
			ids[e.ID()] = true
			data, _ := payload["data"].(map[string]any)
			left[fmt.Sprint(payload["type"], " ", data["id"])]++
		}
	}
	for _, c := range clients {
		for what, n := range c.events {
			left[what] -= n
		}
	}
	for what, n := range left {
		if n != 0 {
			t.Errorf("of %q, %+d different events arrived beside those that were caused", what, n)
		}
	}
	if again, most := len(arrived)-len(ids), kills*8; again > most { // each kill may cut off what is on its way
		t.Errorf("%d of %d arrivals more than once, want at most %d", again, len(arrived), most)
	}
}

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
	response string     // once there is one
}

// client changes cards of its own, so that it knows what they must be.
type client struct {
	name    int
	cards   map[string]card
	taken   usd.Amount     // from the wallet
	events  map[string]int // by type and card
	done    []change
	unknown *change // cut off
}

// send makes a change, which the service must accept, unless it is cut off.
func (ch change) send(server *sandboxtest.Process) sandboxtest.Response {
	server.T.Helper()
	a := server.Send(server.T.Context(), ch.method, ch.path, ch.body, sandboxtest.IdempotencyKey, ch.key)
	if a.Err == nil && a.Status/100 != 2 {
		server.T.Errorf("%s %s answered %d %s", ch.method, ch.path, a.Status, a.Raw)
	}
	return a
}

// work changes cards until the server is gone.
func (c *client) work(server *sandboxtest.Process) {
	for !server.T.Failed() {
		next := c.choose()
		a := next.send(server)
		if a.Err != nil {
			c.unknown = &next
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
			method: http.MethodPost, path: "/cards", body: fmt.Sprintf(`{"bin_id":"bin_ads_visa_us","amount":50,"label":%q}`, label), key: key,
			after: card{"active", 50 * usd.Dollar, label}, taken: 51 * usd.Dollar, event: "card.created",
		}
	}
	id := live[rand.IntN(len(live))]
	ch := change{method: http.MethodPost, path: "/cards/" + id, key: key, id: id, after: c.cards[id]}
	amount := usd.Amount(1 + rand.IntN(500))
	move := func(call string, taken usd.Amount) {
		ch.path, ch.body = ch.path+call, `{"amount":`+amount.String()+`}`
		ch.taken, ch.after.Balance = taken, ch.after.Balance+taken
	}
	switch n := rand.IntN(20); {
	case n == 0:
		ch.method, ch.event = http.MethodDelete, "card.terminated"
		ch.taken, ch.after.Balance, ch.after.Status = -ch.after.Balance, 0, "terminated"
	case n < 5 && ch.after.Status == "active":
		ch.path, ch.event, ch.after.Status = ch.path+"/freeze", "card.frozen", "frozen"
	case n < 5:
		ch.path, ch.event, ch.after.Status = ch.path+"/unfreeze", "card.unfrozen", "active"
	case n < 10 && ch.after.Balance >= amount:
		move("/withdraw", -amount)
	default:
		move("/fund", amount)
		ch.event = "card.funded"
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
	c.cards[ch.id] = ch.after
	c.taken += ch.taken
	if ch.event != "" {
		c.events[ch.event+" "+ch.id]++
	}
	c.done = append(c.done, ch)
}

// resolve finds the card as it was before the change that was cut off, or as it is after it,
// and sends it again with the same key: it is replayed just when it had been committed.
func (c *client) resolve(server *sandboxtest.Process) {
	ch, t := *c.unknown, server.T
	t.Helper()
	c.unknown = nil
	cards := allCards(server)
	committed := cards[ch.id] == ch.after
	if ch.id == "" {
		committed = slices.Contains(slices.Collect(maps.Values(cards)), ch.after)
	} else if !committed && cards[ch.id] != c.cards[ch.id] {
		t.Errorf("%s %s %s was half done: from %+v to %+v, the card is %+v", ch.method, ch.path, ch.body, c.cards[ch.id], ch.after, cards[ch.id])
	}
	a := ch.send(server).Must()
	if a.Replayed() != committed {
		t.Errorf("%s %s: committed %v, replayed %v", ch.method, ch.path, committed, a.Replayed())
	}
	c.record(ch, a)
}

// replayOne sends some change again, and must get the response that it got.
func (c *client) replayOne(t testing.TB, server *sandboxtest.Process) {
	t.Helper()
	if len(c.done) == 0 {
		return
	}
	ch := c.done[rand.IntN(len(c.done))]
	if a := ch.send(server).Must(); !a.Replayed() || a.Raw != ch.response {
		t.Errorf("%s %s was answered %s, and now (replayed: %v) %s", ch.method, ch.path, ch.response, a.Replayed(), a.Raw)
	}
}

// allCards returns all cards by their ids.
func allCards(server *sandboxtest.Process) map[string]card {
	server.T.Helper()
	all := map[string]card{}
	for page := 1; ; page++ {
		var list struct {
			Data []struct {
				ID string `json:"id"`
				card
			} `json:"data"`
		}
		server.Get(fmt.Sprintf("/cards?per_page=100&page=%d", page)).Into(&list)
		if len(list.Data) == 0 {
			return all
		}
		for _, c := range list.Data {
			all[c.ID] = c.card
		}
	}
}
