package command_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestMain(m *testing.M) {
	code := m.Run()
	sandboxtest.RemoveProgram()
	os.Exit(code)
}

// Two sandboxes share a file. At random moments, while clients change cards and
// others read all that there is, one is killed and the other one stopped. After
// each restart, what was answered is there, what was not is there as a whole or
// not at all, and in the end every event has arrived.
func TestKill(t *testing.T) {
	t.Parallel()
	const (
		clients = 4
		initial = 10_000_000 * usd.Dollar
	)
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	receiver := sandboxtest.NewReceiver(t, nil)
	arguments := []string{
		"--data", filepath.Join(t.TempDir(), "s.db"), "--initial-balance", initial.String(), "--webhook-ca", receiver.CAFile(),
	}

	servers := startSandboxes(t, arguments)
	servers[0].Unlimited()
	servers[0].Post("/webhooks", `{"url":"`+receiver.URL+`","events":["*"]}`).OK(201)
	all := make([]*client, clients)
	for i := range all {
		all[i] = newClient(i)
	}
	unanswered, committed, changes, reads := 0, 0, 0, 0
	for round := range rounds {
		var group sync.WaitGroup
		for i, c := range all {
			group.Go(func() { c.work(t, servers[i%2]) })
		}
		read := make([]int, 2)
		for i, s := range servers {
			group.Go(func() { read[i] = s.readAll() })
		}
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		servers[round%2].kill()
		servers[(round+1)%2].stop()
		group.Wait()
		reads += read[0] + read[1]

		servers = startSandboxes(t, arguments)
		for _, c := range all {
			if c.unknown == nil {
				continue
			}
			unanswered++
			if c.resolve(t, servers[0]) {
				committed++
			}
		}
		audit(t, servers[1], all, initial)
		if t.Failed() {
			break
		}
	}
	for _, c := range all {
		changes += len(c.done)
	}
	servers[0].awaitDeliveries()
	compare(t, receiver.Events(), all, rounds)
	servers[0].kill()
	servers[1].kill()
	t.Logf("%d changes; of %d that were cut off, %d had been committed; %d reads of everything", changes, unanswered, committed, reads)
}

// audit compares all cards and the wallet with what the clients know.
func audit(t *testing.T, server *sandbox, all []*client, initial usd.Amount) {
	t.Helper()
	cards := server.cards()
	wallet, known := initial, 0
	for _, c := range all {
		c.replayOne(t, server)
		for id, want := range c.cards {
			known++
			if got := cards[id]; got != *want {
				t.Errorf("card %s is %+v, want %+v", id, got, *want)
			}
		}
		wallet -= c.taken
	}
	if len(cards) != known {
		t.Errorf("there are %d cards, the clients know of %d", len(cards), known)
	}
	var balance struct {
		Balance usd.Amount `json:"balance"`
	}
	server.Get("/wallet/balance").Into(&balance)
	if balance.Balance != wallet {
		t.Errorf("the wallet holds %s, want %s", balance.Balance, wallet)
	}
	server.Balanced()
}
