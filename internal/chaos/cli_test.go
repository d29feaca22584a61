//go:build unix

package chaos_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/statement"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var deaths = flag.Int("chaos.deaths", 0, "deaths of the provider under the real CLI, at the least; 0 leaves them out")

// systemClock is the machine's, on which the built provider runs.
type systemClock struct{}

func (systemClock) Now() time.Time          { return time.Now() }
func (systemClock) advance(_ time.Duration) {}

// How a run ends before its time.
const (
	providerDies    = "providers died"
	allDie          = "runs killed"
	interruptedOnce = "runs interrupted"
	signalsTwice    = "runs interrupted twice"
	endsWell        = "runs to the end"
)

// TestCLI applies with the real CLI, whose provider dies at random moments, alone or
// with the CLI, or which is interrupted, and then to the end. Cards are funded, topped
// up, frozen, issued and terminated meanwhile; states of before come back, and plans
// are changed. A tenth of the deaths are those of the built provider, which is killed;
// else one in this process is cut off, which spends no real time waiting.
func TestCLI(t *testing.T) {
	t.Parallel()
	if *deaths == 0 {
		t.Skip("-chaos.deaths says how many")
	}
	first := *seed
	honoured := profile{name: "honoured", idempotency: "honoured", told: "honoured", repeats: true, longest: 20 * time.Second, strict: true}
	ignored := profile{name: "ignored", idempotency: "ignored", told: "unknown", longest: 20 * time.Second, afterKill: time.Minute, strict: true}
	for name, run := range map[string]struct {
		profile profile
		clock   serviceClock
		deaths  int
	}{
		"built":    {honoured, systemClock{}, *deaths / 10},
		"honoured": {honoured, newClock(), *deaths - *deaths/2 - *deaths/10},
		"ignored":  {ignored, newClock(), *deaths / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCommandLine(t, first, run.profile, run.clock)
			t.Cleanup(func() {
				t.Logf("%d mutating requests, %v; %d requests were under way at deaths, and %d cards were left that no state has; its choices repeat with -chaos.seed=%d",
					c.proxy.mutating, c.ended, c.underWay, c.left, first)
			})
			for c.ended[providerDies] < run.deaths && !t.Failed() {
				c.live()
			}
		})
	}
}

// commandLine is the real CLI with some cards on a service behind the proxy.
type commandLine struct {
	t       *testing.T
	r       *rand.Rand
	profile profile
	clock   serviceClock
	proxy   *proxy
	service *sandboxtest.Server
	folder  *acctest.Workspace
	cards   map[int]*managed
	issued  int
	bought  int
	runs    int
	said    strings.Builder

	ended          map[string]int
	underWay, left int
}

// managed is a card as it is configured.
type managed struct {
	label  string // generated where it is ""
	amount int
	topUp  bool // between 300 and 600 USD
	frozen bool

	outside usd.Amount // what came without Terraform, or is taken as that
	changed bool       // its plan was, after a run that did not end well
	givenUp bool       // an undecided top-up is, by a plan without top_up
}

const (
	topUpBelow = 300
	topUpTo    = 600
)

func newCommandLine(t *testing.T, seed uint64, p profile, clock serviceClock) *commandLine {
	t.Helper()
	c := &commandLine{
		t: t, r: rand.New(rand.NewPCG(seed, 4)), profile: p, clock: clock, folder: acctest.NewWorkspace(t),
		cards: map[int]*managed{}, ended: map[string]int{},
	}
	c.proxy, c.service = startProxied(t, seed, clock, p)
	if _, ok := clock.(systemClock); ok {
		c.folder = c.folder.Built()
	}
	for range 10 {
		c.issue()
	}
	return c
}

func (c *commandLine) issue() {
	added := &managed{amount: topUpTo, topUp: c.issued%3 == 0}
	if c.issued%4 > 0 {
		added.label = fmt.Sprint("ads ", c.issued)
	}
	c.cards[c.issued] = added
	c.issued++
}

// live changes the configuration, lets runs come to bad ends, and then one to a good one.
func (c *commandLine) live() {
	for range 2 {
		c.issue()
	}
	numbers := slices.Sorted(maps.Keys(c.cards))
	for _, n := range numbers[:max(0, len(numbers)-12)] {
		delete(c.cards, n)
	}
	c.change(false)
	state := filepath.Join(c.folder.Dir, "terraform.tfstate")
	for range 4 + c.r.IntN(5) {
		before, err := os.ReadFile(state)
		c.ended[c.apply()]++
		if after, broken := os.ReadFile(state); err == nil && (c.r.IntN(5) == 0 || broken == nil && !json.Valid(after)) {
			c.ended["states restored"]++
			err = os.WriteFile(state, before, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			c.t.Fatal(err)
		}
		if c.r.IntN(4) == 0 {
			c.ended["plans changed"]++
			c.change(true)
		}
	}
	c.audit()
}

// change changes what cards are to hold and to be, perhaps after runs that came to a bad end.
func (c *commandLine) change(midway bool) {
	now := c.instances()
	for _, n := range slices.Sorted(maps.Keys(c.cards)) {
		card := c.cards[n]
		if c.r.IntN(3) == 0 || card.outside != 0 && c.profile.told == "unknown" { // it would hide a movement of the opposite sign
			continue
		}
		card.frozen = !card.topUp && c.r.IntN(3) == 0
		if !card.topUp {
			card.changed = midway
			card.amount = 500 + c.r.IntN(400)
			continue
		}
		if id := now[n].ID; id != "" && statusOf(c.service, id) == "active" {
			spent := usd.Amount(100+c.r.IntN(300)) * usd.Dollar
			// Each at a shop of its own, and settled: else the release of a hold of as much
			// as is topped up could not be told from that.
			c.bought++
			bought := authorize(c.service, id, spent, 0, fmt.Sprint("Shop ", c.bought))
			if bought.Body["decline_reason"] == nil {
				c.service.Settle(bought.Transaction(), "")
			}
		}
	}
}

// instance is a card in a state.
type instance struct {
	ID     string          `json:"id"`
	Amount json.RawMessage `json:"amount"`
}

// loaded is the amount in whole USD, as they all are here.
func (i instance) loaded() usd.Amount {
	whole, _ := strconv.Atoi(strings.Trim(string(i.Amount), `"`))
	return usd.Amount(whole)
}

// instances are the cards in the state, by their number.
func (c *commandLine) instances() map[int]instance {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder.Dir, "terraform.tfstate"))
	if errors.Is(err, os.ErrNotExist) || err == nil && !json.Valid(text) { // it was written in part
		return nil
	}
	var state struct {
		Resources []struct {
			Name      string `json:"name"`
			Instances []struct {
				Attributes instance `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	if err = errors.Join(err, json.Unmarshal(text, &state)); err != nil {
		c.t.Fatal(err)
	}
	all := map[int]instance{}
	for _, r := range state.Resources {
		if n, err := strconv.Atoi(strings.TrimPrefix(r.Name, "c")); err == nil && len(r.Instances) > 0 {
			all[n] = r.Instances[0].Attributes
		}
	}
	return all
}

// begin writes the configuration of the next run.
func (c *commandLine) begin() *run {
	c.runs++
	started := &run{name: fmt.Sprint("cli-", c.runs), interrupt: func() {}, kill: func() {}}
	cards := map[string]any{}
	for n, card := range c.cards {
		config := map[string]any{"bin_id": sandboxtest.BIN, "amount": card.amount, "frozen": card.frozen}
		if card.label != "" {
			config["label"] = card.label
		}
		if card.topUp && !card.givenUp {
			config["top_up"] = map[string]any{"below": topUpBelow, "to": topUpTo}
		}
		cards[fmt.Sprint("c", n)] = config
	}
	configuration, err := json.MarshalIndent(map[string]any{
		"terraform": map[string]any{"required_providers": map[string]any{"vcard": map[string]any{"source": "vcard/vcard"}}},
		"provider": map[string]any{"vcard": map[string]any{
			"base_url": c.service.Root() + "/" + started.name + "/api/v1", "api_key": c.service.Key, "idempotency_keys": c.profile.told,
		}},
		"data":     map[string]any{"vcard_cards": map[string]any{"all": map[string]any{}}}, // for the statement
		"resource": map[string]any{"vcard_card": cards},
	}, "", " ")
	if err != nil {
		c.t.Fatal(err)
	}
	c.folder.Write("main.tf.json", string(configuration))
	c.proxy.runs.Store(started.name, started)
	return started
}

// command is one with a provider of its own, which die ends.
func (c *commandLine) command(of *run, args ...string) (command *exec.Cmd, output *bytes.Buffer, die func()) {
	if args[0] != "show" {
		args = append(args, "-lock=false", "-parallelism=20")
	}
	command, output = exec.Command(acctest.CLI(), append(args, "-no-color")...), new(bytes.Buffer)
	command.Dir, command.Env = c.folder.Dir, append(os.Environ(), c.folder.Env...)
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the provider dies with the CLI
	die = func() { killChildren(command.Process.Pid) }
	if virtual, ok := c.clock.(*clock); ok {
		variable, stop := acctest.ServeProvider(c.t, provider.WithClock(runClock{virtual, &of.killed}))
		command.Env, die = append(command.Env, variable), stop
	}
	return command, output, die
}

// review hears, as a pipeline does before it applies, what a plan and its statement say: the
// plan names some live cards that are in no state, and the statement all.
func (c *commandLine) review(of *run) {
	c.t.Helper()
	for _, args := range [][]string{{"plan", "-out=plan"}, {"show", "-json", "plan"}} {
		command, output, die := c.command(of, args...)
		err := command.Run()
		if _, ok := c.clock.(*clock); ok {
			die()
		}
		if args[0] == "plan" {
			c.said.Write(output.Bytes())
		}
		if err != nil {
			return // apply says what is wrong
		}
		if args[0] == "show" {
			statement.Main([]string{"--no-unmanaged", "-"}, output, &c.said, &c.said)
		}
	}
}

// apply applies until it ends or is ended, at the latest after a while, and says how.
func (c *commandLine) apply() string {
	this := c.begin()
	end := pick(c.r, providerDies, providerDies, providerDies, providerDies, providerDies, providerDies, allDie, interruptedOnce, signalsTwice)
	if c.r.IntN(5) > 0 {
		this.killAt = 1 + c.r.IntN(8)
	}
	this.calm.Store(true)
	c.review(this)
	this.calm.Store(false)
	command, output, die := c.command(this, "apply", "-auto-approve")
	if err := command.Start(); err != nil {
		c.t.Fatal(err)
	}
	group := -command.Process.Pid
	signal := func(s syscall.Signal) { _ = syscall.Kill(group, s) }
	struck := make(chan struct{}, 1)
	this.interrupt = func() { signal(syscall.SIGINT) }
	strike := map[string]func(){
		providerDies:    die,
		allDie:          func() { signal(syscall.SIGKILL) },
		interruptedOnce: this.interrupt,
		signalsTwice: func() {
			this.interrupt()
			time.AfterFunc(200*time.Millisecond, this.interrupt)
		},
	}[end]
	this.kill = func() {
		select {
		case struck <- struct{}{}:
			c.underWay += int(c.proxy.underWay.Load())
			this.killed.Store(end == providerDies || end == allDie)
			strike()
		default: // it was struck already
		}
	}
	timer := time.AfterFunc(time.Duration(300+c.r.IntN(4000))*time.Millisecond, this.kill)
	_ = command.Wait() // it is meant to fail
	timer.Stop()
	if len(struck) == 0 {
		end = endsWell
	}
	this.killed.Store(true)
	if _, ok := c.clock.(*clock); ok {
		die()
	}
	c.clock.advance(c.profile.afterKill)
	c.hear(output.String())
	return end
}

var mayBeMade = regexp.MustCompile(`Error: Could not .*(card_\w+).*(it may already be done|the card does not show it)`)

// hear does what the provider advises where a movement may have been made already:
// it looks after a while, and sets amount back if it was.
func (c *commandLine) hear(output string) {
	c.t.Helper()
	c.said.WriteString(output)
	c.proxy.deliverLate(c.clock.Now().Add(time.Minute))
	now := c.instances()
	for _, stop := range mayBeMade.FindAllStringSubmatch(output, -1) {
		for n, i := range now {
			card := c.cards[n]
			if card == nil || card.topUp || i.ID != stop[1] {
				continue
			}
			came := balanceOf(c.service, i.ID) - card.outside - i.loaded()*usd.Dollar
			if planned := usd.Amount(card.amount) - i.loaded(); planned != 0 && came == planned*usd.Dollar {
				card.amount = int(i.loaded())
				card.outside += came
			}
		}
	}
}

// killChildren kills the processes that a process has started.
func killChildren(parent int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // none elsewhere, and then none is killed
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid, rest, _ := strings.Cut(string(text), " ")
		fields := strings.Fields(rest[strings.LastIndex(rest, ")")+1:]) // state, parent …
		child, err := strconv.Atoi(pid)
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	}
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }
