//go:build unix

// Package chaos_test breaks what can break between the provider and the service,
// at random, and then compares ledger, cards and states to the cent.
package chaos_test

import (
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var (
	calls = flag.Int("chaos.calls", 400, "mutating requests at the least")
	seed  = flag.Uint64("chaos.seed", 1, "the first scenario's seed")
)

const (
	callsPerWorld = 60
	enoughCalls   = 40_000 // for every fault to meet every kind of call
)

// TestChaos lets scenarios live, each of another seed: one pipeline, or up to three
// that take turns or run side by side. A scenario of pipelines that do not run side
// by side repeats exactly.
func TestChaos(t *testing.T) { //nolint:tparallel // a scenario at a time, until there were enough calls
	t.Parallel()
	first := *seed
	counts := map[string]int{}
	total, kills, named := 0, 0, 0
	for n := first; total < *calls && !t.Failed(); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newScenario(t, n)
			w.run(callsPerWorld)
			if t.Failed() {
				t.Logf("repeat with -run TestChaos -chaos.calls=1 -chaos.seed=%d", n)
			}
			total += w.proxy.mutating
			kills += w.kills
			named += w.named
			for what, times := range w.proxy.counts {
				counts[what] += times
			}
		})
	}
	t.Logf("%d mutating requests, %d kills, %d departures that were named", total, kills, named)
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[what], what)
	}
	isWhole := total >= enoughCalls && !t.Failed()
	for _, kind := range []string{"create", "fund", "withdraw", "freeze", "unfreeze", "terminate"} {
		for _, f := range append(ofMutations(), repeated, killBefore, killAfter, killLate) {
			if isWhole && counts[kind+", "+string(f)] == 0 {
				t.Errorf("no %s met the fault %q", kind, f)
			}
		}
	}
}

// scenario is one account of the service with its pipelines.
type scenario struct {
	t         *testing.T
	seed      uint64
	profile   profile
	clock     *clock
	proxy     *proxy
	service   *sandboxtest.Server
	pipelines []*pipeline
	// sideBySide says that pipelines and the cards of one run do not take turns.
	sideBySide bool
	kills      int
	// unsavedCreates counts creates whose cards, if there are any, no state has:
	// their runs were killed.
	unsavedCreates atomic.Int64
	named          int // departures that were named

	mu      sync.Mutex
	history []string // what was said, all in all
	// abandoned are the written labels of cards that users took out of the configuration before
	// a run had issued them to the end: no later plan issues them, and so none looks for them.
	abandoned sync.Map
}

func (w *scenario) String() string { return fmt.Sprintf("seed %d (%s)", w.seed, w.profile.name) }

func newScenario(t *testing.T, seed uint64) *scenario {
	t.Helper()
	all := profiles()
	w := &scenario{t: t, seed: seed, profile: all[seed/4%uint64(len(all))], sideBySide: seed%4 == 3, clock: newClock()}
	w.proxy, w.service = startProxied(t, seed, w.clock, w.profile)
	for n := range 1 + seed%3 {
		p := &pipeline{scenario: w, r: rand.New(rand.NewPCG(seed, 10+n)), name: fmt.Sprintf("p%d", n), parallel: w.sideBySide}
		for range 3 + p.r.IntN(3) {
			p.cards = append(p.cards, newCard(p.newConfig()))
		}
		w.pipelines = append(w.pipelines, p)
	}
	return w
}

// live lets the pipelines run until so many mutating requests were sent, and
// audits everything now and then.
func (w *scenario) run(mutating int) {
	for w.proxy.mutating < mutating && !w.t.Failed() {
		var group sync.WaitGroup
		for _, p := range w.pipelines {
			steps := func() {
				for range 4 {
					p.step()
				}
			}
			if w.sideBySide {
				group.Go(steps)
			} else {
				steps()
			}
		}
		group.Wait()
		w.audit()
	}
}

// step changes the configuration, lets the card be used, and applies, perhaps not to the end.
func (p *pipeline) step() {
	p.restore()
	for range 1 + p.r.IntN(3) {
		p.edit()
	}
	for _, c := range p.cards {
		p.use(c)
	}
	killAt := 0
	if p.r.IntN(4) == 0 {
		killAt = 1 + p.r.IntN(4)
	}
	p.apply(killAt)
	if p.killed {
		p.scenario.mu.Lock()
		p.scenario.kills++
		p.scenario.mu.Unlock()
		p.scenario.clock.advance(p.scenario.profile.afterKill)
	}
	if p.r.IntN(3) == 0 {
		p.scenario.clock.advance(time.Duration(p.r.IntN(90)) * time.Minute)
	}
}

// purchase is an authorization that a card has, or had.
type purchase struct {
	id      string
	amount  usd.Amount
	settled string // the settlement's id; "" while it is open
}

// use lets the outside scenario act on a card: purchases, settlements, refunds and,
// where hands move money, fundings.
func (p *pipeline) use(c *card) {
	if c.id() == "" || p.r.IntN(2) == 0 {
		return
	}
	w := p.scenario
	cents := func(limit int) usd.Amount { return usd.Amount(1 + p.r.IntN(limit)) }
	switch n := p.r.IntN(10); {
	case n < 4 || len(c.bought) == 0:
		amount, fee := cents(300), usd.Amount(0)
		if p.r.IntN(3) == 0 {
			fee = cents(20)
		}
		answer := authorize(w.service, c.id(), amount, fee, p.merchant())
		if answer.Status == http.StatusCreated && answer.Body["decline_reason"] == nil {
			c.outside -= fee
			if !w.profile.settled {
				c.outside -= amount
			}
			c.bought = append(c.bought, purchase{id: answer.Transaction(), amount: amount})
		}
	case n < 7:
		bought := &c.bought[p.r.IntN(len(c.bought))]
		if bought.settled != "" {
			return
		}
		settled := min(bought.amount, cents(300))
		if answer := w.service.Settle(bought.id, settled.String()); answer.Status == http.StatusCreated {
			c.outside -= settled
			if !w.profile.settled {
				c.outside += bought.amount
			}
			bought.settled, bought.amount = answer.Transaction(), settled
		}
	case n < 8:
		i := p.r.IntN(len(c.bought))
		if bought := c.bought[i]; bought.settled != "" {
			if answer := w.service.Refund(bought.settled, bought.amount.String()); answer.Status == http.StatusCreated {
				c.outside += bought.amount
				c.bought = slices.Delete(c.bought, i, i+1)
			}
		}
	case w.profile.hands:
		amount := usd.Amount(1+p.r.IntN(40)) * usd.Dollar
		if w.service.Post("/cards/"+c.id()+"/fund", map[string]any{"amount": amount}).Status == http.StatusOK {
			c.outside += amount
		}
	}
}

// merchant is another one for each purchase where nothing may be left unclear: which of several
// authorizations at one merchant a settlement of another amount ends is told nowhere.
func (p *pipeline) merchant() string {
	if !p.scenario.profile.strict || p.scenario.profile.told == "honoured" {
		return "Big Ads"
	}
	p.purchases++
	return fmt.Sprint("Shop ", p.purchases)
}

// audit ends all faults, lets each pipeline apply until nothing is left to do,
// and compares ledger, cards and states to the cent.
func (w *scenario) audit() {
	w.t.Helper()
	if w.t.Failed() {
		return
	}
	w.proxy.calm()
	defer w.proxy.quiet.Store(false)
	for _, p := range w.pipelines {
		w.finish(p)
		w.probe(p)
	}
	w.service.Balanced()
	owner := map[string]*card{}
	for _, p := range w.pipelines {
		for _, c := range p.cards {
			if c.id() == "" {
				continue
			}
			if other := owner[c.id()]; other != nil {
				w.departs(c, "two resources have card %s", c.id())
			}
			owner[c.id()] = c
			w.compare(c)
		}
	}
	w.compareCards(owner)
	for _, p := range w.pipelines {
		for _, c := range p.cards {
			c.said = nil
		}
	}
}

// settle applies without faults until a plan is empty. When keys are honoured
// one run decides everything.
func (w *scenario) finish(p *pipeline) {
	w.t.Helper()
	const enough = 4
	for n := 1; n <= enough; n++ {
		changed, succeeded := p.apply(0)
		switch {
		case succeeded && !changed:
			return
		case !succeeded && !p.takesBack() && !p.isLoose() && w.profile.told == "honoured" && w.profile.lag == 0:
			w.t.Errorf("%s: run %d of %s without faults failed:\n%s", w, n, p.name, p.lastWords())
			return
		}
	}
	w.t.Errorf("%s: %s is not settled after %d runs without faults:\n%s", w, p.name, enough, p.lastWords())
}

// isLoose reports whether anything may have happened that no promise covers.
func (p *pipeline) isLoose() bool {
	return !p.scenario.profile.strict || slices.ContainsFunc(p.cards, func(c *card) bool { return c.loose })
}

// probe moves a dollar where money came or went and nobody could know: what
// happens after the last run is named by the next one that moves money.
func (w *scenario) probe(p *pipeline) {
	w.t.Helper()
	if !p.isLoose() {
		return
	}
	for _, c := range p.cards {
		if (c.loose || !w.profile.strict) && c.id() != "" && !namesMoney(strings.Join(c.said, "\n")) && balanceOf(w.service, c.id())-c.outside != c.loaded() {
			c.config["amount"] = (amountOf(c.config["amount"]) + usd.Dollar).String()
		}
	}
	w.finish(p)
}

// takesBack does what the provider advises: for what cannot be decided, and for what a user who
// changed their mind has made of the configuration. It reports whether there was such advice.
func (p *pipeline) takesBack() (advised bool) {
	for _, c := range p.cards {
		if len(c.said) == 0 || c.config == nil || c.id() == "" { // a new card has no movement to give up
			continue
		}
		last := c.said[len(c.said)-1]
		undecided := namesPending(last) || strings.Contains(last, "may or may not have taken effect")
		switch {
		case undecided && p.scenario.proxy.isAcceptedOnly(c.id()): // nothing moved, and nothing will
			c.config["amount"], c.config["top_up"] = c.state.Values["amount"], nil
			advised = true
		case (p.isLoose() || p.scenario.profile.lag > 0) && (undecided || strings.Contains(last, "balance is lower than this amount")):
			c.config["amount"], c.config["top_up"] = c.state.Values["amount"], nil
			c.loose, advised = true, true
		case p.isLoose() && strings.Contains(last, "Withdrawal exceeds the card's balance"): // something took money before
			c.config["amount"] = c.state.Values["amount"]
			advised = true
		case strings.Contains(last, "would trigger a top-up"):
			c.config["top_up"] = nil
			advised = true
		}
	}
	return advised
}

func (p *pipeline) lastWords() string {
	var said []string
	for _, c := range p.cards {
		if len(c.said) > 0 {
			said = append(said, c.said[len(c.said)-1])
		}
	}
	return strings.Join(said, "\n")
}

// compare compares a card with its state.
func (w *scenario) compare(c *card) {
	w.t.Helper()
	there := w.service.Get("/cards/" + c.id()).OK(http.StatusOK)
	balance := amountOf(there.Body["balance"])
	departure := balance - c.outside - c.loaded()
	c.foreign = c.foreign || departure != 0
	if unsaved := sum(maps.Keys(c.unsaved)); departure > 0 && departure <= unsaved {
		c.outside += departure
		departure = 0
	}
	clear(c.unsaved)
	defer func() { c.loose, c.unsure = false, false }()
	if departure != 0 {
		what := "doubled"
		if departure < 0 {
			what = "lost"
		}
		w.departs(c, "%s USD are %s on card %s: it holds %s, of which %s came from outside, and the state says %s",
			max(departure, -departure), what, c.id(), balance, c.outside, c.loaded())
		c.outside += departure // from here on it is taken as it is
	}
	if frozen, set := c.config["frozen"].(bool); set && frozen != (there.Text("status") == "frozen") {
		w.t.Errorf("%s: card %s is %s and frozen is configured as %t", w, c.id(), there.Text("status"), frozen)
	}
}

func sum(amounts iter.Seq[usd.Amount]) (total usd.Amount) {
	for amount := range amounts {
		total += amount
	}
	return total
}

// compareCards looks for live cards that no state has.
func (w *scenario) compareCards(owner map[string]*card) {
	w.t.Helper()
	everything := strings.Join(w.history, "\n")
	for _, live := range w.service.LiveCards() {
		id, label := fmt.Sprint(live["id"]), fmt.Sprint(live["label"])
		if owner[id] != nil {
			continue
		}
		// A generated label is the card's own, so naming it is as good.
		named := strings.Contains(everything, id) || strings.HasPrefix(label, "tf-") && strings.Contains(everything, label)
		// By its label, when its run was killed or it came after the last look.
		findable := func() bool {
			return strings.HasPrefix(label, "tf-") && w.unsavedCreates.Add(-1) >= 0 || w.proxy.isOrphan(id) || w.cameUnseen()
		}
		if _, abandoned := w.abandoned.Load(label); !named && !abandoned && !findable() {
			w.t.Errorf("%s: card %s (%s) is in no state and was never named", w, id, label)
		}
		w.named++
		w.service.Terminate(id)
	}
	w.unsavedCreates.Store(0)
}

// cameUnseen reports whether a card may have been issued after everybody had
// looked, where that is not promised: by a create that was answered or given up.
func (w *scenario) cameUnseen() bool {
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	count := func(f fault) int { return w.proxy.counts["create, "+string(f)] }
	return !w.profile.strict && count(late)+count(repeated) > 0
}

// departs reports what must not be, or must at least have been named.
func (w *scenario) departs(c *card, format string, args ...any) {
	w.t.Helper()
	said := strings.Join(c.said, "\n")
	if w.profile.strict && !c.loose || !namesMoney(said) {
		w.t.Errorf("%s: "+format+"; said:\n%s", append(append([]any{w}, args...), said)...)
		return
	}
	w.named++
}

// namesPending reports whether a text says that the outcome of an earlier transfer is not known.
func namesPending(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "earlier transfer") || strings.Contains(text, "pending transfer")
}

// namesMoney tells whether a text says that money may have moved otherwise than the state says.
func namesMoney(text string) bool {
	return slices.ContainsFunc([]string{
		"may or may not have taken effect", "Unknown outcome", "earlier transfer", "Earlier transfer", "pending transfer", "Already applied", "may already be done", "does not show the last transfer", "outside Terraform",
		"Unexpected amount moved", "Not checked for an earlier run", "identified by its label", "the card does not show it", "no transaction explains", "more than when Terraform last moved",
	}, func(words string) bool { return strings.Contains(text, words) })
}
