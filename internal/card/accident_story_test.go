package card_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
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
	modes []string // of keyModes; none: keys are as the service has them
	steps string
}

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
				st := newTeller(t, keyModes[mode].quirk, keyModes[mode].settings, one.steps)
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

func newTeller(t *testing.T, idempotency, settings, steps string) *teller {
	t.Helper()
	var options []contract.Option
	if strings.Contains(steps, "any-responses") {
		options = append(options, contract.RequestsOnly())
	}
	clock := new(acctest.Clock)
	s, w := acctest.StartOn(t, clock, options...), newCLI(t, clock)
	st := &teller{t: t, s: s, w: w, clock: clock, settings: settings, ids: map[string]string{}}
	if idempotency != "" {
		st.s.AddQuirks(object{"idempotency": idempotency})
	}
	st.net = newNetwork(st.s, st.step)
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

// runs is a command that has to end well, or not.
func (st *teller) runs(well bool, args ...string) {
	st.t.Helper()
	var code int
	if code, st.said = st.w.Run(append([]string{args[0], "-no-color"}, args[1:]...)...); (code == 0) != well {
		st.t.Errorf("it ended with %d:\n%s", code, st.said)
	}
}

// until runs an apply that ends so when a rule of the network says that it is due.
func (st *teller) until(signal syscall.Signal, lines string) {
	st.configure(lines)
	_, st.said = st.w.RunUntil(st.net.due, signal, "apply", "-no-color", "-auto-approve")
	st.net.clear()
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
	text, err := os.ReadFile(filepath.Join(st.w.(*acctest.Workspace).Dir, "terraform.tfstate"))
	if err == nil && !json.Valid(text) {
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
		st.runs(well, args...)
	}
}

func applies(st *teller, lines string) { command(true, "apply", "-auto-approve")(st, lines) }

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
	"apply":       applies,
	"stops":       command(false, "apply", "-auto-approve"),
	"plan":        command(true, "plan"),
	"plan-stops":  command(false, "plan"),
	"save":        command(true, "plan", "-out=saved"),
	"apply-saved": func(st *teller, _ string) { st.runs(true, "apply", "saved") },
	"saved-stops": func(st *teller, _ string) { st.runs(false, "apply", "saved") },
	"refresh":     func(st *teller, _ string) { st.runs(true, "refresh") },
	"run":         func(st *teller, args string) { st.runs(true, strings.Fields(args)...) },
	"run-stops":   func(st *teller, args string) { st.runs(false, strings.Fields(args)...) },
	"destroy": func(st *teller, args string) {
		st.runs(true, append([]string{"destroy", "-auto-approve"}, strings.Fields(args)...)...)
	},
	"destroy-stops": func(st *teller, _ string) { st.runs(false, "destroy", "-auto-approve") },
	"nothing":       func(st *teller, _ string) { st.runs(true, "plan", "-detailed-exitcode") }, // is left to do
	"apply-unread":  command(true, "apply", "-auto-approve", "-refresh=false"),
	"stops-unread":  command(false, "apply", "-auto-approve", "-refresh=false"),
	"write":         (*teller).configure,
	"import": func(st *teller, lines string) { // {card}
		st.configure(lines)
		st.runs(true, "import", "vcard_card.test", st.ids["card"])
	},
	"apply-none": func(st *teller, _ string) { // of the cards is configured any more
		st.w.Write("main.tf", required)
		st.runs(false, "apply", "-auto-approve")
	},
	"may-stop": func(st *teller, lines string) { // then it said something
		st.configure(lines)
		if code, output := st.w.Run("apply", "-no-color", "-auto-approve"); code != 0 {
			st.said = output
		} else {
			st.said = ""
		}
	},
	"may-stop-once": func(st *teller, lines string) {
		st.configure(lines)
		st.said = ""
		code, output := st.w.Run("apply", "-no-color", "-auto-approve")
		if code != 0 {
			applies(st, "")
			st.said = output
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
		if n := strings.Count(unwrapped(st.said), words); strconv.Itoa(n) != times {
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
		shown := unwrapped(st.w.Must("show", "-no-color")) + " "
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
			st.held = append(st.held, bought(st.s, card.ID, amount, strings.Fields(more)...))
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
		now, err := time.Parse(time.RFC3339, st.s.Get("/_sandbox/clock").Text("now"))
		then, wrong := time.Parse(time.RFC3339, at)
		if err = errors.Join(err, wrong, st.clock.Wait(st.t.Context(), then.Sub(now))); err != nil {
			st.t.Fatal(err)
		}
	},
	"waits": func(st *teller, d string) {
		if err := st.clock.Wait(st.t.Context(), duration(st.t, d)); err != nil {
			st.t.Fatal(err)
		}
	},
	"call": func(st *teller, name string) { st.ids[name] = liveCards(st.s)[0].ID }, // the newest card
	"key-of-another": func(st *teller, _ string) {
		other := *st.net.Service
		other.Client = other.As(st.s.Post("/_sandbox/accounts", map[string]string{"state": "ready"}).OK(http.StatusCreated).Text("api_key"))
		st.through(&other)
	},
	"key-of-ours": func(st *teller, _ string) { st.through(st.net.Service) },

	// The network, and a service that lags.
	"on":    func(st *teller, rule string) { st.net.on(rule) },
	"clear": func(st *teller, _ string) { st.net.clear() },
	"ahead": func(st *teller, d string) { st.net.ahead = duration(st.t, d) }, // the service's clock
	"late": func(st *teller, _ string) { // what was not let through arrives
		if response := forward(st.s, st.net.late); response.Status != http.StatusOK {
			st.t.Errorf("the late call was answered %d %s", response.Status, response.Raw)
		}
		st.net.late = nil
	},
	"count": func(st *teller, _ string) { st.net.forget() },
	"sent":  func(st *teller, rest string) { st.net.sent(rest) },
	"at-most": func(st *teller, calls string) {
		if n := len(st.net.calls); n > int(usdNumber(calls)/usd.Dollar) {
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
		st.lag = st.replica(duration(st.t, d), old != "")
		st.through(st.lag.Service)
	},
	"note":   func(st *teller, _ string) { st.lag.remember() },
	"lapse":  func(st *teller, d string) { st.lag.lapse(duration(st.t, d)) },
	"direct": func(st *teller, _ string) { st.through(st.s) },

	// What is at the service.
	"holds": func(st *teller, rest string) { // the only card: its balance, or status, balance, wallet
		if want := strings.Fields(rest); len(want) == 1 {
			if now := onlyCard(st.s); now.Balance != usdNumber(want[0]) {
				st.t.Errorf("the card holds %s USD", now.Balance)
			}
		} else {
			serviceHolds(st.t, st.s, want[0], usdNumber(want[1]), usdNumber(want[2]))
		}
	},
	"cards": func(st *teller, rest string) { // how many, and what each holds
		number, balance, _ := strings.Cut(rest, " ")
		live := liveCards(st.s)
		if strconv.Itoa(len(live)) != number {
			st.t.Errorf("the live cards are %v", live)
		}
		for _, card := range live {
			if balance != "" && card.Balance != usdNumber(balance) {
				st.t.Errorf("card %s holds %s USD", card.ID, card.Balance)
			}
		}
	},
	"labelled": func(st *teller, rest string) { // with what begins so, and what each holds
		prefix, balance, _ := strings.Cut(rest, " ")
		found := 0
		for _, card := range liveCards(st.s) {
			if strings.HasPrefix(card.Label, prefix) {
				found++
				if card.Balance != usdNumber(balance) {
					st.t.Errorf("card %s is labelled %s and holds %s USD", card.ID, card.Label, card.Balance)
				}
			}
		}
		if found == 0 {
			st.t.Errorf("none of %v is labelled so", liveCards(st.s))
		}
	},
	"wallet": func(st *teller, want string) {
		if now := st.s.Wallet(); now != usdNumber(want) {
			st.t.Errorf("the wallet holds %s USD", now)
		}
	},
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func jsonObject(t *testing.T, text string) (members map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatal(err)
	}
	return members
}

func bought(s *acctest.Service, id, amount string, more ...string) (authorization string) {
	return s.Authorize(id, amount, "7311", more...).OK(http.StatusCreated).Transaction()
}
