package modeltest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

const (
	api     = "/api/v1"
	control = "/_sandbox"
)

// client makes random calls. It works alone on its cards; its
// account it may have for itself, or share with the others.
type client struct {
	*fixture

	id      int
	rng     *rand.Rand
	account *account
	caller  *sandboxtest.Client

	cards        []*card
	transactions []*transaction // that it caused
	deposits     []*deposit     // of the account, when that is not shared
	common       *card          // everybody's, in a shared account

	calls   int
	history []string
	last    *write
}

// write is a call that was answered with a success under an idempotency key.
type write struct {
	step step
	key  string
	raw  string
	at   time.Time
}

// step is a call with its expectation.
type step struct {
	method, path, body string
	want               func() outcome
	faults             odds // of an injected fault; of nothing but calls that nobody else makes
}

type odds int

const (
	never odds = iota
	sometimes
	surely
)

func (s step) isAPI() bool { return strings.HasPrefix(s.path, api) }

func (s step) writes() bool { return s.method != http.MethodGet }

// makeMoves makes some random moves and looks at the ledger after each.
func (p *client) makeMoves(moves int) {
	for range moves {
		if p.broken.Load() {
			return
		}
		p.move()
		p.checkLedger()
	}
}

func (p *client) move() {
	if p.rng.IntN(12) == 0 && p.repeat() {
		return
	}
	for {
		if s, possible := p.pick(); possible {
			p.perform(s)
			return
		}
	}
}

// perform makes a call, compares its response with the model, and changes the
// model as the service should have changed.
func (p *client) perform(s step) {
	p.account.mu.Lock()
	o := s.want()
	p.account.mu.Unlock()
	key := ""
	if s.faults == surely || (s.writes() && s.isAPI() && p.rng.IntN(3) > 0) {
		key = fmt.Sprintf("%s-%d-%d", p.part, p.id, p.calls)
	}
	replayed := false
	if s.faults == surely || (key != "" && s.faults == sometimes && p.rng.IntN(10) == 0) {
		replayed = p.injectFault(s, o, key)
	}
	r := p.send(s, key)
	differences := judge(r, o, p.model.notation(s.path))
	if r.Err == nil && r.Replayed() != replayed {
		differences = append(differences, fmt.Sprintf("replayed is %v, want %v", r.Replayed(), replayed))
	}
	if len(differences) > 0 {
		p.fail(append(differences, "answered "+r.Raw)...)
		return
	}
	p.seen.observe(r)
	if o.commit != nil {
		p.account.mu.Lock()
		o.commit(r.Body)
		p.account.mu.Unlock()
	}
	if key != "" && o.code == "" {
		p.last = &write{s, key, r.Raw, p.model.now}
	}
}

// injectFault sets a fault for a call, makes the call, and sees it fail. It tells
// whether the call has had its effect, so that the next one only repeats the
// response.
func (p *client) injectFault(s step, o outcome, key string) (done bool) {
	when := "before"
	if p.rng.IntN(2) == 0 && p.model.quirks.Idempotency != "ignored" {
		when = "after"
	}
	thens := slices.Clone(p.refusals)
	if s.body != "" {
		thens = append(thens, `"drop"`, `"truncate"`)
	}
	then := thens[p.rng.IntN(len(thens))]
	fault := fmt.Sprintf(`{"method":%q,"path":%q,"times":1,"when":%q,"then":%s}`, s.method, strings.TrimPrefix(s.path, api), when, then)
	if r := p.send(step{method: http.MethodPost, path: control + "/faults", body: fault}, ""); r.Status != http.StatusCreated {
		p.fail("a fault could not be set: " + r.Raw)
	}
	r := p.send(s, key)
	if cut := strings.HasPrefix(then, `"`); r.Status != 0 && r.Status < 400 && !cut || cut && r.Err == nil {
		p.fail(fmt.Sprintf("with the fault %s, got %d %s %v", fault, r.Status, r.Raw, r.Err))
	}
	p.seen.add("fault " + when + " " + then)
	return when == "after" && o.code == ""
}

// repeat sends the last call with its key again, sometimes with another body.
func (p *client) repeat() bool {
	last := p.last
	if last == nil || p.model.quirks.Idempotency == "ignored" || !p.model.now.Before(last.at.Add(24*time.Hour)) {
		return false
	}
	s := last.step
	if s.body != "" && p.rng.IntN(2) == 0 {
		s.body += " "
		if d := judge(p.send(s, last.key), refused("idempotency_key_reused"), ""); len(d) > 0 {
			p.fail(d...)
		}
		return true
	}
	p.seen.add("repeated")
	if r := p.send(s, last.key); r.Raw != last.raw || !r.Replayed() {
		p.fail(fmt.Sprintf("repeated, got %s (replayed: %v), want %s", r.Raw, r.Replayed(), last.raw))
	}
	return true
}

// everybodys are the control calls that change what every account meets, for which
// the first account's key is needed.
var everybodys = regexp.MustCompile(`/(clock|limits|quirks|faults)$`)

// send makes a call and records it, as the service's own log should.
func (p *client) send(s step, key string) sandboxtest.Response {
	p.calls++
	p.fixture.calls.Add(1)
	c := p.caller
	if strings.HasPrefix(s.path, control) && s.method != http.MethodGet && everybodys.MatchString(s.path) {
		c = c.As(p.server.Key)
	}
	if key != "" {
		c = c.Unrepeated()
	}
	r := c.Send(p.ctx, s.method, s.path, s.body, sandboxtest.IdempotencyKey, key)
	outcome := fmt.Sprint(r.Status)
	if r.Err != nil {
		outcome = r.Err.Error()
	}
	p.history = append(p.history, fmt.Sprintf("%s %s %s %s → %s", s.method, s.path, s.body, key, outcome))
	if s.isAPI() {
		p.noteRequest(s, key, r)
	}
	return r
}

func (p *client) noteRequest(s step, key string, r sandboxtest.Response) {
	path, query, _ := strings.Cut(strings.TrimPrefix(s.path, api), "?")
	entry := object{
		"method": s.method, "path": path, "query": query, "status": any(r.Status), "idempotency_key": nil, "replayed": r.Replayed(),
		"time": stamp(p.model.now), "run": "", "duration_ms": anything{}, "error": anything{}, "fault": anything{},
	}
	if key != "" {
		entry["idempotency_key"] = key
	}
	p.account.mu.Lock()
	defer p.account.mu.Unlock()
	p.account.requests = append(p.account.requests, entry)
}

// fail stops the test and tells how it came to this.
func (p *client) fail(differences ...string) {
	if !p.broken.CompareAndSwap(false, true) {
		return // the others find the same
	}
	recent := p.history[max(0, len(p.history)-25):]
	p.t.Errorf("%s: client %d at %s:\n%s\nits last calls:\n%s", p.name(), p.id, stamp(p.model.now),
		strings.Join(differences, "\n"), strings.Join(recent, "\n"))
}

// checkLedger compares the ledger with the model: all of it when the account is
// the client's own, else what others do not move.
func (p *client) checkLedger() {
	r := p.send(step{method: http.MethodGet, path: control + "/ledger"}, "")
	if r.Status != http.StatusOK || r.Body["balanced"] != true {
		p.fail("the ledger is not balanced: " + r.Raw)
		return
	}
	p.account.mu.Lock()
	ledger := p.account.ledger()
	p.account.mu.Unlock()
	if !p.account.shared {
		p.compareLedger(r, ledger)
		return
	}
	mine := map[string]cents{}
	for _, c := range p.cards {
		mine[c.id] = ledger[c.id]
	}
	p.compareLedger(r, mine)
}

// compareLedger fails unless the ledger holds these balances, and, in an account
// of one's own, no others.
func (p *client) compareLedger(r sandboxtest.Response, want map[string]cents) {
	lines, _ := r.Body["accounts"].(list)
	seen := 0
	for _, line := range lines {
		o, _ := line.(object)
		name, _ := o["name"].(string)
		balance, known := want[name]
		if !known && !p.account.shared {
			p.fail("the ledger has an account " + name)
		}
		if known {
			seen++
			if d := compare(name, balance, o["balance"], p.model.notation(control)); len(d) > 0 {
				p.fail(d...)
			}
		}
	}
	if seen != len(want) {
		p.fail(fmt.Sprintf("the ledger has %d of %d accounts: %s", seen, len(want), r.Raw))
	}
}
