package command_test

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Processes that begin a file together agree on its key, and on every cent.
func TestSixProcesses(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	sandboxtest.Program(t) // built before they start together
	for range rounds {
		path := filepath.Join(t.TempDir(), "s.db")
		processes := make([]*sandboxtest.Process, 6)
		var group sync.WaitGroup
		for i := range processes {
			group.Go(func() { processes[i] = sandboxtest.StartProcess(t, io.Discard, "--data", path) })
		}
		group.Wait()
		if t.Failed() {
			return
		}
		card := processes[0].Issue("50")
		const funds = 10
		for i, p := range processes {
			group.Go(func() {
				if p.Key != processes[0].Key {
					t.Error("a file has two keys")
				}
				for n := range funds {
					// Each key twice, at two processes.
					key := fmt.Sprint(i/2, "-", n)
					p.Post("/cards/"+card+"/fund", `{"amount":1}`, sandboxtest.IdempotencyKey, key).OK(200)
				}
			})
		}
		group.Wait()
		if got := processes[5].Get("/cards/" + card).Text("balance"); got != "80.00" {
			t.Errorf("the card holds %s, want 80.00", got)
		}
		processes[3].Balanced()
		for i, p := range processes {
			if i%2 == 0 {
				p.Kill()
			} else if err := p.Interrupt(); err != nil {
				t.Errorf("ended with %v", err)
			}
		}
	}
}
