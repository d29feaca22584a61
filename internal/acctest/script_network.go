package acctest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// network is what lies between the provider and the service of a script.
type network struct {
	script *script
	world  sync.Mutex // held while a verb happens during a call

	mu       sync.Mutex
	rules    []*rule
	calls    []*http.Request // of the last command
	applying bool
	held     []*http.Request

	read  map[string]*http.Request        // what was read, by address
	older map[string]sandboxtest.Response // what is read instead
	noted map[string]sandboxtest.Response // for the next lag
	until time.Time                       // by the script's clock
	reads int                             // or so often
}

// rule is what becomes of calls.
type rule struct {
	method, path string
	left         int  // how many calls meet it; negative: all
	served       bool // the service gets the call first
	args         []string
	retry        string
	then         func(n *network, w http.ResponseWriter, r *http.Request, met *rule, response sandboxtest.Response)

	during []string      // a verb that happens, and the call goes on
	strike string        // what the run meets
	awaits int           // how many of its calls have to be before it strikes
	due    chan struct{} // closed when the last of them has been, and it is to
}

func (n *network) add(one *rule) error {
	if _, err := path.Match(one.path, "/"); err != nil || !strings.HasPrefix(one.path, "/") {
		return usage("a path begins with /: %q", one.path)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = append(n.rules, one)
	return nil
}

func (r *rule) is(call *http.Request) bool {
	pattern, query, _ := strings.Cut(r.path, "?")
	name, value, _ := strings.Cut(query, "=")
	matched, _ := path.Match(pattern, strings.TrimPrefix(call.URL.Path, "/api/v1"))
	return matched && r.method == call.Method && call.URL.Query().Get(name) == value
}

// meets is a verb by which calls meet a rule.
func meets(served bool, then func(*network, http.ResponseWriter, *http.Request, *rule, sandboxtest.Response)) func(*script, options, []string) error {
	return func(s *script, o options, args []string) error {
		return s.net.add(&rule{method: args[1], path: args[2], left: cmp.Or(o.times, -1), served: served, args: args[3:], retry: o.retry, then: then})
	}
}

func (s *script) during(o options, args []string) error {
	return s.net.add(&rule{method: args[1], path: args[2], left: cmp.Or(o.times, -1), during: args[3:]})
}

// strikes is a verb by which the run meets something. But for an interrupt, the call
// is never answered.
func strikes(s *script, o options, args []string) error {
	one := &rule{left: o.times, awaits: o.times, strike: args[0], due: make(chan struct{}), then: stall}
	if args[0] == "interrupt" {
		one.method, one.path, one.served, one.then = args[1], args[2], true, pass
	} else {
		one.method, one.path, one.served = args[2], args[3], args[1] == "after"
		if !one.served && args[1] != "before" {
			return usage("before or after, not %q", args[1])
		}
	}
	return s.net.add(one)
}

// begin forgets the calls of the command before.
func (n *network) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls, n.applying = nil, false
}

// strike is what the command that applies is to meet, and when.
func (n *network) strike() (how string, due <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.applying = true
	for _, one := range n.rules {
		if one.strike != "" && one.left > 0 {
			return one.strike, one.due
		}
	}
	return "", nil
}

// made counts the calls of the last command, and their keys.
func (n *network) made(method, path string) (calls, keys int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of, different := rule{method: method, path: path}, map[string]bool{}
	for _, call := range n.calls {
		if of.is(call) {
			calls++
			different[call.Header.Get(sandboxtest.IdempotencyKey)] = true
		}
	}
	return calls, len(different)
}

// met notes a call, and takes what it meets: verbs, and at most one rule that answers.
func (n *network) met(call *http.Request) (during []*rule, answers *rule) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, call)
	for _, one := range n.rules {
		if one.left == 0 || !one.is(call) || one.strike != "" && !n.applying || one.during == nil && answers != nil {
			continue
		}
		one.left--
		if one.during == nil {
			answers = one
		} else {
			during = append(during, one)
		}
	}
	return during, answers
}

func (n *network) handle(w http.ResponseWriter, r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	during, met := n.met(r)
	for _, one := range during {
		n.world.Lock()
		if err := n.script.happens(one.during); err != nil {
			n.script.t.Errorf("service %s: %v", strings.Join(one.during, " "), err)
		}
		n.world.Unlock()
	}
	if met == nil {
		return r.Method == http.MethodGet && n.lags(w, r)
	}
	var response sandboxtest.Response
	if met.served {
		response = n.forward(r)
	}
	met.then(n, w, r, met, response)
	if met.strike == "interrupt" {
		n.strikes(met)
	}
	return true
}

// forward lets the service have a call, also when its caller has gone.
func (n *network) forward(call *http.Request) sandboxtest.Response {
	service := n.script.service
	address := service.Root() + call.URL.RequestURI()
	request, err := http.NewRequestWithContext(context.WithoutCancel(call.Context()), call.Method, address, call.Body) //nolint:gosec // of the sandbox
	if err != nil {
		n.script.t.Error(err)
	}
	request.Header = call.Header.Clone()
	return service.Do(request)
}

// What may become of a call.

func pass(_ *network, w http.ResponseWriter, _ *http.Request, _ *rule, response sandboxtest.Response) {
	respond(w, response, response.Status, response.Raw)
}

func drop(*network, http.ResponseWriter, *http.Request, *rule, sandboxtest.Response) {
	panic(http.ErrAbortHandler)
}

func hold(n *network, _ http.ResponseWriter, r *http.Request, _ *rule, _ sandboxtest.Response) {
	n.mu.Lock()
	n.held = append(n.held, r)
	n.mu.Unlock()
	panic(http.ErrAbortHandler)
}

// strikes lets the run meet what it is to after the last of these calls.
func (n *network) strikes(met *rule) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if met.awaits--; met.awaits == 0 {
		close(met.due)
	}
}

func stall(n *network, _ http.ResponseWriter, r *http.Request, met *rule, _ sandboxtest.Response) {
	n.strikes(met)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

func refuse(n *network, w http.ResponseWriter, _ *http.Request, met *rule, _ sandboxtest.Response) {
	respond(w, n.clock(), http.StatusBadRequest, fmt.Sprintf(`{"error":%q,"message":%q}`, met.args[0], met.args[1]))
}

func answer(n *network, w http.ResponseWriter, _ *http.Request, met *rule, _ sandboxtest.Response) {
	status, err := strconv.Atoi(met.args[0])
	if err != nil {
		n.script.t.Error(err)
	}
	if met.retry != "" {
		w.Header().Set("Retry-After", met.retry)
	}
	respond(w, n.clock(), status, met.args[1])
}

func show(n *network, w http.ResponseWriter, _ *http.Request, met *rule, response sandboxtest.Response) {
	for _, field := range met.args {
		name, value, _ := strings.Cut(field, "=")
		response.Body[name] = value
		if json.Valid([]byte(value)) {
			response.Body[name] = json.RawMessage(value)
		}
	}
	body, err := json.Marshal(response.Body)
	if err != nil {
		n.script.t.Error(err)
	}
	respond(w, response, response.Status, string(body))
}

func delay(n *network, w http.ResponseWriter, r *http.Request, met *rule, _ sandboxtest.Response) {
	d, err := time.ParseDuration(met.args[0])
	if err != nil {
		n.script.t.Error(err)
	}
	<-time.After(d)
	response := n.forward(r)
	respond(w, response, response.Status, response.Raw)
}

// clock is a response of the service, whose time others' answers bear too.
func (n *network) clock() sandboxtest.Response { return n.script.service.Get("/_sandbox/clock") }

// respond answers at the time of a response of the service.
func respond(w http.ResponseWriter, of sandboxtest.Response, status int, body string) {
	for _, name := range []string{"Date", "Retry-After"} {
		if value := of.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	if strings.HasPrefix(body, "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// lag is a verb: a replica answers reads for a while.
func (s *script) lag(_ options, args []string) error {
	reads, notANumber := strconv.Atoi(args[1])
	d, err := time.ParseDuration(args[1])
	if notANumber != nil && err != nil {
		return usageError{err}
	}
	n := s.net
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads, n.until, n.older, n.noted = reads, s.clock.Now().Add(d), n.noted, nil
	if n.older == nil {
		n.older = n.now()
	}
	if len(n.older) == 0 {
		return usage("nothing was read yet that could lag")
	}
	return nil
}

// note is a verb: the next lag is from now on.
func (s *script) note(options, []string) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.noted = s.net.now()
	return nil
}

// now is what was read before, as it is read now.
func (n *network) now() map[string]sandboxtest.Response {
	all := map[string]sandboxtest.Response{}
	for address, read := range n.read {
		all[address] = n.forward(read)
	}
	return all
}

// lags answers what a replica does, if one answers.
func (n *network) lags(w http.ResponseWriter, read *http.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	address := read.URL.RequestURI()
	old, known := n.older[address]
	if n.read == nil {
		n.read = map[string]*http.Request{}
	}
	n.read[address] = read
	if !known || n.reads <= 0 && !n.script.clock.Now().Before(n.until) {
		return false
	}
	n.reads--
	respond(w, n.forward(read), old.Status, old.Raw)
	return true
}

func (s *script) release(options, []string) error {
	s.net.mu.Lock()
	held := s.net.held
	s.net.held = nil
	s.net.mu.Unlock()
	if len(held) == 0 {
		return usage("no call was held")
	}
	for _, call := range held {
		if response := s.net.forward(call); response.Status/100 != 2 {
			return fmt.Errorf("the late call was answered %d: %s", response.Status, response.Raw)
		}
	}
	return nil
}

func (s *script) clear(options, []string) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.rules, s.net.older, s.net.reads, s.net.until = nil, nil, 0, time.Time{}
	return nil
}
