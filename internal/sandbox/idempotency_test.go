package sandbox_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// A key is one call's for a day: of its account, method and path. What was refused is
// forgotten. That responses are the same is for modeltest.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	s.play(s.populate(), `
		POST /cards/CARD/withdraw {"amount":60} # k → 400 "insufficient_card_balance"
		POST /cards/CARD/fund {"amount":10} # k → 200 "card_balance":63.00
		POST /cards/CARD/withdraw {"amount":60} # k → 200 "card_balance":3.00
		POST /cards/CARD/withdraw {"amount":60} # k → 200 "card_balance":3.00
		POST /cards/CARD/withdraw {"amount":61} # k → 400 "idempotency_key_reused"
		POST /cards/CARD/fund {"amount":10} # other → 200 "card_balance":13.00
		DELETE /cards/FROZEN # k → 200 "returned_to_wallet":50.00
		DELETE /cards/FROZEN # k → 200 "returned_to_wallet":50.00
		POST /cards/CARD/fund {"amount":1} # a-`+s.Key+` → 400 "invalid_request" & API key
		POST /cards/CARD/fund {"amount":1} # `+strings.Repeat("k", 256)+` → 400 "invalid_request" & X-Idempotency-Key
		POST /_sandbox/clock {"advance":"23h59m59s"} → 200
		POST /cards/CARD/fund {"amount":10} # other → 200 "card_balance":13.00
		POST /_sandbox/clock {"advance":"1s"} → 200
		POST /cards/CARD/fund {"amount":10} # other → 200 "card_balance":23.00`)
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":500}`).Text("api_key"))
	body := `{"bin_id":"` + sandboxtest.BIN + `","amount":100}`
	mine := s.Post("/cards", body, sandboxtest.IdempotencyKey, "k").OK(201)
	if theirs := other.Post("/cards", body, sandboxtest.IdempotencyKey, "k").OK(201); theirs.Text("id") == mine.Text("id") {
		t.Error("another account's response was replayed")
	}
}

// Thirty calls with one key at the same moment, to two services on one file: one
// effect, and one response for all.
func TestIdempotencyKeyManyAtOnce(t *testing.T) {
	t.Parallel()
	one := open(t)
	two := open(t, on(one.path))
	one.Unlimited()
	if one.Key != two.Key {
		t.Fatal("the keys differ")
	}
	id := one.Issue("50")
	one.Post("/api/v1/cards/"+id+"/freeze", "").OK(200)
	ended := one.Issue("50")
	for name, c := range map[string][3]string{
		"create":    {"POST", "/cards", `{"bin_id":"` + sandboxtest.BIN + `","amount":60}`},
		"fund":      {"POST", "/cards/" + id + "/fund", `{"amount":7}`},
		"withdraw":  {"POST", "/cards/" + id + "/withdraw", `{"amount":3}`},
		"unfreeze":  {"POST", "/cards/" + id + "/unfreeze", ``},
		"terminate": {"DELETE", "/cards/" + ended, ``},
		"webhook":   {"POST", "/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`},
	} {
		var (
			group     sync.WaitGroup
			mu        sync.Mutex
			responses = map[string]int{}
			fresh     int
		)
		for i := range 30 {
			group.Go(func() {
				a := []*service{one, two}[i%2].Call(c[0], "/api/v1"+c[1], c[2], sandboxtest.IdempotencyKey, name)
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
			t.Errorf("%s: %d of 30 responses are no replay; they are %v", name, fresh, responses)
		}
	}
	if got := two.Get("/api/v1/cards/" + id).Text("balance"); got != "54.00" {
		t.Errorf("the card holds %s after a fund of 7 and a withdrawal of 3", got)
	}
	if got := two.Get("/api/v1/cards").Text("total"); got != "3" {
		t.Errorf("%s cards, want three", got)
	}
	one.Advance("24h")
	if one.Get("/_sandbox/clock").Text("now")[:10] != two.Get("/_sandbox/clock").Text("now")[:10] {
		t.Error("the clocks differ")
	}
	two.Balanced()
}
