package acctest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// verb is an event at the service or in the network.
type verb struct {
	usage       string
	least, most int // arguments, without flags
	do          func(s *script, o options, args []string) error
}

// authorization is a purchase that is authorized and not settled yet.
type authorization struct{ card, id string }

// options are the flags of verbs.
type options struct {
	times int    // number of calls that are affected; 0: all
	fee   string // fee of the service
	of    string // card of the purchase
	retry string // Retry-After of a response
}

const many = 99

// verbs are what `service` takes. CARD is a label, or the number in the order of issue; METHOD
// and PATH are a call of the API, where * stands for one part of the path, as in /cards/*/fund
// or /cards?status=frozen.
func verbs() map[string]verb {
	return map[string]verb{
		// What others do.
		"issue":     {"LABEL AMOUNT", 2, 2, (*script).issue},
		"fund":      {"CARD AMOUNT", 2, 2, byHand},
		"withdraw":  {"CARD AMOUNT", 2, 2, byHand},
		"freeze":    {"CARD", 1, 1, byHand},
		"unfreeze":  {"CARD", 1, 1, byHand},
		"terminate": {"CARD", 1, 1, byHand},
		"spend":     {"[-fee AMOUNT] CARD|all AMOUNT: is held on the card, or declined, which fails", 2, 2, (*script).spend},
		"settle":    {"[-of CARD] [-fee AMOUNT] [AMOUNT]: of the oldest purchase that is held, on the card", 0, 1, (*script).settle},
		"refund":    {"[AMOUNT]: of the purchase that was settled last", 0, 1, (*script).refund},
		"account":   {"NAME [STATE]: sets a variable to the key of another account, which is ready", 1, 2, (*script).account},
		"call":      {"METHOD PATH [BODY]: of the API, or below /_sandbox", 2, 3, (*script).call},

		// What the service is like.
		"quirk": {"NAME=VALUE…: as in /_sandbox/quirks", 1, many, (*script).quirk},
		"clock": {"DURATION|TIME: passes until then at the service, and for providers in the test's process", 1, 1, (*script).passes},
		"note":  {": the next lag shows what was read before as it is now", 0, 0, (*script).note},
		"lag":   {"READS|DURATION: so long, what was read before is read as it is now", 1, 1, (*script).lag},

		// What a call meets: the next one, or as many as -times says, where 0 is all.
		"lose":   {"[-times N] METHOD PATH: the service gets it, its answer is lost", 2, 2, meets(true, drop)},
		"drop":   {"[-times N] METHOD PATH: the service does not get it, nothing answers", 2, 2, meets(false, drop)},
		"hold":   {"[-times N] METHOD PATH: nothing answers, the service gets it by `service release`", 2, 2, meets(false, hold)},
		"refuse": {"[-times N] METHOD PATH CODE MESSAGE: the service answers 400", 4, 4, meets(false, refuse)},
		"answer": {"[-times N] [-retry-after SECONDS] METHOD PATH STATUS BODY: something on the way answers", 4, 4, meets(false, answer)},
		"garble": {"[-times N] METHOD PATH STATUS BODY: the service gets it, something else answers", 4, 4, meets(true, answer)},
		"show":   {"[-times N] METHOD PATH FIELD=VALUE…: it is answered with other fields of a card", 3, many, meets(true, show)},
		"during": {"[-times N] METHOD PATH VERB ARGS…: a verb, just before the service gets it", 3, many, (*script).during},

		// What the run meets when the call, or the last of -times calls, is made during apply.
		"kill":          {"[-times N] before|after METHOD PATH: ends CLI and provider, before or after the service gets it", 3, 3, strikes},
		"kill-provider": {"[-times N] before|after METHOD PATH: ends the provider alone", 3, 3, strikes},
		"cancel":        {"before|after METHOD PATH: interrupts the CLI until it ends", 3, 3, strikes},
		"interrupt":     {"METHOD PATH: interrupts the CLI once, after the answer", 2, 2, strikes},

		"release": {": the service gets the calls that were held", 0, 0, (*script).release},
		"clear":   {": calls meet nothing any more, and nothing lags", 0, 0, (*script).clear},
	}
}

// happens is the command `service`.
func (s *script) happens(args []string) error {
	one, known := verbs()[args[0]]
	if !known {
		return usage("no verb %q", args[0])
	}
	o := options{times: 1}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.IntVar(&o.times, "times", 1, "")
	flags.StringVar(&o.fee, "fee", "0", "")
	flags.StringVar(&o.of, "of", "", "")
	flags.StringVar(&o.retry, "retry-after", "", "")
	if err := flags.Parse(args[1:]); err != nil || flags.NArg() < one.least || flags.NArg() > one.most {
		return usage("usage: service %s %s", args[0], one.usage)
	}
	return one.do(s, o, append(args[:1:1], flags.Args()...)) // the verb is the first of them
}

func (s *script) issue(_ options, args []string) error {
	return failure(s.service.Send(s.t.Context(), http.MethodPost, "/cards",
		fmt.Sprintf(`{"bin_id":%q,"label":%q,"amount":%s}`, sandboxtest.BIN, args[1], args[2])))
}

// byHand moves money, freezes, unfreezes or terminates a card outside of Terraform.
func byHand(s *script, _ options, args []string) error {
	id, err := s.id(args[1])
	if err != nil {
		return err
	}
	if args[0] == "terminate" {
		return failure(s.service.Send(s.t.Context(), http.MethodDelete, "/cards/"+id, nil))
	}
	var body any
	if len(args) > 2 {
		body = fmt.Sprintf(`{"amount":%s}`, args[2])
	}
	return failure(s.service.Send(s.t.Context(), http.MethodPost, "/cards/"+id+"/"+args[0], body))
}

// failure returns an error if a request failed.
func failure(r sandboxtest.Response) error {
	if r.Err != nil || r.Status/100 != 2 {
		return fmt.Errorf("answered %d: %s %w", r.Status, r.Raw, r.Err)
	}
	return nil
}

func (s *script) spend(o options, args []string) error {
	if args[1] == "all" {
		all := s.all()
		for i, card := range all {
			if card["status"] == "terminated" {
				continue
			}
			if err := s.spend(o, []string{args[0], strconv.Itoa(len(all) - i), args[2]}); err != nil {
				return err
			}
		}
		return nil
	}
	id, err := s.id(args[1])
	if err != nil {
		return err
	}
	const advertising = "7311"
	bought := s.service.Authorize(id, args[2], advertising, `"fee":`+o.fee)
	if reason := bought.Body["decline_reason"]; reason != nil {
		return fmt.Errorf("declined: %v", reason)
	}
	s.authorizations = append(s.authorizations, authorization{id, bought.Transaction()})
	return nil
}

func (s *script) settle(o options, args []string) error {
	var of string
	var err error
	if o.of != "" {
		of, err = s.id(o.of)
	}
	number := slices.IndexFunc(s.authorizations, func(one authorization) bool { return of == "" || one.card == of })
	if err != nil || number < 0 {
		return cmp.Or(err, usage("no such purchase is held"))
	}
	s.settlement = s.service.Settle(s.authorizations[number].id, optional(args), `"fee":`+o.fee).Transaction()
	s.authorizations = slices.Delete(s.authorizations, number, number+1)
	return nil
}

func (s *script) refund(_ options, args []string) error {
	s.service.Refund(s.settlement, optional(args)).Transaction()
	return nil
}

func optional(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[1]
}

func (s *script) call(_ options, args []string) error {
	var body any
	if len(args) > 3 {
		body = args[3]
	}
	return failure(s.service.Send(s.t.Context(), args[1], args[2], body))
}

func (s *script) account(_ options, args []string) error {
	state := cmp.Or(optional(args[1:]), "ready")
	s.ts.Setenv(args[1], s.service.Post("/_sandbox/accounts", map[string]any{"state": state, "initial_balance": 10000}).Must().Text("api_key"))
	return nil
}

// network forwards requests between the provider and the service of a script, and injects faults.
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

// rule changes the outcome of calls.
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

// meets returns a verb that adds a rule for calls.
func meets(served bool, then func(*network, http.ResponseWriter, *http.Request, *rule, sandboxtest.Response)) func(*script, options, []string) error {
	return func(s *script, o options, args []string) error {
		return s.net.add(&rule{method: args[1], path: args[2], left: cmp.Or(o.times, -1), served: served, args: args[3:], retry: o.retry, then: then})
	}
}

func (s *script) during(o options, args []string) error {
	return s.net.add(&rule{method: args[1], path: args[2], left: cmp.Or(o.times, -1), during: args[3:]})
}

// strikes is a verb that kills or interrupts the run at a call. Except for an interrupt, the call
// never gets a response.
func strikes(s *script, o options, args []string) error {
	one := &rule{left: o.times, awaits: o.times, strike: args[0], due: make(chan struct{}), then: stall}
	if args[0] == "interrupt" {
		one.method = args[1]
		one.path = args[2]
		one.served = true
		one.then = pass
	} else {
		one.method = args[2]
		one.path = args[3]
		one.served = args[1] == "after"
		if !one.served && args[1] != "before" {
			return usage("before or after, not %q", args[1])
		}
	}
	return s.net.add(one)
}

// begin forgets the calls of the previous command.
func (n *network) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = nil
	n.applying = false
}

// hasStrike reports whether there is a strike for the next apply.
func (n *network) hasStrike() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.rules, func(one *rule) bool { return one.strike != "" && one.left > 0 })
}

// strike returns the strike for the current apply, and a channel that is closed when it is due.
func (n *network) strike() (string, <-chan struct{}) {
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

// made returns the number of matching calls of the last command, and the number of their idempotency keys.
func (n *network) made(method, path string) (calls, keys int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wanted := rule{method: method, path: path}
	different := map[string]bool{}
	for _, call := range n.calls {
		if wanted.is(call) {
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

// forward sends a call to the service, even if its caller has given up.
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

// strikes counts a call of a strike. The strike is due after the last one.
func (n *network) strikes(met *rule) {
	n.mu.Lock()
	defer n.mu.Unlock()
	met.awaits--
	if met.awaits == 0 {
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

// clock returns a response of the service, whose Date injected responses have, too.
func (n *network) clock() sandboxtest.Response { return n.script.service.Get("/_sandbox/clock") }

// respond sends a response with the time and Retry-After of a response of the service.
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

// lag is a verb: for a while, reads return stale data.
func (s *script) lag(_ options, args []string) error {
	reads, notANumber := strconv.Atoi(args[1])
	d, err := time.ParseDuration(args[1])
	if notANumber != nil && err != nil {
		return usageError{err}
	}
	n := s.net
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads = reads
	n.until = s.clock.Now().Add(d)
	n.older = n.noted
	n.noted = nil
	if n.older == nil {
		n.older = n.now()
	}
	if len(n.older) == 0 {
		return usage("lag needs an earlier read")
	}
	return nil
}

// note is a verb: the next lag returns the data of this moment.
func (s *script) note(options, []string) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.noted = s.net.now()
	return nil
}

// now repeats all earlier reads and returns their responses.
func (n *network) now() map[string]sandboxtest.Response {
	all := map[string]sandboxtest.Response{}
	for address, read := range n.read {
		all[address] = n.forward(read)
	}
	return all
}

// lags sends a stale response to a read if one is due, and reports whether it did.
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
	s.net.rules = nil
	s.net.older = nil
	s.net.reads = 0
	s.net.until = time.Time{}
	return nil
}
