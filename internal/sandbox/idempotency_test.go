package sandbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

const idempotencyKey = "X-Idempotency-Key"

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := `{"bin_id":"` + adsBIN + `","amount":100}`
	first := s.post("/api/v1/cards", body, idempotencyKey, "k1").ok(201)
	if first.header.Get("Idempotent-Replayed") != "" {
		t.Error("the first answer says that it is a replay")
	}
	again := s.post("/api/v1/cards", body, idempotencyKey, "k1").ok(201)
	if again.raw != first.raw || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the second answer is %s with %v", again.raw, again.header)
	}
	s.post("/api/v1/cards", `{"bin_id":"`+adsBIN+`","amount":101}`, idempotencyKey, "k1").refused(400, "idempotency_key_reused", "")
	if got := s.wallet(); got != "9899.00" {
		t.Errorf("the wallet holds %s: one card was to be issued", got)
	}

	id := first.text("id")
	s.post("/api/v1/cards/"+id+"/fund", `{"amount":5}`, idempotencyKey, "k1").ok(200) // another path
	s.post("/api/v1/cards/"+id+"/fund", `{"amount":5}`, idempotencyKey, "k2").ok(200) // another key
	if got := s.get("/api/v1/cards/" + id).text("balance"); got != "110.00" {
		t.Errorf("the card holds %s", got)
	}
	ended := s.call(http.MethodDelete, "/api/v1/cards/"+id, "", idempotencyKey, "k3").ok(200)
	if s.call(http.MethodDelete, "/api/v1/cards/"+id, "", idempotencyKey, "k3").ok(200).raw != ended.raw {
		t.Error("the termination was not replayed")
	}
	s.post("/api/v1/cards", body, idempotencyKey, strings.Repeat("k", 256)).refused(400, "invalid_request", idempotencyKey)
	s.balanced()
}

func TestIdempotencyKeyForgetsRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.issue("50")
	path := "/api/v1/cards/" + id + "/withdraw"
	s.post(path, `{"amount":60}`, idempotencyKey, "k").refused(400, "insufficient_card_balance", "")
	s.post("/api/v1/cards/"+id+"/fund", `{"amount":10}`).ok(200)
	if a := s.post(path, `{"amount":60}`, idempotencyKey, "k").ok(200); a.header.Get("Idempotent-Replayed") != "" {
		t.Error("a refusal was stored")
	}
}

func TestIdempotencyKeyOfAnotherAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.as(s.post("/_sandbox/accounts", `{"state":"ready","initial_balance":500}`).text("api_key"))
	body := `{"bin_id":"` + adsBIN + `","amount":100}`
	mine := s.post("/api/v1/cards", body, idempotencyKey, "k").ok(201)
	if theirs := other.post("/api/v1/cards", body, idempotencyKey, "k").ok(201); theirs.text("id") == mine.text("id") {
		t.Error("another account's answer was replayed")
	}
}

func TestIdempotencyKeyExpires(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	body := `{"bin_id":"` + adsBIN + `","amount":100}`
	first := s.post("/api/v1/cards", body, idempotencyKey, "k").ok(201)
	s.post("/_sandbox/clock", `{"advance":"23h59m59s"}`).ok(200)
	if s.post("/api/v1/cards", body, idempotencyKey, "k").ok(201).text("id") != first.text("id") {
		t.Error("forgotten within 24 hours")
	}
	s.post("/_sandbox/clock", `{"advance":"1s"}`).ok(200)
	if s.post("/api/v1/cards", body, idempotencyKey, "k").ok(201).text("id") == first.text("id") {
		t.Error("replayed after 24 hours")
	}
}

// Thirty calls with one key at the same moment, to one service or to two on one
// file: one effect, and one answer for all.
func TestIdempotencyKeyManyAtOnce(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: sandbox.DefaultInitialBalance}
	one, stopOne := serveFile(t, o)
	defer stopOne()
	two, stopTwo := serveFile(t, o)
	defer stopTwo()
	one.unlimited()
	id := one.issue("50")
	one.post("/api/v1/cards/"+id+"/freeze", "").ok(200)
	ended := one.issue("50")
	for services, list := range map[string][]*service{"one": {one, one}, "two": {one, two}} {
		for name, c := range map[string][3]string{
			"create":    {"POST", "/cards", `{"bin_id":"` + adsBIN + `","amount":60}`},
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
				group   sync.WaitGroup
				mu      sync.Mutex
				answers = map[string]int{}
				fresh   int
			)
			for i := range 30 {
				group.Go(func() {
					a := list[i%2].call(c[0], "/api/v1"+c[1], c[2], idempotencyKey, services+name)
					mu.Lock()
					defer mu.Unlock()
					answers[fmt.Sprint(a.status, a.raw)]++
					if a.header.Get("Idempotent-Replayed") == "" {
						fresh++
					}
				})
			}
			group.Wait()
			if len(answers) != 1 || fresh != 1 {
				t.Errorf("%s, %s: %d of 30 answers are no replay; they are %v", services, name, fresh, answers)
			}
		}
	}
	if got := two.get("/api/v1/cards/" + id).text("balance"); got != "58.00" {
		t.Errorf("the card holds %s after two funds of 7 and two withdrawals of 3", got)
	}
	if got := two.get("/api/v1/cards").text("total"); got != "4" {
		t.Errorf("%s cards, want four", got)
	}
	two.balanced()
}
