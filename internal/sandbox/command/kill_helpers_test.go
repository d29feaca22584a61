package command_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// sandbox is a process that is going to be killed.
type sandbox struct {
	*sandboxtest.Process

	log *bytes.Buffer
}

func startSandbox(t *testing.T, arguments []string) *sandbox {
	t.Helper()
	log := new(bytes.Buffer)
	return &sandbox{sandboxtest.StartProcess(t, log, arguments...), log}
}

// startSandboxes starts two at once.
func startSandboxes(t *testing.T, arguments []string) []*sandbox {
	t.Helper()
	servers := make([]*sandbox, 2)
	var group sync.WaitGroup
	for i := range servers {
		group.Go(func() { servers[i] = startSandbox(t, arguments) })
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return servers
}

// readAll reads what a person looks at, until the server is gone, and returns how
// often.
func (s *sandbox) readAll() (times int) {
	s.T.Helper()
	for {
		for _, path := range []string{"/_sandbox/ledger", "/_sandbox/requests", "/_sandbox/deliveries", "/cards", "/transactions"} {
			a := s.Send(s.T.Context(), http.MethodGet, path, nil)
			if a.Err != nil {
				return times
			}
			if a.Status != http.StatusOK || strings.Contains(a.Raw, `"balanced":false`) {
				s.T.Errorf("GET %s answered %d %s", path, a.Status, a.Raw)
				return times
			}
		}
		times++
	}
}

// stop ends the process as a signal does.
func (s *sandbox) stop() {
	s.T.Helper()
	if err := s.Interrupt(); err != nil {
		s.T.Errorf("ended with %v: %s", err, s.log)
	}
	s.kill()
}

func (s *sandbox) kill() {
	s.T.Helper()
	s.Kill()
	if text := s.log.String(); strings.Contains(text, "level=ERROR") {
		s.T.Errorf("the log has an error: %s", text)
	}
}

func (s *sandbox) send(ch change) sandboxtest.Response {
	return s.Send(s.T.Context(), ch.method, ch.path, ch.body, sandboxtest.IdempotencyKey, ch.key)
}

// cards returns all cards by their ids.
func (s *sandbox) cards() map[string]card {
	s.T.Helper()
	all := map[string]card{}
	for page := 1; ; page++ {
		var list struct {
			Data []struct {
				ID string `json:"id"`
				card
			} `json:"data"`
		}
		s.Get(fmt.Sprintf("/cards?per_page=100&page=%d", page)).Into(&list)
		for _, c := range list.Data {
			all[c.ID] = c.card
		}
		if len(list.Data) < 100 {
			return all
		}
	}
}

// awaitDeliveries returns when there is nothing left to deliver.
func (s *sandbox) awaitDeliveries() {
	s.T.Helper()
	sandboxtest.Eventually(s.T, func() bool {
		for page := 1; ; page++ {
			list := s.Get(fmt.Sprintf("/_sandbox/deliveries?page=%d", page)).OK(http.StatusOK)
			if strings.Contains(list.Raw, `"state":"pending"`) {
				return false
			}
			if len(list.Data()) == 0 {
				return true
			}
		}
	})
}

// compare holds what arrived against what the clients changed.
func compare(t *testing.T, arrived []sandboxtest.Event, all []*client, kills int) {
	t.Helper()
	ids, got := map[string]bool{}, map[string]int{}
	for _, e := range arrived {
		if payload := e.Payload(); !ids[e.ID()] {
			ids[e.ID()] = true
			data, _ := payload["data"].(map[string]any)
			got[fmt.Sprint(payload["type"], " ", data["id"])]++
		}
	}
	for _, c := range all {
		for what, n := range c.events {
			if got[what] != n {
				t.Errorf("%d different events %q arrived, want %d", got[what], what, n)
			}
			delete(got, what)
		}
	}
	if len(got) > 0 {
		t.Errorf("events that nobody caused: %v", got)
	}
	again := len(arrived) - len(ids)
	t.Logf("%d events, %d arrivals more than once", len(ids), again)
	if most := kills * 8; again > most { // each kill may cut off what is on its way
		t.Errorf("%d arrivals more than once, want at most %d", again, most)
	}
}
