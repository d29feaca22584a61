package modeltest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// player makes random calls on an account.
type player struct {
	*fixture
	*account

	caller  *sandboxtest.Client
	history []string
	last    *write
}

// write is a call that was answered with a success under an idempotency key.
type write struct {
	method, path, body, key, raw string
	at                           time.Time
}

func (f *fixture) newPlayer(key string, wallet cents) *player {
	return &player{
		fixture: f, account: &account{world: f.world, wallet: wallet, deposited: -wallet}, caller: f.server.As(key),
	}
}

// call makes a call, whose body is what is sent as JSON, or nil, and fails the
// test unless it ends as the model says.
func (p *player) call(method, path string, body any, want response) {
	text := ""
	if body != nil {
		encoded := sandboxtest.Must(json.Marshal(body))
		text = string(encoded)
	}
	key, replayed := "", false
	if method != http.MethodGet && strings.HasPrefix(path, api) && p.rng.IntN(3) > 0 {
		key = fmt.Sprint("key-", p.calls)
	}
	if key != "" && want.status != http.StatusBadRequest && p.rng.IntN(10) == 0 { // which a fault would hide from the contract
		replayed = p.fault(method, path, text, key, want)
	}
	r := p.send(method, path, text, key)
	p.judge(r, path, want)
	if r.Replayed() != replayed {
		p.fail("replayed is %v, want %v", r.Replayed(), replayed)
	}
	if key != "" && want.succeeds() {
		p.last = &write{method, path, text, key, r.Raw, p.now}
	}
	if method != http.MethodGet {
		p.checkLedger()
	}
}

func (p *player) judge(r sandboxtest.Response, path string, want response) {
	notation := p.quirks["amounts"]
	if strings.HasPrefix(path, control) {
		notation = "decimals"
	}
	if r.Err != nil || r.Status != want.status {
		p.fail("answered %d %s %v, want %d %v", r.Status, r.Raw, r.Err, want.status, want.body)
	}
	if d := difference("body", want.body, r.Body, notation); d != "" {
		p.fail("%s: answered %s", d, r.Raw)
	}
	for field, what := range map[string]string{"error": "error ", "decline_reason": "decline "} {
		if text, given := r.Body[field].(string); given {
			p.see(what + text)
		}
	}
}

// fault sets a fault for a call, makes the call, and sees it fail. It tells whether the call
// has had its effect, so that the next one only repeats the response.
func (p *player) fault(method, path, body, key string, want response) (done bool) {
	when := "before"
	if p.rng.IntN(2) == 0 && p.quirks["idempotency"] != "ignored" {
		when = "after"
	}
	thens := []string{`{"status":429}`, `{"status":429,"body":{"error":"rate_limited","message":"injected"}}`}
	if p.quirky {
		thens = []string{`{"status":503}`, `{"status":502,"body":"<html>bad gateway</html>"}`}
	}
	if body != "" {
		thens = append(thens, `"drop"`, `"truncate"`)
	}
	then := oneOf(p.fixture, thens...)
	order := fmt.Sprintf(`{"method":%q,"path":%q,"times":1,"when":%q,"then":%s}`, method, strings.TrimPrefix(path, api), when, then)
	if r := p.send(http.MethodPost, control+"/faults", order, ""); r.Status != http.StatusCreated {
		p.fail("a fault could not be set: %s", r.Raw)
	}
	r := p.send(method, path, body, key)
	if cut := strings.HasPrefix(then, `"`); cut && r.Err == nil || !cut && r.Status < http.StatusBadRequest {
		p.fail("with the fault %s, got %d %s %v", order, r.Status, r.Raw, r.Err)
	}
	p.see("fault " + when + " " + then)
	return when == "after" && want.succeeds()
}

// repeat sends the last call with its key again, sometimes with another body.
func (p *player) repeat() bool {
	last := p.last
	if last == nil || p.quirks["idempotency"] == "ignored" || !p.now.Before(last.at.Add(24*time.Hour)) {
		return false
	}
	if last.body != "" && p.rng.IntN(2) == 0 {
		p.judge(p.send(last.method, last.path, last.body+" ", last.key), last.path, refused(http.StatusBadRequest, "idempotency_key_reused"))
		return true
	}
	if r := p.send(last.method, last.path, last.body, last.key); r.Raw != last.raw || !r.Replayed() {
		p.fail("repeated, got %s (replayed: %v), want %s", r.Raw, r.Replayed(), last.raw)
	}
	p.see("repeated")
	p.checkLedger()
	return true
}

// everybodys are the control calls that change what every account meets, for which
// the first account's key is needed.
var everybodys = []string{control + "/clock", control + "/limits", control + "/quirks", control + "/faults"}

// send makes a call and records it, as the service's own log should.
func (p *player) send(method, path, body, key string) sandboxtest.Response {
	p.calls++
	c := p.caller
	if method != http.MethodGet && slices.Contains(everybodys, path) {
		c = c.As(p.server.Key)
	}
	if key != "" {
		c = c.WithoutRetries()
	}
	r := c.Send(p.t.Context(), method, path, body, sandboxtest.IdempotencyKey, key)
	p.history = append(p.history, fmt.Sprintf("%s %s %s %s → %d %v", method, path, body, key, r.Status, r.Err))
	if within, isAPI := strings.CutPrefix(path, api); isAPI {
		at, query, _ := strings.Cut(within, "?")
		entry := object{
			"method": method, "path": at, "query": query, "status": r.Status, "idempotency_key": nil, "replayed": r.Replayed(),
			"time": stamp(p.now), "run": "", "duration_ms": anything{}, "error": anything{}, "fault": anything{},
			"card_id": anything{}, "wallet": anything{}, "fee": anything{}, "message": anything{},
		}
		if key != "" {
			entry["idempotency_key"] = key
		}
		p.requests = append(p.requests, entry)
	}
	return r
}

// fail ends the test and tells how it came to this.
func (p *player) fail(format string, values ...any) {
	recent := p.history[max(0, len(p.history)-25):]
	p.t.Fatalf("at %s: %s\nthe last calls:\n%s", stamp(p.now), fmt.Sprintf(format, values...), strings.Join(recent, "\n"))
}

// checkLedger compares the ledger with the model.
func (p *player) checkLedger() {
	r := p.send(http.MethodGet, control+"/ledger", "", "")
	got := object{}
	for _, line := range r.Body["accounts"].(list) {
		o, _ := line.(object)
		name, _ := o["name"].(string)
		got[name] = o["balance"]
	}
	if d := difference("ledger", p.ledger(), got, "decimals"); d != "" || r.Body["balanced"] != true {
		p.fail("%s: the ledger is %s", d, r.Raw)
	}
}
