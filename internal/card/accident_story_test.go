package card_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// story is what happens to money, one step a line: a verb of verbs, and what it
// takes. "; " parts the lines of a configuration, " | " what is looked for, and
// {name} stands for the id of a card. What follows " # " is for the reader.
type story struct {
	modes []string // such as those of eachMode; none: keys are as the service has them
	steps string
}

// What the service does with keys, and whether the provider is told so.
var eachMode, toldMode = []string{"honoured, and said so", "honoured", "ignored"}, []string{"honoured, and said so"}

// tell plays each story, in each of its modes, and checks that the service's books
// are balanced after it.
func tell(t *testing.T, stories map[string]story) {
	t.Helper()
	for name, one := range stories {
		modes := one.modes
		if modes == nil {
			modes = []string{""}
		}
		for _, mode := range modes {
			t.Run(strings.TrimSuffix(name+", "+mode, ", "), func(t *testing.T) {
				t.Parallel()
				st := newTeller(t, mode, one.steps)
				for line := range strings.SplitSeq(one.steps, "\n") {
					if line, _, _ = strings.Cut(" "+strings.TrimSpace(line), " # "); strings.TrimSpace(line) == "" {
						continue
					}
					if st.step(line[1:]); t.Failed() {
						t.Fatalf("after the step %q", line)
					}
				}
				st.s.Balanced()
			})
		}
	}
}

// teller tells a story of a service and a workspace on one clock: waits of the
// provider, in this process, move the service's time as well.
type teller struct {
	t        *testing.T
	s        *acctest.Service
	w        cli
	clock    *acctest.Clock
	settings string // of the provider

	net     *network
	lag     *replica
	line    string // the configuration
	trigger string // of an action
	said    string // by the last command
	ids     map[string]string

	restore    func()
	held       []string // authorizations, the oldest first
	settlement string
}

func newTeller(t *testing.T, mode, steps string) *teller {
	t.Helper()
	var options []contract.Option
	if strings.Contains(steps, "any-responses") {
		options = append(options, contract.RequestsOnly())
	}
	clock := new(acctest.Clock)
	s, w := acctest.StartOn(t, clock, options...), newCLI(t, clock)
	st := &teller{t: t, s: s, w: w, clock: clock, ids: map[string]string{}}
	idempotency, told := strings.CutSuffix(mode, ", and said so")
	if told {
		st.settings = honoured
	}
	if idempotency != "" {
		st.s.AddQuirks(object{"idempotency": idempotency})
	}
	st.net = &network{to: st.s, do: st.step, due: make(chan struct{})}
	st.net.Service = st.s.Proxy(st.net.handle)
	st.through(st.net.Service)
	return st
}

func (st *teller) through(s *acctest.Service) { through(st.w, s, st.settings) }

var anID = regexp.MustCompile(`\{\w+\}`)

func (st *teller) step(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	do := verbs[verb]
	if do == nil {
		st.t.Fatalf("no verb %q", verb)
	}
	do(st, anID.ReplaceAllStringFunc(rest, func(name string) string {
		switch id := st.ids[strings.Trim(name, "{}")]; {
		case id != "":
			return id
		case name == "{card}":
			return onlyCard(st.s).ID
		}
		return name
	}))
}

// configure writes the configuration, unless it stays as it was.
func (st *teller) configure(lines string) {
	if lines != "" {
		st.line = oneCard(strings.ReplaceAll(lines, "; ", "\n  ") + st.trigger)
	}
	st.w.Write("main.tf", st.line)
}

// run tells whether a command ends well.
func (st *teller) run(args ...string) (well bool) {
	code, said := st.w.Run(append([]string{args[0], "-no-color"}, args[1:]...)...)
	st.said = said
	return code == 0
}

// until runs an apply that ends so when a rule of the network says that it is due.
func (st *teller) until(signal syscall.Signal, lines string) {
	st.configure(lines)
	_, st.said = st.w.RunUntil(st.net.due, signal, "apply", "-no-color", "-auto-approve")
	st.net.clear()
}

func (st *teller) runs(well bool, args []string) {
	if st.run(args...) != well {
		st.t.Errorf("%v should end well: %v, but:\n%s", args, well, st.said)
	}
}

// mayStop applies, and keeps what is said only of an apply that stops.
func (st *teller) mayStop(lines string) {
	if st.configure(lines); st.run("apply", "-auto-approve") {
		st.said = ""
	}
}

func (st *teller) waits(d time.Duration) {
	if err := st.clock.Wait(st.t.Context(), d); err != nil {
		st.t.Fatal(err)
	}
}

func (st *teller) post(path string, body any) {
	st.s.Post("/cards/"+onlyCard(st.s).ID+path, body).OK(http.StatusOK)
}

// dies applies until the run dies. A CLI that was cancelled while it wrote its state
// leaves none or a part of it, and its user goes back to the one before.
func (st *teller) dies(run func(due <-chan struct{}, args ...string) (int, string), lines string) {
	st.configure(lines)
	restore := stateOf(st.t, st.w)
	_, st.said = run(st.net.due, "apply", "-no-color", "-auto-approve")
	st.net.clear()
	if !json.Valid([]byte(st.w.(*acctest.Workspace).Read(stateFile))) {
		restore()
		losePrivate(st.t, st.w)
	}
}

func ofWords(check func(t *testing.T, output string, words ...string)) func(*teller, string) {
	return func(st *teller, words string) { check(st.t, st.said, strings.Split(words, " | ")...) }
}

// command is a command on what lines configure, which has to end well, or not.
func command(well bool, args ...string) func(*teller, string) {
	return func(st *teller, lines string) {
		st.configure(lines)
		st.runs(well, args)
	}
}

// written is a command that the story spells out.
func written(well bool) func(*teller, string) {
	return func(st *teller, args string) { st.runs(well, strings.Fields(args)) }
}

var applies = command(true, "apply", "-auto-approve")

var verbs = map[string]func(st *teller, rest string){
	// How the story is told.
	"any-responses": func(*teller, string) {}, // that of the service are not held to its document
	"cli": func(st *teller, _ string) { // the real one, for what core lacks
		st.w = acctest.NewWorkspace(st.t).On(st.clock)
		st.through(st.net.Service)
	},
	"needs":  func(st *teller, version string) { acctest.Needs(st.t, version, "") },
	"quirks": func(st *teller, quirks string) { st.s.AddQuirks(jsonObject(st.t, quirks)) },
	"default-quirks": func(st *teller, _ string) { // but that of keys
		st.s.Quirks(object{"idempotency": st.s.Get("/_sandbox/quirks").OK(http.StatusOK).Body["idempotency"]})
	},
	"told": func(st *teller, settings string) { // what the provider is told
		st.settings = strings.ReplaceAll(settings, "; ", "\n  ")
		st.through(st.net.Service)
	},

	"funded": func(st *teller, event string) { // by an action, with 60 USD at an event
		if st.trigger = ""; event != "" {
			st.trigger = fmt.Sprintf("\n  lifecycle {\n    action_trigger {\n      events = [%s]\n", event) +
				"      actions = [action.vcard_card_fund.extra]\n    }\n  }"
			config := fmt.Sprintf("  config {\n    card_id = %q\n    amount = 60\n  }\n", onlyCard(st.s).ID)
			st.w.Write("action.tf", "action \"vcard_card_fund\" \"extra\" {\n"+config+"}\n")
		}
	},
	"adopt": func(st *teller, _ string) { // each live card, by its label
		imports := "import {\n  for_each = {\n"
		for _, card := range liveCards(st.s) {
			imports += fmt.Sprintf("    %q = %q\n", card.Label, card.ID)
		}
		apply(st.w, imports+"  }\n  to = vcard_card.test[each.key]\n  id = each.value\n}\n"+st.line)
	},

	// Commands, and what they print.
	"apply":        applies,
	"stops":        command(false, "apply", "-auto-approve"),
	"plan":         command(true, "plan"),
	"plan-stops":   command(false, "plan"),
	"save":         command(true, "plan", "-out=saved"),
	"run":          written(true),
	"run-stops":    written(false),
	"nothing":      command(true, "plan", "-detailed-exitcode"), // is left to do
	"apply-unread": command(true, "apply", "-auto-approve", "-refresh=false"),
	"stops-unread": command(false, "apply", "-auto-approve", "-refresh=false"),
	"write":        (*teller).configure,
	"import": func(st *teller, lines string) { // {card}
		command(true, "import", "vcard_card.test", st.ids["card"])(st, lines)
	},
	"apply-none": func(st *teller, _ string) { // of the cards is configured any more
		st.w.Write("main.tf", acctest.Required)
		st.runs(false, []string{"apply", "-auto-approve"})
	},
	"may-stop": (*teller).mayStop,
	"may-stop-once": func(st *teller, lines string) {
		st.mayStop(lines)
		if first := st.said; first != "" {
			applies(st, "")
			st.said = first
		}
		plansNothing(st.t, st.w)
	},
	"kill": func(st *teller, lines string) { // once money has moved, or it is due
		if len(st.net.rules) == 0 {
			st.net.on("POST * x1 made stall")
		}
		st.until(syscall.SIGKILL, lines)
	},
	"kill-run": func(st *teller, args string) {
		_, st.said = st.w.RunUntil(st.net.due, syscall.SIGKILL, strings.Fields(args)...)
		st.net.clear()
	},
	// Core saves a card as it was, and nothing beside it, when the provider dies or when
	// it is cancelled for good.
	"provider-dies": func(st *teller, lines string) {
		st.dies(st.w.(*acctest.Workspace).RunUntilProviderDies, lines)
	},
	"is-cancelled": func(st *teller, lines string) { st.dies(st.w.(*acctest.Workspace).RunUntilForced, lines) },
	"interrupt":    func(st *teller, lines string) { st.until(syscall.SIGINT, lines) },
	"says":         ofWords(prints),
	"says-not":     ofWords(printsNot),
	"if-said": func(st *teller, words string) {
		if st.said != "" {
			ofWords(prints)(st, words)
		}
	},
	"quiet": func(st *teller, _ string) { printsNot(st.t, st.said, alarms...) },
	"told-times": func(st *teller, rest string) {
		times, words, _ := strings.Cut(rest, " ")
		if times == "live" { // once for each card
			times = strconv.Itoa(len(liveCards(st.s)))
		}
		if n := strings.Count(acctest.Unwrapped(st.said), words); strconv.Itoa(n) != times {
			st.t.Errorf("it prints %q %d times:\n%s", words, n, st.said)
		}
	},
	"warned-lines": func(st *teller, most string) { // below the plan
		_, warnings, _ := strings.Cut(st.said, "\nPlan: ")
		if n, _ := strconv.Atoi(most); warnings == "" || strings.Count(warnings, "\n") > n {
			st.t.Errorf("more than %d lines of warnings:\n%s", n, warnings)
		}
	},
	"shows": func(st *teller, words string) { // the state
		shown := acctest.Unwrapped(st.w.Must("show", "-no-color")) + " "
		for word := range strings.SplitSeq(words, " | ") {
			if !strings.Contains(shown, word+" ") {
				st.t.Errorf("the state does not say %q: %s", word, shown)
			}
		}
	},
	"shows-not": func(st *teller, words string) { printsNot(st.t, st.w.Must("show", "-no-color"), words) },

	// What the state loses.
	"forget":   func(st *teller, _ string) { losePrivate(st.t, st.w) },
	"remember": func(st *teller, _ string) { st.restore = stateOf(st.t, st.w) },
	"restore":  func(st *teller, _ string) { st.restore() },

	// What others do.
	"fund":      func(st *teller, amount string) { st.post("/fund", `{"amount":`+amount+`}`) },
	"withdraw":  func(st *teller, amount string) { st.post("/withdraw", `{"amount":`+amount+`}`) },
	"freeze":    func(st *teller, _ string) { st.post("/freeze", nil) },
	"unfreeze":  func(st *teller, _ string) { st.post("/unfreeze", nil) },
	"terminate": func(st *teller, id string) { st.s.Terminate(id) },
	"buy": func(st *teller, rest string) { // with each card
		amount, more, _ := strings.Cut(rest, " ")
		for _, card := range liveCards(st.s) {
			bought := st.s.Authorize(card.ID, amount, advertising, strings.Fields(more)...)
			st.held = append(st.held, bought.OK(http.StatusCreated).Transaction())
		}
	},
	"settle": func(st *teller, rest string) { // the oldest purchase
		amount, more, _ := strings.Cut(rest, " ")
		st.settlement = st.s.Settle(st.held[0], amount, strings.Fields(more)...).OK(http.StatusCreated).Transaction()
		st.held = st.held[1:]
	},
	"refund": func(st *teller, amount string) { st.s.Refund(st.settlement, amount).OK(http.StatusCreated) },
	"issue": func(st *teller, rest string) {
		name, body, _ := strings.Cut(rest, " ")
		st.ids[name] = issue(st.s, jsonObject(st.t, body)).ID
	},
	"passes": func(st *teller, d string) { // at the service
		st.s.Advance(d)
	},
	"waits-until": func(st *teller, at string) {
		instant := func(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) }
		now := mustParse(instant, st.s.Get("/_sandbox/clock").Text("now"))
		st.waits(mustParse(instant, at).Sub(now))
	},
	"waits": func(st *teller, d string) { st.waits(mustParse(time.ParseDuration, d)) },
	"call":  func(st *teller, name string) { st.ids[name] = liveCards(st.s)[0].ID }, // the newest card
	"key-of-another": func(st *teller, _ string) {
		other := *st.net.Service
		other.Client = other.As(st.s.Post("/_sandbox/accounts", map[string]string{"state": "ready"}).OK(http.StatusCreated).Text("api_key"))
		st.through(&other)
	},

	// The network, and a service that lags.
	"on":    func(st *teller, rule string) { st.net.on(rule) },
	"clear": func(st *teller, _ string) { st.net.clear() },
	"ahead": func(st *teller, d string) { st.net.ahead = mustParse(time.ParseDuration, d) }, // the service's clock
	"late": func(st *teller, _ string) { // what was not let through arrives
		if response := forward(st.s, st.net.late); response.Status != http.StatusOK {
			st.t.Errorf("the late call was answered %d %s", response.Status, response.Raw)
		}
		st.net.late = nil
	},
	"count": func(st *teller, _ string) { st.net.forget() },
	"sent":  func(st *teller, rest string) { st.net.sent(rest) },
	"at-most": func(st *teller, calls string) {
		if n := len(st.net.calls); n > mustParse(strconv.Atoi, calls) {
			st.t.Errorf("%d calls were made", n)
		}
	},
	"at-once": func(st *teller, kind string) { // a call was answered, and nothing waited
		st.net.sent(kind + " 1")
		if waited := time.Until(st.clock.Now()); waited > time.Second {
			st.t.Errorf("it waited for %s", waited)
		}
		st.net.forget()
		st.net.clear()
	},
	"lags": func(st *teller, rest string) {
		d, old, _ := strings.Cut(rest, " ")
		st.lag = st.replica(mustParse(time.ParseDuration, d), old != "")
		st.through(st.lag.Service)
	},
	"note":   func(st *teller, _ string) { st.lag.remember() },
	"lapse":  func(st *teller, d string) { st.lag.lapse(mustParse(time.ParseDuration, d)) },
	"direct": func(st *teller, _ string) { st.through(st.s) },

	// What is at the service.
	"holds": func(st *teller, rest string) { // the only card: its balance, or status, balance, wallet
		if want := strings.Fields(rest); len(want) == 1 {
			if now := onlyCard(st.s); now.Balance != mustParse(usd.Parse, want[0]) {
				st.t.Errorf("the card holds %s USD", now.Balance)
			}
		} else {
			serviceHolds(st.t, st.s, want[0], mustParse(usd.Parse, want[1]), mustParse(usd.Parse, want[2]))
		}
	},
	"cards": func(st *teller, rest string) { // how many, what each holds, and how their labels begin
		number, rest, _ := strings.Cut(rest, " ")
		balance, label, _ := strings.Cut(rest, " ")
		live := liveCards(st.s)
		asked := slices.DeleteFunc(slices.Clone(live), func(card service) bool { return !strings.HasPrefix(card.Label, label) })
		if strconv.Itoa(len(asked)) != number {
			st.t.Errorf("the live cards are %v", live)
		}
		for _, card := range asked {
			if balance != "" && card.Balance != mustParse(usd.Parse, balance) {
				st.t.Errorf("card %s holds %s USD", card.ID, card.Balance)
			}
		}
	},
	"wallet": func(st *teller, want string) {
		if now := st.s.Wallet(); now != mustParse(usd.Parse, want) {
			st.t.Errorf("the wallet holds %s USD", now)
		}
	},
}

func jsonObject(t *testing.T, text string) (members map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatal(err)
	}
	return members
}
