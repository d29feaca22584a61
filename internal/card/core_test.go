package card_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// cli is a folder and who runs commands in it: the real CLI, or core.
type cli interface {
	Write(name, content string)
	Run(args ...string) (int, string)
	Must(args ...string) string
	RunUntil(due <-chan struct{}, signal syscall.Signal, args ...string) (int, string)
}

// newCLI runs commands in this process, in a fraction of the time of the real CLI, which
// make test-quirks and make race take. Without a clock, each command has its own.
func newCLI(t *testing.T, clock *acctest.Clock) cli {
	t.Helper()
	if os.Getenv("TF_ACC_CORE") == "cli" {
		return acctest.NewWorkspace(t).On(clock)
	}
	return newCore(t, clock)
}

func newCore(t *testing.T, clock *acctest.Clock) *core {
	t.Helper()
	return &core{t: t, clock: clock, files: map[string]string{}, state: map[string]acctest.Instance{}, plans: map[string]*corePlan{}}
}

// core is as much of Terraform's core as one kind of resource needs: it refreshes,
// plans twice, applies, and checks what Terraform does, for ten cards at a time. It
// prints what the diagnostics say and what changes. What needs more needs the CLI.
type core struct {
	t     *testing.T
	clock *acctest.Clock
	files map[string]string
	state map[string]acctest.Instance // by address
	plans map[string]*corePlan        // saved ones

	interrupt <-chan struct{} // when the next apply is to be interrupted

	mu     sync.Mutex // of output
	output strings.Builder
	failed atomic.Bool
}

// corePlan is what the cards are to become.
type corePlan struct {
	provider             object
	state                map[string]acctest.Instance // refreshed
	configs              map[string]coreConfig
	changes, creations   map[string]acctest.Change // those of replacements
	add, change, destroy int
}

func (c *core) Write(name, content string) { c.files[name] = content }

func (c *core) Must(args ...string) string {
	c.t.Helper()
	code, output := c.Run(args...)
	if code != 0 {
		c.t.Fatalf("terraform %v ended with %d:\n%s", args, code, output)
	}
	return output
}

func (c *core) Run(args ...string) (int, string) {
	c.t.Helper()
	return c.run(nil, args)
}

// RunUntil ends provider and core at once when it is due, as SIGKILL does, or asks
// the provider to stop.
func (c *core) RunUntil(due <-chan struct{}, signal syscall.Signal, args ...string) (int, string) {
	c.t.Helper()
	if args[0] != "apply" {
		c.t.Fatalf("terraform %v needs the CLI", args)
	}
	c.interrupt = nil
	if signal != syscall.SIGKILL {
		c.interrupt, due = due, nil
	}
	return c.run(due, args)
}

func (c *core) run(due <-chan struct{}, args []string) (int, string) {
	c.t.Helper()
	c.output.Reset()
	c.failed.Store(false)
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	refresh, detailed, save := flags.Bool("refresh", true, ""), flags.Bool("detailed-exitcode", false, ""), flags.String("out", "", "")
	refreshOnly := flags.Bool("refresh-only", args[0] == "refresh", "")
	for _, ignored := range []string{"no-color", "auto-approve"} {
		flags.Bool(ignored, false, "")
	}
	if err := flags.Parse(args[1:]); err != nil {
		c.t.Fatalf("terraform %v needs the CLI: %s", args, err)
	}
	switch args[0] {
	case "import":
		settings, _ := c.configuration()
		card, diags := c.start(settings).Import("vcard_card", flags.Arg(1), nil)
		if !c.say(diags) {
			c.state[flags.Arg(0)] = card
		}
		return c.ended()
	case "show":
		for _, card := range c.state {
			for name, value := range card.Values {
				c.print("%s = %s\n", name, coreValue(value))
			}
		}
		return c.ended()
	}
	plan := c.plans[flags.Arg(0)]
	if flags.NArg() == 0 {
		plan = c.plan(args[0] == "destroy", *refresh, *refreshOnly)
		c.plans[*save] = plan
	}
	if args[0] == "plan" && *detailed && plan.add+plan.change+plan.destroy > 0 && !c.failed.Load() {
		return 2, c.output.String()
	}
	if args[0] == "plan" || c.failed.Load() {
		return c.ended()
	}
	if due == nil {
		c.state = plan.state
	}
	c.apply(plan, due)
	if due != nil {
		c.failed.Store(true)
	}
	return c.ended()
}

func (c *core) ended() (int, string) {
	if c.failed.Load() {
		return 1, c.output.String()
	}
	return 0, c.output.String()
}

// plan refreshes and plans what the files configure.
func (c *core) plan(destroy, refresh, refreshOnly bool) *corePlan {
	c.t.Helper()
	plan := &corePlan{state: maps.Clone(c.state), changes: map[string]acctest.Change{}, creations: map[string]acctest.Change{}}
	plan.provider, plan.configs = c.configuration()
	if destroy {
		plan.configs = nil
	}
	p := c.start(plan.provider)
	addresses := slices.Sorted(maps.Keys(plan.configs))
	for address := range c.state {
		if plan.configs[address].values == nil {
			addresses = append(addresses, address)
		}
	}
	var mu sync.Mutex
	c.each(addresses, func(address string) {
		card, there := c.state[address]
		if !there {
			card.Type = "vcard_card"
		}
		if there && refresh {
			now, diags := p.Refresh(card)
			if c.say(diags) {
				return
			}
			card = now
		}
		mu.Lock()
		if delete(plan.state, address); card.Values != nil {
			plan.state[address] = card
		}
		mu.Unlock()
		config := plan.configs[address].without(card)
		if refreshOnly {
			mu.Lock()
			defer mu.Unlock()
			c.shows(plan, address, acctest.Change{Prior: c.state[address], Planned: card.Values})
			return
		}
		if config == nil && card.Values == nil {
			return
		}
		change, diags := p.Plan(card, config)
		if c.say(diags) {
			return
		}
		var creation acctest.Change
		if len(change.Replaces) > 0 {
			creation, diags = p.Plan(change.After(), config)
			if c.say(diags) {
				return
			}
		}
		mu.Lock()
		defer mu.Unlock()
		plan.changes[address], plan.creations[address] = change, creation
		c.shows(plan, address, change)
	})
	if plan.add+plan.change+plan.destroy == 0 {
		c.print("No changes.\n")
	} else if !refreshOnly {
		c.print("Plan: %d to add, %d to change, %d to destroy.\n", plan.add, plan.change, plan.destroy)
	}
	return plan
}

// shows counts and prints a change.
func (c *core) shows(plan *corePlan, address string, change acctest.Change) {
	switch {
	case change.Prior.Values == nil:
		plan.add++
	case change.Planned == nil:
		plan.destroy++
	case len(change.Replaces) > 0:
		plan.add, plan.destroy = plan.add+1, plan.destroy+1
		c.print("%s must be replaced\n", address)
	case plain(change.Prior.Values) != plain(change.Planned):
		plan.change++
	default:
		return
	}
	for _, name := range sortedKeys(change.Planned) {
		was, is := coreValue(change.Prior.Values[name]), coreValue(change.Planned[name])
		switch forces := slices.Contains(change.Replaces, name); {
		case was == is:
		case forces:
			c.print("  ~ %s = %s -> %s # forces replacement\n", name, was, is)
		default:
			c.print("  ~ %s = %s -> %s\n", name, was, is)
		}
	}
}

func coreValue(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return plain(value)
}

// apply makes the changes of a plan, until it is due.
func (c *core) apply(plan *corePlan, due <-chan struct{}) {
	c.t.Helper()
	alive, kill := context.WithCancel(c.t.Context())
	defer kill()
	settings := maps.Clone(plan.provider)
	if due != nil { // then nothing reaches the service any more
		service := &acctest.Service{Client: sandboxtest.NewClient(c.t, process.Address{URL: plain(settings["base_url"]), Key: plain(settings["api_key"])})}
		settings["base_url"] = service.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
			if alive.Err() != nil {
				panic(http.ErrAbortHandler)
			}
			ctx, cancel := context.WithCancel(r.Context())
			context.AfterFunc(alive, cancel)
			*r = *r.WithContext(ctx)
			return false
		}).URL
	}
	p, hangUp := c.start(settings).Caller()
	defer hangUp()
	ended := make(chan struct{})
	defer close(ended)
	go func(interrupt <-chan struct{}) {
		select {
		case <-due:
			kill()
			hangUp()
		case <-interrupt:
			p.Interrupt()
		case <-ended:
		}
	}(c.interrupt)
	var mu sync.Mutex
	c.each(slices.Sorted(maps.Keys(plan.changes)), func(address string) {
		change := plan.changes[address]
		if plain(change.Prior.Values) == plain(change.Planned) {
			return
		}
		if len(change.Replaces) > 0 {
			if _, diags := p.Apply(acctest.Change{Prior: change.Prior}, nil); c.say(diags) {
				return
			}
			change = plan.creations[address]
			change.Prior.Private = nil
		}
		again, diags := p.Plan(change.Prior, change.Config)
		if c.say(diags) || alive.Err() != nil {
			return
		}
		c.agree(address, "The provider produced an inconsistent final plan", change.Planned, again.Planned)
		again.Config = plan.configs[address].values // with what was ignored in the plan
		now, diags := p.Apply(again, nil)
		if alive.Err() != nil {
			return
		}
		if !c.say(diags) {
			c.agree(address, "The provider produced an inconsistent result", again.Planned, now.Values)
		} else if change.Prior.Values == nil && now.Values != nil {
			c.t.Errorf("a tainted card needs the CLI")
		}
		mu.Lock()
		defer mu.Unlock()
		if delete(c.state, address); now.Values != nil {
			c.state[address] = now
		}
	})
	if !c.failed.Load() {
		c.print("Apply complete! Resources: %d added, %d changed, %d destroyed.\n", plan.add, plan.change, plan.destroy)
	}
}

// agree checks that what was planned is what comes.
func (c *core) agree(address, what string, planned, comes object) {
	for name, value := range known(planned) {
		if plain(value) != plain(comes[name]) {
			c.t.Errorf("%s: %s: %s was planned as %s and is %s", address, what, name, plain(value), plain(comes[name]))
		}
	}
}

// each does something for each address, ten at a time.
func (c *core) each(addresses []string, do func(address string)) {
	var running errgroup.Group
	running.SetLimit(10)
	for _, address := range addresses {
		running.Go(func() error {
			do(address)
			return nil
		})
	}
	_ = running.Wait()
}

// start is a provider process of its own.
func (c *core) start(settings object) *acctest.Protocol {
	c.t.Helper()
	return acctest.Configure(c.t, settings, provider.WithClock(cmp.Or(c.clock, new(acctest.Clock))))
}

func (c *core) print(format string, values ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(&c.output, format, values...)
}

// say prints diagnostics and reports whether there is an error.
func (c *core) say(diags acctest.Diagnostics) (failed bool) {
	for _, one := range diags {
		kind := "Warning"
		if one.Severity == tfprotov6.DiagnosticSeverityError {
			kind, failed = "Error", true
			c.failed.Store(true)
		}
		c.print("%s: %s\n\n%s\n", kind, one.Summary, one.Detail)
	}
	return failed
}
