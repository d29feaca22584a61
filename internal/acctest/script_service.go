package acctest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// verb is a subcommand of `service`: an event at the service, or a fault of the network.
type verb struct {
	usage            string
	minArgs, maxArgs int // without flags
	run              func(s *script, o options, args []string) error
}

// authorization is a purchase that is authorized and not settled yet.
type authorization struct{ card, id string }

// options are the flags of verbs.
type options struct {
	times      int    // the number of affected calls; 0 for all
	fee        string // the fee of the service, in USD
	card       string // the card of the purchase
	retryAfter string // Retry-After of a response, in seconds
}

const anyNumber = 99

// verbs returns the verbs of `service`. CARD is a label, or the number of the card in the order of issue. METHOD and
// PATH select calls of the API; * matches one part of the path, as in /cards/*/fund or /cards?status=frozen.
func verbs() map[string]verb {
	return map[string]verb{
		// Changes that others make.
		"issue":     {"LABEL AMOUNT", 2, 2, (*script).issue},
		"fund":      {"CARD AMOUNT", 2, 2, changeCard},
		"withdraw":  {"CARD AMOUNT", 2, 2, changeCard},
		"freeze":    {"CARD", 1, 1, changeCard},
		"unfreeze":  {"CARD", 1, 1, changeCard},
		"terminate": {"CARD", 1, 1, changeCard},
		"spend":     {"[-fee AMOUNT] CARD|all AMOUNT: authorizes a purchase; fails if it is declined", 2, 2, (*script).spend},
		"settle":    {"[-of CARD] [-fee AMOUNT] [AMOUNT]: settles the oldest authorization, or the oldest of a card", 0, 1, (*script).settle},
		"refund":    {"[AMOUNT]: refunds the last settlement", 0, 1, (*script).refund},
		"account":   {"NAME [STATE]: creates an account, ready by default, and sets a variable to its key", 1, 2, (*script).account},
		"call":      {"METHOD PATH [BODY]: calls the API, or a path below /_sandbox", 2, 3, (*script).call},

		// Behavior of the service.
		"quirk": {"NAME=VALUE…: sets quirks, as /_sandbox/quirks does", 1, anyNumber, (*script).quirk},
		"clock": {"DURATION|TIME: advances the time of the service and of providers in the test's process", 1, 1, (*script).advanceClock},
		"note":  {": records the data that the next lag serves", 0, 0, (*script).note},
		"lag":   {"READS|DURATION: serves stale data for so many reads, or for so long", 1, 1, (*script).lag},

		// Outcomes of calls: of the next one, or of as many as -times says, where 0 means all.
		"lose":   {"[-times N] METHOD PATH: the service processes the call, but its response is lost", 2, 2, afterService(drop)},
		"drop":   {"[-times N] METHOD PATH: the call does not reach the service, and there is no response", 2, 2, insteadOfService(drop)},
		"hold":   {"[-times N] METHOD PATH: there is no response; the call reaches the service at `service release`", 2, 2, insteadOfService(hold)},
		"refuse": {"[-times N] METHOD PATH CODE MESSAGE: the service responds with 400", 4, 4, insteadOfService(refuse)},
		"answer": {"[-times N] [-retry-after SECONDS] METHOD PATH STATUS BODY: another server responds", 4, 4, insteadOfService(answer)},
		"garble": {"[-times N] METHOD PATH STATUS BODY: the service processes the call, but another server responds", 4, 4, afterService(answer)},
		"show":   {"[-times N] METHOD PATH FIELD=VALUE…: the response shows other fields of a card", 3, anyNumber, afterService(show)},
		"during": {"[-times N] METHOD PATH VERB ARGS…: runs a verb just before the call reaches the service", 3, anyNumber, (*script).during},

		// Strikes: they end or interrupt programs at a call during apply, or at the last of -times calls.
		"kill":          {"[-times N] before|after METHOD PATH: kills the CLI and the provider, before or after the service processes the call", 3, 3, addStrike},
		"kill-provider": {"[-times N] before|after METHOD PATH: kills only the provider", 3, 3, addStrike},
		"cancel":        {"before|after METHOD PATH: interrupts the CLI until it ends", 3, 3, addStrike},
		"interrupt":     {"METHOD PATH: interrupts the CLI once, after the response", 2, 2, addStrike},

		"release": {": sends the held calls to the service", 0, 0, (*script).release},
		"clear":   {": removes all outcomes of calls and stale data", 0, 0, (*script).clear},
	}
}

// runVerb runs the command `service`.
func (s *script) runVerb(args []string) error {
	verb, ok := verbs()[args[0]]
	if !ok {
		return usage("no verb %q", args[0])
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.IntVar(&o.times, "times", 1, "")
	flags.StringVar(&o.fee, "fee", "0", "")
	flags.StringVar(&o.card, "of", "", "")
	flags.StringVar(&o.retryAfter, "retry-after", "", "")
	err := flags.Parse(args[1:])
	if err != nil || flags.NArg() < verb.minArgs || flags.NArg() > verb.maxArgs {
		return usage("usage: service %s %s", args[0], verb.usage)
	}
	return verb.run(s, o, slices.Concat(args[:1], flags.Args())) // args[0] stays the name of the verb
}

func (s *script) issue(_ options, args []string) error {
	return failure(s.service.Send(s.t.Context(), http.MethodPost, "/cards",
		fmt.Sprintf(`{"bin_id":%q,"label":%q,"amount":%s}`, sandboxtest.BIN, args[1], args[2])))
}

// changeCard moves money, freezes, unfreezes or terminates a card outside of Terraform.
func changeCard(s *script, _ options, args []string) error {
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
		return s.spendOnAll(o, args[2])
	}
	id, err := s.id(args[1])
	if err != nil {
		return err
	}
	return s.authorize(o, id, args[2])
}

// spendOnAll makes a purchase with each live card, newest first.
func (s *script) spendOnAll(o options, amount string) error {
	for _, card := range s.allCards() {
		if card["status"] == "terminated" {
			continue
		}
		err := s.authorize(o, fmt.Sprint(card["id"]), amount)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *script) authorize(o options, id, amount string) error {
	const advertising = "7311"
	purchase := s.service.Authorize(id, amount, advertising, `"fee":`+o.fee)
	reason := purchase.Body["decline_reason"]
	if reason != nil {
		return fmt.Errorf("declined: %v", reason)
	}
	s.authorizations = append(s.authorizations, authorization{id, purchase.Transaction()})
	return nil
}

func (s *script) settle(o options, args []string) error {
	card := "" // any
	if o.card != "" {
		id, err := s.id(o.card)
		if err != nil {
			return err
		}
		card = id
	}
	oldest := slices.IndexFunc(s.authorizations, func(a authorization) bool { return card == "" || a.card == card })
	if oldest < 0 {
		return usage("there is no such authorization")
	}
	s.settlement = s.service.Settle(s.authorizations[oldest].id, optional(args), `"fee":`+o.fee).Transaction()
	s.authorizations = slices.Delete(s.authorizations, oldest, oldest+1)
	return nil
}

func (s *script) refund(_ options, args []string) error {
	s.service.Refund(s.settlement, optional(args)).Transaction()
	return nil
}

// optional returns the argument after the name of the verb, or "".
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
	account := s.service.Post("/_sandbox/accounts", map[string]any{"state": state, "initial_balance": 10000}).Must()
	s.ts.Setenv(args[1], account.Text("api_key"))
	return nil
}

// network forwards requests between the provider and the service of a script, and injects faults.
type network struct {
	script   *script
	verbLock sync.Mutex // held while a verb runs during a call

	mu       sync.Mutex
	rules    []*rule
	calls    []*http.Request // of the last command
	applying bool
	held     []*http.Request

	// The data that stale reads serve. The keys are the addresses of reads.
	reads      map[string]*http.Request        // all reads so far
	noted      map[string]sandboxtest.Response // the data for the next lag
	stale      map[string]sandboxtest.Response // the data of the current lag
	staleReads int                             // how many reads are stale
	staleUntil time.Time                       // when reads stop being stale, by the script's clock
}

// rule changes the outcome of calls. It runs a verb, or it determines the response; such a rule may also have a strike.
type rule struct {
	method, path string
	left         int // the number of calls that it still applies to; negative for all

	during []string // a verb to run; the call then goes on

	served     bool // whether the service processes the call first
	respond    outcome
	args       []string
	retryAfter string

	strike string        // the name of the strike's verb
	awaits int           // the number of calls until the strike is due
	due    chan struct{} // closed when the strike is due
}

// outcome sends the response to a call that a rule applies to. The service's response is empty if the service has not
// processed the call.
type outcome func(n *network, w http.ResponseWriter, call *http.Request, rule *rule, response sandboxtest.Response)

func (n *network) add(rule *rule) error {
	_, err := path.Match(rule.path, "/")
	if err != nil || !strings.HasPrefix(rule.path, "/") {
		return usage("a path starts with /: %q", rule.path)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = append(n.rules, rule)
	return nil
}

// matchesCall reports whether a call has the method, the path and, if the pattern has one, the query parameter.
func matchesCall(call *http.Request, method, pattern string) bool {
	pattern, query, _ := strings.Cut(pattern, "?")
	name, value, _ := strings.Cut(query, "=")
	matched, _ := path.Match(pattern, strings.TrimPrefix(call.URL.Path, "/api/v1"))
	return matched && method == call.Method && call.URL.Query().Get(name) == value
}

// afterService returns a verb that determines the response to calls after the service has processed them.
func afterService(respond outcome) func(*script, options, []string) error {
	return func(s *script, o options, args []string) error {
		rule := newRule(o, args)
		rule.served = true
		rule.respond = respond
		return s.net.add(rule)
	}
}

// insteadOfService returns a verb that determines the response to calls that do not reach the service.
func insteadOfService(respond outcome) func(*script, options, []string) error {
	return func(s *script, o options, args []string) error {
		rule := newRule(o, args)
		rule.respond = respond
		return s.net.add(rule)
	}
}

// newRule returns a rule for the arguments VERB METHOD PATH ARGS….
func newRule(o options, args []string) *rule {
	return &rule{
		method:     args[1],
		path:       args[2],
		left:       cmp.Or(o.times, -1),
		args:       args[3:],
		retryAfter: o.retryAfter,
	}
}

func (s *script) during(o options, args []string) error {
	return s.net.add(&rule{method: args[1], path: args[2], left: cmp.Or(o.times, -1), during: args[3:]})
}

// addStrike is a verb that kills or interrupts programs at a call. Except for an interrupt, the call never gets a
// response.
func addStrike(s *script, o options, args []string) error {
	rule := &rule{left: o.times, awaits: o.times, strike: args[0], due: make(chan struct{})}
	if args[0] == "interrupt" {
		rule.method = args[1]
		rule.path = args[2]
		rule.served = true
		rule.respond = pass
		return s.net.add(rule)
	}
	if args[1] != "before" && args[1] != "after" {
		return usage("before or after, not %q", args[1])
	}
	rule.served = args[1] == "after"
	rule.method = args[2]
	rule.path = args[3]
	rule.respond = stall
	return s.net.add(rule)
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
	return slices.ContainsFunc(n.rules, (*rule).isPendingStrike)
}

// beginApply returns the strike for the apply that starts, and a channel that is closed when it is due.
func (n *network) beginApply() (string, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.applying = true
	next := slices.IndexFunc(n.rules, (*rule).isPendingStrike)
	if next < 0 {
		return "", nil
	}
	return n.rules[next].strike, n.rules[next].due
}

func (r *rule) isPendingStrike() bool { return r.strike != "" && r.left > 0 }

// countCalls returns the number of matching calls of the last command, and the number of their idempotency keys.
func (n *network) countCalls(method, path string) (calls, keys int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	different := map[string]bool{}
	for _, call := range n.calls {
		if matchesCall(call, method, path) {
			calls++
			different[call.Header.Get(sandboxtest.IdempotencyKey)] = true
		}
	}
	return calls, len(different)
}

// rulesFor records a call. It returns all rules that run a verb during it, and the first rule that determines its
// response, if any.
func (n *network) rulesFor(call *http.Request) (during []*rule, response *rule) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, call)
	for _, rule := range n.rules {
		if rule.left == 0 || !matchesCall(call, rule.method, rule.path) {
			continue
		}
		if rule.strike != "" && !n.applying {
			continue
		}
		if rule.during != nil {
			rule.left--
			during = append(during, rule)
		} else if response == nil {
			rule.left--
			response = rule
		}
	}
	return during, response
}

// handle handles a call that the provider sent. It reports whether it has sent the response; otherwise the call goes on
// to the service.
func (n *network) handle(w http.ResponseWriter, r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	during, rule := n.rulesFor(r)
	for _, d := range during {
		n.runDuring(d.during)
	}
	if rule == nil {
		return r.Method == http.MethodGet && n.serveStale(w, r)
	}
	var response sandboxtest.Response
	if rule.served {
		response = n.forward(r)
	}
	rule.respond(n, w, r, rule, response)
	if rule.strike == "interrupt" {
		n.countTowardsStrike(rule)
	}
	return true
}

func (n *network) runDuring(verb []string) {
	n.verbLock.Lock()
	defer n.verbLock.Unlock()
	err := n.script.runVerb(verb)
	if err != nil {
		n.script.t.Errorf("service %s: %v", strings.Join(verb, " "), err)
	}
}

// forward sends a call to the service, even if the provider no longer waits for the response.
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

// The outcomes of calls.

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

// stall sends no response. The call ends with the connection, when a strike has ended the provider.
func stall(n *network, _ http.ResponseWriter, r *http.Request, rule *rule, _ sandboxtest.Response) {
	n.countTowardsStrike(rule)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// countTowardsStrike counts a call of a strike. The strike is due after the last one.
func (n *network) countTowardsStrike(rule *rule) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rule.awaits--
	if rule.awaits == 0 {
		close(rule.due)
	}
}

func refuse(n *network, w http.ResponseWriter, _ *http.Request, rule *rule, _ sandboxtest.Response) {
	respond(w, n.clock(), http.StatusBadRequest, fmt.Sprintf(`{"error":%q,"message":%q}`, rule.args[0], rule.args[1]))
}

func answer(n *network, w http.ResponseWriter, _ *http.Request, rule *rule, _ sandboxtest.Response) {
	status, err := strconv.Atoi(rule.args[0])
	if err != nil {
		n.script.t.Error(err)
	}
	if rule.retryAfter != "" {
		w.Header().Set("Retry-After", rule.retryAfter)
	}
	respond(w, n.clock(), status, rule.args[1])
}

func show(n *network, w http.ResponseWriter, _ *http.Request, rule *rule, response sandboxtest.Response) {
	maps.Copy(response.Body, jsonFields(rule.args))
	body, err := json.Marshal(response.Body)
	if err != nil {
		n.script.t.Error(err)
	}
	respond(w, response, response.Status, string(body))
}

// jsonFields parses arguments NAME=VALUE. A value that is not JSON is a string.
func jsonFields(args []string) map[string]any {
	fields := map[string]any{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		fields[name] = value
		if json.Valid([]byte(value)) {
			fields[name] = json.RawMessage(value)
		}
	}
	return fields
}

// clock returns a response of the service. Injected responses have its Date.
func (n *network) clock() sandboxtest.Response { return n.script.service.Get("/_sandbox/clock") }

// respond sends a response with the Date and Retry-After of a response of the service.
func respond(w http.ResponseWriter, original sandboxtest.Response, status int, body string) {
	for _, name := range []string{"Date", "Retry-After"} {
		value := original.Header.Get(name)
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	if strings.HasPrefix(body, "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// lag is a verb: reads return stale data for a while.
func (s *script) lag(_ options, args []string) error {
	var duration time.Duration
	reads, err := strconv.Atoi(args[1])
	if err != nil {
		duration, err = time.ParseDuration(args[1])
	}
	if err != nil {
		return usageError{err}
	}
	n := s.net
	n.mu.Lock()
	defer n.mu.Unlock()
	n.staleReads = reads
	n.staleUntil = s.clock.Now().Add(duration)
	n.stale = n.noted
	n.noted = nil
	if n.stale == nil {
		n.stale = n.repeatReads()
	}
	if len(n.stale) == 0 {
		return usage("lag needs an earlier read")
	}
	return nil
}

// note is a verb: the next lag serves the data of this moment.
func (s *script) note(options, []string) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.noted = s.net.repeatReads()
	return nil
}

// repeatReads repeats all earlier reads and returns their responses.
func (n *network) repeatReads() map[string]sandboxtest.Response {
	responses := map[string]sandboxtest.Response{}
	for address, read := range n.reads {
		responses[address] = n.forward(read)
	}
	return responses
}

// serveStale sends a stale response to a read if reads lag, and reports whether it did.
func (n *network) serveStale(w http.ResponseWriter, read *http.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	address := read.URL.RequestURI()
	n.reads[address] = read
	lagging := n.staleReads > 0 || n.script.clock.Now().Before(n.staleUntil)
	old, ok := n.stale[address]
	if !ok || !lagging {
		return false
	}
	n.staleReads--
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
		response := s.net.forward(call)
		if response.Status/100 != 2 {
			return fmt.Errorf("the late call was answered %d: %s", response.Status, response.Raw)
		}
	}
	return nil
}

func (s *script) clear(options, []string) error {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.rules = nil
	s.net.stale = nil
	s.net.staleReads = 0
	s.net.staleUntil = time.Time{}
	return nil
}
