package sandbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := `{"bin_id":"` + sandboxtest.BIN + `","amount":100}`
	first := s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k1").OK(201)
	if first.Header.Get("Idempotent-Replayed") != "" {
		t.Error("the first response says that it is a replay")
	}
	again := s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k1").OK(201)
	if again.Raw != first.Raw || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the second response is %s with %v", again.Raw, again.Header)
	}
	if log := s.Get("/_sandbox/requests").Data(); log[0]["replayed"] != false || log[1]["replayed"] != true {
		t.Errorf("the request log has %v", log)
	}
	s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":101}`, sandboxtest.IdempotencyKey, "k1").Refused(400, "idempotency_key_reused", "")
	if got := s.Wallet().String(); got != "9899.00" {
		t.Errorf("the wallet holds %s: one card was to be issued", got)
	}

	// An API key in its place would be kept as it is.
	s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "a-"+s.Key).Refused(400, "invalid_request", "API key")

	id := first.Text("id")
	s.Post("/api/v1/cards/"+id+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, "k1").OK(200) // another path
	s.Post("/api/v1/cards/"+id+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, "k2").OK(200) // another key
	if got := s.Get("/api/v1/cards/" + id).Text("balance"); got != "110.00" {
		t.Errorf("the card holds %s", got)
	}
	ended := s.Call(http.MethodDelete, "/api/v1/cards/"+id, "", sandboxtest.IdempotencyKey, "k3").OK(200)
	if s.Call(http.MethodDelete, "/api/v1/cards/"+id, "", sandboxtest.IdempotencyKey, "k3").OK(200).Raw != ended.Raw {
		t.Error("the termination was not replayed")
	}
	s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, strings.Repeat("k", 256)).Refused(400, "invalid_request", sandboxtest.IdempotencyKey)
	s.Balanced()
}

func TestIdempotencyKeyForgetsRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("50")
	path := "/api/v1/cards/" + id + "/withdraw"
	s.Post(path, `{"amount":60}`, sandboxtest.IdempotencyKey, "k").Refused(400, "insufficient_card_balance", "")
	s.Post("/api/v1/cards/"+id+"/fund", `{"amount":10}`).OK(200)
	if a := s.Post(path, `{"amount":60}`, sandboxtest.IdempotencyKey, "k").OK(200); a.Header.Get("Idempotent-Replayed") != "" {
		t.Error("a refusal was stored")
	}
}

func TestIdempotencyKeyOfAnotherAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":500}`).Text("api_key"))
	body := `{"bin_id":"` + sandboxtest.BIN + `","amount":100}`
	mine := s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k").OK(201)
	if theirs := other.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k").OK(201); theirs.Text("id") == mine.Text("id") {
		t.Error("another account's response was replayed")
	}
}

func TestIdempotencyKeyExpires(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	body := `{"bin_id":"` + sandboxtest.BIN + `","amount":100}`
	first := s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k").OK(201)
	s.Post("/_sandbox/clock", `{"advance":"23h59m59s"}`).OK(200)
	if s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k").OK(201).Text("id") != first.Text("id") {
		t.Error("forgotten within 24 hours")
	}
	s.Post("/_sandbox/clock", `{"advance":"1s"}`).OK(200)
	if s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k").OK(201).Text("id") == first.Text("id") {
		t.Error("replayed after 24 hours")
	}
}

// Thirty calls with one key at the same moment, to one service or to two on one
// file: one effect, and one response for all.
func TestIdempotencyKeyManyAtOnce(t *testing.T) {
	t.Parallel()
	file := on(filepath.Join(t.TempDir(), "s.db"))
	one := open(t, file)
	two := open(t, file)
	one.Unlimited()
	id := one.Issue("50")
	one.Post("/api/v1/cards/"+id+"/freeze", "").OK(200)
	ended := one.Issue("50")
	for services, list := range map[string][]*service{"one": {one, one}, "two": {one, two}} {
		for name, c := range map[string][3]string{
			"create":    {"POST", "/cards", `{"bin_id":"` + sandboxtest.BIN + `","amount":60}`},
			"fund":      {"POST", "/cards/" + id + "/fund", `{"amount":7}`},
			"withdraw":  {"POST", "/cards/" + id + "/withdraw", `{"amount":3}`},
			"unfreeze":  {"POST", "/cards/" + id + "/unfreeze", ``},
			"terminate": {"DELETE", "/cards/" + ended, ``},
			"webhook":   {"POST", "/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`},
		} {
			if services == "two" && name == "terminate" {
				continue
			}
			var (
				group     sync.WaitGroup
				mu        sync.Mutex
				responses = map[string]int{}
				fresh     int
			)
			for i := range 30 {
				group.Go(func() {
					a := list[i%2].Call(c[0], "/api/v1"+c[1], c[2], sandboxtest.IdempotencyKey, services+name)
					mu.Lock()
					defer mu.Unlock()
					responses[fmt.Sprint(a.Status, a.Raw)]++
					if a.Header.Get("Idempotent-Replayed") == "" {
						fresh++
					}
				})
			}
			group.Wait()
			if len(responses) != 1 || fresh != 1 {
				t.Errorf("%s, %s: %d of 30 responses are no replay; they are %v", services, name, fresh, responses)
			}
		}
	}
	if got := two.Get("/api/v1/cards/" + id).Text("balance"); got != "58.00" {
		t.Errorf("the card holds %s after two funds of 7 and two withdrawals of 3", got)
	}
	if got := two.Get("/api/v1/cards").Text("total"); got != "4" {
		t.Errorf("%s cards, want four", got)
	}
	two.Balanced()
}
