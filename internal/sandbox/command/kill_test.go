package command_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
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
		if err := servers[(round+1)%2].Interrupt(); err != nil {
			t.Errorf("ended with %v", err)
		}
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
	if got := server.Wallet(); got != wallet {
		t.Errorf("the wallet holds %s, want %s", got, wallet)
	}
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
