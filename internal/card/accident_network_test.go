package card_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// network is what lies between the provider and the service of a story.
type network struct {
	*acctest.Service
	to    *acctest.Service
	do    func(step string)
	due   chan struct{}
	ahead time.Duration

	mu    sync.Mutex
	rules []*rule
	calls []*http.Request // since they are counted
	late  *http.Request   // the last that was not let through
}

// rule is what becomes of a kind of call.
type rule struct {
	after, until string // the first call of this kind, such as POST:/fund
	method, path string // how the path ends; with * at its end, what it has in it
	times        int    // 0: always
	made         bool   // the service gets the call
	half         bool   // of every second call that is true
	due          bool   // a command that waits for it is to end now
	then, while  string

	met, stuck int
}

// on adds a rule: when it holds, the kind of call, what is done and in the end what
// is answered. The oldest rule that holds is followed.
//
//	[after CALL] [until CALL] METHOD PATH [xN] [made] [half] [due] ANSWER [while STEP]
//
// An answer is pass, drop, stall, limit SECONDS, replace OLD NEW …, asks OLD NEW … (in the request), or a status with a
// body, which may be the code and the message of an error.
func (n *network) on(text string) {
	added := &rule{}
	text, added.while, _ = strings.Cut(text, " while ")
	word := func() (first string) {
		first, text, _ = strings.Cut(text, " ")
		return first
	}
	for added.then == "" {
		switch next := word(); {
		case next == "after":
			added.after = word()
		case next == "until":
			added.until = word()
		case added.method == "":
			added.method, added.path = next, word()
		case next == "made":
			added.made = true
		case next == "half":
			added.half = true
		case next == "due":
			added.due = true
		case strings.HasPrefix(next, "x"):
			added.times, _ = strconv.Atoi(next[1:])
		default:
			added.then = strings.TrimSpace(next + " " + text)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = append(n.rules, added)
}

func (n *network) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules, n.due = nil, make(chan struct{})
}

func (n *network) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = nil
}

func isKind(r *http.Request, method, path string) bool {
	if method != "*" && r.Method != method {
		return false
	}
	part, anywhere := strings.CutSuffix(path, "*")
	return anywhere && strings.Contains(r.URL.Path, part) || strings.HasSuffix(r.URL.Path, path)
}

// came tells whether a call of a kind came, such as POST:/fund.
func (n *network) came(kind string) bool {
	method, path, _ := strings.Cut(kind, ":")
	return slices.ContainsFunc(n.calls, func(call *http.Request) bool { return isKind(call, method, path) })
}

// rule is the one that a call meets, and how many met it before.
func (n *network) rule(r *http.Request) (met *rule, before int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.rules {
		begun, over := one.after == "" || n.came(one.after), one.until != "" && n.came(one.until)
		if begun && !over && isKind(r, one.method, one.path) && (one.times == 0 || one.met < one.times) {
			met, before = one, one.met
			one.met++
			break
		}
	}
	n.calls = append(n.calls, r)
	if met != nil && (met.then == "drop" || met.then == "stall" || n.late == nil && met.while == "late") {
		n.late = r
	}
	return met, before
}

func (n *network) handle(w http.ResponseWriter, r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	again := func() *http.Request {
		one := r.Clone(context.Background())
		one.Body = io.NopCloser(bytes.NewReader(body))
		return one
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	met, before := n.rule(again())
	if met == nil && n.ahead == 0 {
		return false
	}
	met = cmp.Or(met, &rule{then: "pass"})
	if asks, ok := strings.CutPrefix(met.then, "asks "); ok {
		body = []byte(strings.NewReplacer(strings.Fields(asks)...).Replace(string(body)))
		met = &rule{then: "pass"}
	}
	var response sandboxtest.Response
	if met.made && (!met.half || before%2 == 1) {
		response = forward(n.to, again())
	}
	if met.while != "" {
		n.do(met.while)
	}
	if response.Status == 0 && (met.then == "pass" || strings.HasPrefix(met.then, "replace")) {
		response = forward(n.to, again())
	}
	if met.due {
		defer close(n.due)
	}
	n.answer(w, r, met, response)
	return true
}

func (n *network) answer(w http.ResponseWriter, r *http.Request, met *rule, response sandboxtest.Response) {
	then, rest, _ := strings.Cut(met.then, " ")
	switch then {
	case "pass":
		relay(w, n.ahead, response, response.Status, response.Raw)
	case "replace":
		relay(w, n.ahead, response, response.Status, strings.NewReplacer(strings.Fields(rest)...).Replace(response.Raw))
	case "limit":
		w.Header().Set("Retry-After", rest)
		answer(w, http.StatusTooManyRequests, `{"error":"rate_limited","message":"slow down"}`)
	case "stall":
		n.mu.Lock()
		if met.stuck++; met.stuck == met.times {
			close(n.due)
		}
		n.mu.Unlock()
		<-r.Context().Done()
		fallthrough
	case "drop":
		panic(http.ErrAbortHandler)
	default:
		if rest != "" && !strings.ContainsAny(rest[:1], "{<") {
			code, message, _ := strings.Cut(rest, " ")
			rest = fmt.Sprintf(`{"error":%q,"message":%q}`, code, message)
		}
		status, err := strconv.Atoi(then)
		if err != nil {
			n.T.Error(err)
		}
		relay(w, n.ahead, response, status, rest)
	}
}

// relay answers in another form and by the service's clock, where the service was asked.
func relay(w http.ResponseWriter, ahead time.Duration, response sandboxtest.Response, status int, body string) {
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		w.Header().Set("Date", date.Add(ahead).Format(http.TimeFormat))
	}
	answer(w, status, body)
}

// sent checks how many calls of a kind were sent, and under how many keys:
//
//	METHOD PATH CALLS [KEYS]
func (n *network) sent(rest string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	want, calls, keys := strings.Fields(rest), 0, map[string]bool{}
	for _, call := range n.calls {
		if !isKind(call, want[0], want[1]) {
			continue
		}
		calls++
		key := call.Header.Get(sandboxtest.IdempotencyKey)
		if form, err := uuid.Parse(key); call.Method == http.MethodPost && (err != nil || form.String() != key || form.Version() != 4) {
			n.T.Errorf("%s has another form than random keys", key)
		}
		keys[key] = true
	}
	if want[2] != "any" && strconv.Itoa(calls) != want[2] || len(want) > 3 && strconv.Itoa(len(keys)) != want[3] {
		n.T.Errorf("%s %s was sent %d times under %d keys", want[0], want[1], calls, len(keys))
	}
}

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
