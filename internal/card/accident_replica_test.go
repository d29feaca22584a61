package card_test

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// replica is a service whose reads lag behind its changes.
type replica struct {
	*acctest.Service
	of *teller

	mu     sync.Mutex
	seen   map[string]*http.Request // reads
	before map[string]sandboxtest.Response
	until  time.Time
	lag    time.Duration
}

// replica makes reads lag for a while behind each change that goes through it. With
// oldAnswers the responses to movements show the balance from before them too.
func (st *teller) replica(lag time.Duration, oldAnswers bool) *replica {
	p := &replica{of: st, lag: lag, seen: map[string]*http.Request{}, before: map[string]sandboxtest.Response{}}
	p.Service = st.s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.Method == http.MethodGet {
			now := forward(st.s, r)
			p.seen[r.URL.RequestURI()] = r.Clone(st.t.Context())
			if old, ok := p.before[r.URL.RequestURI()]; ok && st.clock.Now().Before(p.until) {
				relay(w, 0, now, old.Status, old.Raw)
			} else {
				relay(w, 0, now, now.Status, now.Raw)
			}
			return true
		}
		if p.lag > 0 {
			p.note()
		}
		moved := forward(st.s, r)
		p.until = st.clock.Now().Add(p.lag)
		if card := p.before[strings.TrimSuffix(strings.TrimSuffix(r.URL.Path, "/fund"), "/withdraw")]; oldAnswers && card.Status != 0 {
			old := regexp.MustCompile(`"balance":([^,}]+)`).FindStringSubmatch(card.Raw)[1]
			moved.Raw = regexp.MustCompile(`"card_balance":[^,}]+`).ReplaceAllString(moved.Raw, `"card_balance":`+old)
		}
		relay(w, 0, moved, moved.Status, moved.Raw)
		return true
	})
	return p
}

// note keeps what reads show now.
func (p *replica) note() {
	for uri, read := range p.seen {
		p.before[uri] = forward(p.of.s, read)
	}
}

func (p *replica) remember() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.note(); len(p.before) == 0 {
		p.of.t.Error("nothing was read yet")
	}
}

// lapse makes reads show for a while from now what is remembered.
func (p *replica) lapse(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = p.of.clock.Now().Add(d)
}
