package card_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What the tests of money share: a service and a workspace on one clock, runs that
// end badly, and networks that lie.

// money is a workspace whose provider, in this process, is told settings, and the
// service. Waits of the provider move the service's clock as well.
type money struct {
	t        *testing.T
	s        *acctest.Service
	w        cli
	clock    *acctest.Clock
	settings string
}

func newMoney(t *testing.T, idempotency, settings string, options ...contract.Option) *money {
	t.Helper()
	clock := new(acctest.Clock)
	m := &money{t: t, s: acctest.StartOn(t, clock, options...), w: newCLI(t, clock), clock: clock, settings: settings}
	if idempotency != "" {
		m.s.AddQuirks(object{"idempotency": idempotency})
	}
	m.through(m.s)
	return m
}

// onCLI takes the real CLI, for what core lacks.
func (m *money) onCLI() *money {
	m.t.Helper()
	m.w = acctest.NewWorkspace(m.t).On(m.clock)
	m.through(m.s)
	return m
}

func (m *money) through(s *acctest.Service) { through(m.w, s, m.settings) }

func (m *money) apply(lines string) string {
	m.t.Helper()
	return apply(m.w, oneCard(lines))
}

// plan returns the exit code and what was printed.
func (m *money) plan(lines string) (int, string) {
	m.t.Helper()
	m.w.Write("main.tf", oneCard(lines))
	return m.w.Run("plan", "-no-color")
}

// stops applies what must not move money now, and names what it found.
func (m *money) stops(lines string, balance usd.Amount, words ...string) {
	m.t.Helper()
	prints(m.t, applyFails(m.t, m.w, oneCard(lines)), words...)
	m.holds(balance)
}

// holds checks what the only card holds.
func (m *money) holds(balance usd.Amount) {
	m.t.Helper()
	if now := onlyCard(m.s); now.Balance != balance {
		m.t.Errorf("the card holds %s USD, want %s", now.Balance, balance)
	}
}

// spends makes a purchase that is settled, which no service's balance leaves out.
func (m *money) spends(amount string) {
	m.t.Helper()
	m.s.Settle(bought(m.s, onlyCard(m.s).ID, amount), "").OK(http.StatusCreated)
}

// passes lets time go by.
func (m *money) passes(d time.Duration) {
	m.t.Helper()
	if err := m.clock.Wait(m.t.Context(), d); err != nil {
		m.t.Fatal(err)
	}
}

// deaths are runs that core survives, or the provider does: what they leave is the
// state as it was, without what the provider keeps beside it.
var deaths = map[string]func(*acctest.Workspace, <-chan struct{}, ...string) (int, string){
	"the provider dies":  (*acctest.Workspace).RunUntilProviderDies,
	"cancelled for good": (*acctest.Workspace).RunUntilForced,
}

// dies applies until one of these. A CLI that was cancelled while it wrote its state
// leaves none or a part of it, and its user goes back to the one before.
func (m *money) dies(how string, due <-chan struct{}, config string) {
	m.t.Helper()
	w := m.w.(*acctest.Workspace)
	path := filepath.Join(w.Dir, "terraform.tfstate")
	before, _ := os.ReadFile(path)
	m.w.Write("main.tf", config)
	deaths[how](w, due, "apply", "-no-color", "-auto-approve")
	if after, err := os.ReadFile(path); err == nil && !json.Valid(after) {
		m.w.Write("terraform.tfstate", string(before))
		m.losePrivate()
	}
}

// killed kills the CLI and the provider in an apply, once it has moved money n times.
func (m *money) killed(lines string, n int64) {
	m.t.Helper()
	slow, due := stalled(m.s, n, "", all)
	m.through(slow)
	killed(m.w, due, oneCard(lines))
	m.through(m.s)
}

// losePrivate takes away what the provider keeps beside the state, as Terraform does
// when a provider dies.
func (m *money) losePrivate() {
	m.t.Helper()
	if c, ok := m.w.(*core); ok {
		for address, card := range c.state {
			card.Private = nil
			c.state[address] = card
		}
		return
	}
	changeState(m.t, m.w, func(instance map[string]any) { delete(instance, "private") })
}

// relay answers with the service's response, in another form.
func relay(w http.ResponseWriter, response sandboxtest.Response, status int, body string) {
	w.Header().Set("Date", response.Header.Get("Date"))
	answer(w, status, body)
}

// replica is a service whose reads lag behind its changes.
type replica struct {
	*acctest.Service
	m *money

	mu     sync.Mutex
	seen   map[string]*http.Request // reads
	before map[string]sandboxtest.Response
	until  time.Time
	lag    time.Duration
}

// replica makes reads lag for a while behind each change that goes through it. With
// oldAnswers the responses to movements show the balance from before them too.
func (m *money) replica(lag time.Duration, oldAnswers bool) *replica {
	p := &replica{m: m, lag: lag, seen: map[string]*http.Request{}, before: map[string]sandboxtest.Response{}}
	p.Service = m.s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.Method == http.MethodGet {
			now := forward(m.s, r)
			p.seen[r.URL.RequestURI()] = r.Clone(m.t.Context())
			if old, ok := p.before[r.URL.RequestURI()]; ok && m.clock.Now().Before(p.until) {
				relay(w, now, old.Status, old.Raw)
			} else {
				relay(w, now, now.Status, now.Raw)
			}
			return true
		}
		if p.lag > 0 {
			p.note()
		}
		moved := forward(m.s, r)
		p.until = m.clock.Now().Add(p.lag)
		if card := p.before[strings.TrimSuffix(strings.TrimSuffix(r.URL.Path, "/fund"), "/withdraw")]; oldAnswers && card.Status != 0 {
			old := regexp.MustCompile(`"balance":([^,}]+)`).FindStringSubmatch(card.Raw)[1]
			moved.Raw = regexp.MustCompile(`"card_balance":[^,}]+`).ReplaceAllString(moved.Raw, `"card_balance":`+old)
		}
		relay(w, moved, moved.Status, moved.Raw)
		return true
	})
	return p
}

// note keeps what reads show now.
func (p *replica) note() {
	for uri, read := range p.seen {
		p.before[uri] = forward(p.m.s, read)
	}
}

func (p *replica) remember() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.note(); len(p.before) == 0 {
		p.m.t.Error("nothing was read yet")
	}
}

// lapse makes reads show for a while from now what is remembered.
func (p *replica) lapse(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = p.m.clock.Now().Add(d)
}
