//go:build unix

package chaos_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// pipeline is one workspace: a configuration and a state that its runs share.
// Terraform's part is played through the provider's protocol.
type pipeline struct {
	scenario *scenario
	r        *rand.Rand
	name     string
	parallel bool // the cards of one run change side by side
	cards    []*card
	runs     int
	killed   bool // the last run was

	purchases int
	saved     map[*card]acctest.Card // states of some steps ago
}

// card is one resource of a pipeline.
type card struct {
	config acctest.Object // nil: to be terminated
	state  acctest.Card
	open   bool // the configuration is not applied yet
	// unsure says that a run with a change of it did not end well, and loose that something
	// happened then which no promise covers: what is not as the state says has to be named.
	unsure, loose bool
	// foreign says that money moved which no record has taken in, by an action or a run that
	// was cut off: it may hide a killed movement.
	foreign bool

	said    []string   // errors and warnings since the last audit
	outside usd.Amount // what came to the card without Terraform
	bought  []purchase
	// unsaved are the sums that runs may have topped up and not saved: the next plan
	// sees that the card holds enough, and topped_up does not say so.
	unsaved map[usd.Amount]bool
}

// sharedLabel is a label that the pipelines of an account have in common.
const sharedLabel = "ads"

func newCard(config acctest.Object) *card {
	return &card{config: config, open: true, unsaved: map[usd.Amount]bool{}}
}

func (c *card) id() string {
	id, _ := c.state.Values["id"].(string)
	return id
}

// loaded is what the state says that Terraform has loaded.
func (c *card) loaded() usd.Amount {
	return amountOf(c.state.Values["amount"]) + amountOf(c.state.Values["topped_up"])
}

func (p *pipeline) note(c *card, diagnostics acctest.Diagnostics) {
	p.scenario.mu.Lock()
	defer p.scenario.mu.Unlock()
	for _, text := range []string{diagnostics.Errors(), diagnostics.Warnings()} {
		if text != "" {
			c.said, p.scenario.history = append(c.said, text), append(p.scenario.history, text)
		}
	}
}

// begin starts a run, which is killed at a mutating request of that number; 0 for never.
func (p *pipeline) begin(killAt int) *run {
	p.runs++
	started := &run{name: fmt.Sprintf("%s-%d", p.name, p.runs), killAt: killAt, interrupt: func() {}, kill: func() {}}
	p.scenario.proxy.runs.Store(started.name, started)
	return started
}

// configure starts the provider of one process of a run.
func (p *pipeline) configure(of *run) *acctest.Protocol {
	return acctest.Configure(p.scenario.t, acctest.Object{
		"base_url": p.scenario.service.Root() + "/" + of.name + "/api/v1", "api_key": p.scenario.service.Key,
		"idempotency_keys": p.scenario.profile.told,
	}, provider.WithClock(runClock{p.scenario.clock, &of.killed}))
}

// apply is one terraform apply: a refresh and a plan, and the changes in another
// process. It reports whether anything was to be changed, and whether all went well.
func (p *pipeline) apply(killAt int) (changed, succeeded bool) {
	this := p.begin(killAt)
	changes, ok := p.plan(this)
	if !ok {
		return false, false
	}
	process := p.configure(this)
	var stopped sync.Once
	interrupted := false
	this.interrupt = func() { stopped.Do(func() { interrupted = true; process.Interrupt() }) }
	var group sync.WaitGroup
	succeeded = true
	results := make([]func(), len(p.cards))
	for i, c := range p.cards {
		if changes[i] == nil || this.killed.Load() || interrupted && !p.parallel {
			succeeded = succeeded && changes[i] == nil
			continue
		}
		changed = true
		p.act(c, process, this, *changes[i])
		one := func() {
			after, said := process.Apply(*changes[i])
			if !this.killed.Load() {
				p.note(c, said)
				results[i] = func() {
					if c.foreign && after.Values["money_record"] != c.state.Values["money_record"] {
						c.foreign, c.loose = false, true
					}
					c.state, c.open = after, said.Errors() != ""
					if text := said.Errors(); strings.Contains(text, "it may already be done") || strings.Contains(text, "the card does not show it") {
						c.loose = c.loose || p.scenario.proxy.awaits(c.id()) // what comes after a stop comes besides
						p.heed(c)
					}
				}
			}
		}
		if p.parallel {
			group.Go(one)
		} else {
			one()
		}
	}
	group.Wait()
	forgets := false // where the provider alone dies, Terraform saves the values without private state
	if p.killed = this.killed.Load(); p.killed {
		switch p.r.IntN(3) {
		case 0:
			clear(results) // a remote state was not written since the run began
		case 1:
			forgets = true
		}
	}
	for i, c := range p.cards {
		switch {
		case results[i] != nil:
			results[i]()
			c.unsure = c.open
			said := strings.Join(c.said, "")
			undecided := strings.Contains(said, "may or may not have taken effect") || strings.Contains(said, "Earlier transfer is still pending")
			if c.open && undecided {
				c.unsaved[topUpOf(*changes[i])] = true
			}
		case changes[i] != nil:
			c.unsure = true
			c.unsaved[topUpOf(*changes[i])] = true
			if forgets {
				c.state.Private = nil
			}
			if this.killed.Load() && changes[i].Prior.Values == nil {
				p.scenario.unsavedCreates.Add(1)
			}
		}
		succeeded = succeeded && (changes[i] == nil || results[i] != nil && !c.open)
	}
	return changed, succeeded && !p.killed
}

// act moves money by an action of the process that changes the card right after.
// What a run moved so that does not end well is foreign money to the next one, which
// names it, and which may hide a killed movement.
func (p *pipeline) act(c *card, process *acctest.Protocol, of *run, change acctest.Change) {
	if p.parallel || change.Planned == nil || c.id() == "" || p.r.IntN(6) > 0 {
		return
	}
	c.loose = c.loose || !p.scenario.proxy.quiet.Load()
	of.calm.Store(true)
	defer of.calm.Store(false)
	amount := usd.Amount(1 + p.r.IntN(9000))
	if _, said := process.InvokeAction("vcard_card_fund", acctest.Object{"card_id": c.id(), "amount": amount.String()}, nil); said.Errors() != "" {
		p.scenario.t.Errorf("%s: an action funds %s: %s", p.scenario, c.id(), said.Errors())
	}
	c.outside += amount
	c.foreign = true
}

// restore brings back the states of some steps ago, as far as their cards live.
func (p *pipeline) restore() {
	if !p.scenario.profile.restores {
		return
	}
	if p.r.IntN(3) == 0 {
		p.saved = map[*card]acctest.Card{}
		for _, c := range p.cards {
			p.saved[c] = c.state
		}
	}
	if p.r.IntN(5) > 0 {
		return
	}
	for _, c := range p.cards {
		before := p.saved[c]
		if c.id() == "" || before.Values["id"] != c.id() {
			continue
		}
		c.unsaved[amountOf(c.state.Values["topped_up"])-amountOf(before.Values["topped_up"])] = true
		c.state, c.open, c.loose = before, true, true
	}
}

// heed does what the provider advises where a movement may have been made
// already: it looks, and sets amount back if it was.
func (p *pipeline) heed(c *card) {
	if !p.scenario.profile.strict {
		return
	}
	planned := amountOf(c.config["amount"]) - amountOf(c.state.Values["amount"])
	came := balanceOf(p.scenario.service, c.id()) - c.outside - c.loaded()
	// An earlier top-up that was not saved may have come besides.
	if planned != 0 && (came == planned || came == planned+sum(maps.Keys(c.unsaved))) {
		c.config["amount"] = c.state.Values["amount"]
		c.outside += planned
	}
}

// plan refreshes and plans; a card without a change has a nil one.
func (p *pipeline) plan(of *run) ([]*acctest.Change, bool) {
	process := p.configure(of)
	changes := make([]*acctest.Change, len(p.cards))
	succeeded := true
	for _, c := range p.cards {
		if c.state.Values == nil {
			continue
		}
		now, said := process.Refresh(c.state)
		p.note(c, said)
		if said.Errors() != "" {
			succeeded = false
			continue
		}
		if now.Values == nil && statusOf(p.scenario.service, c.id()) != "terminated" {
			p.scenario.t.Errorf("%s: card %s left the state and lives:\n%s", p.scenario, c.id(), strings.Join(c.said, "\n"))
		}
		// Terraform saves what it refreshed with the first change that it makes.
		c.state = now
	}
	for i, c := range p.cards {
		if !succeeded || c.config == nil && c.state.Values == nil {
			continue
		}
		change, said := process.Plan(c.state, c.config)
		p.note(c, said)
		if c.state.Values == nil && strings.Contains(said.Warnings(), "Card with this label already exists") {
			p.review(c.config["label"])
		}
		if said.Errors() != "" || strings.Contains(said.Warnings(), "plan again before you apply") {
			succeeded = false
			continue
		}
		if change.Replaces {
			p.scenario.t.Errorf("%s: %s is planned to be replaced", p.scenario, c.id())
			succeeded = false
		}
		if changes[i] = &change; isEmpty(change) {
			changes[i] = nil
			c.open = false
		}
	}
	return changes, succeeded
}

// review hears what a statement says of a new card's label. A plan names one of the cards that
// have it, and the statement all.
func (p *pipeline) review(label any) {
	p.scenario.mu.Lock()
	defer p.scenario.mu.Unlock()
	for _, live := range p.scenario.service.LiveCards() {
		if live["label"] == label {
			p.scenario.history = append(p.scenario.history, fmt.Sprint(live["id"]))
		}
	}
}

// topUpOf is what a change tops a card up with.
func topUpOf(change acctest.Change) usd.Amount {
	planned := change.Planned["topped_up"]
	if change.Prior.Values == nil || planned == nil || planned == acctest.Unknown {
		return 0
	}
	return amountOf(planned) - amountOf(change.Prior.Values["topped_up"])
}

// isEmpty tells whether Terraform would say "No changes".
func isEmpty(change acctest.Change) bool {
	if change.Prior.Values == nil || change.Planned == nil {
		return change.Prior.Values == nil && change.Planned == nil
	}
	for name, planned := range change.Planned {
		if fmt.Sprint(planned) != fmt.Sprint(change.Prior.Values[name]) {
			return false
		}
	}
	return true
}

// edit changes the configuration of one card.
func (p *pipeline) edit() {
	w := p.scenario
	i := p.r.IntN(len(p.cards))
	c := p.cards[i]
	if c.unsure && w.profile.strict {
		if p.r.IntN(3) > 0 {
			return // what is open is applied first, as a rule
		}
		c.loose = true
	}
	c.open = true
	if c.config == nil {
		if c.state.Values == nil {
			p.cards[i] = newCard(p.newConfig())
		}
		return
	}
	switch n := p.r.IntN(20); {
	case n < 10 && c.config["top_up"] != nil: // lowered, it would get into the range
		c.config["amount"] = (amountOf(c.config["amount"]) + amountOf(dollars(p.r, 1, 50))).String()
	case n < 10:
		c.config["amount"] = dollars(p.r, 500, 900)
	case n < 14:
		frozen, _ := c.config["frozen"].(bool)
		c.config["frozen"] = pick[any](p.r, !frozen, !frozen, nil)
	case n < 16:
		amount := amountOf(c.config["amount"])
		c.config["top_up"] = pick[any](p.r, nil, acctest.Object{"below": amount.String(), "to": (amount + 10*usd.Dollar).String()})
	case n < 18:
		if label, written := c.config["label"].(string); written && c.state.Values == nil {
			w.abandoned.Store(label, true)
		}
		c.config = nil
	case len(p.cards) < 6:
		p.cards = append(p.cards, newCard(p.newConfig()))
	}
}

func (p *pipeline) newConfig() acctest.Object {
	config := acctest.Object{"bin_id": "bin_ads_visa_us", "amount": "600"}
	switch p.r.IntN(8) {
	case 0, 1, 2, 3, 4: // as others of this pipeline, so that their cards look the same
		config["label"] = "ads of " + p.name
	case 5:
		if p.scenario.profile.told == "honoured" || !p.scenario.profile.strict {
			config["label"] = sharedLabel
		}
	}
	return config
}

func dollars(r *rand.Rand, from, to int) string { return fmt.Sprint(from + r.IntN(to-from)) }

func amountOf(value any) usd.Amount {
	if value == nil {
		return 0
	}
	var amount usd.Amount
	if err := amount.UnmarshalJSON([]byte(strings.TrimSpace(fmt.Sprint(value)))); err != nil {
		panic(err)
	}
	return amount
}
