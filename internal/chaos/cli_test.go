//go:build unix

package chaos_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

var cliCalls = flag.Int("chaos.cli", 0, "mutating requests through the real CLI at the least; 0 leaves them out")

// systemClock is the machine's, on which the built provider runs.
type systemClock struct{}

func (systemClock) Now() time.Time          { return time.Now() }
func (systemClock) advance(_ time.Duration) {}

// commandLine is the real CLI with ten cards on a service behind the proxy.
type commandLine struct {
	t       *testing.T
	r       *rand.Rand
	proxy   *proxy
	service *sandboxtest.Server
	folder  *acctest.Workspace
	amounts [10]int
	runs    int
	said    strings.Builder
}

// TestCLI applies with the real CLI, which is killed or interrupted at random
// moments, alone or with its provider, and then to the end. States of before come
// back. Keys are honoured: what they are when they are
// not takes waits that no real clock should spend.
func TestCLI(t *testing.T) {
	t.Parallel()
	if *cliCalls == 0 {
		t.Skip("-chaos.cli says how many calls")
	}
	first := firstSeed()
	t.Logf("its choices repeat with -chaos.seed=%d", first)
	c := &commandLine{t: t, r: rand.New(rand.NewPCG(first, 4)), folder: acctest.NewWorkspace(t)}
	c.proxy = newProxy(first, systemClock{}, profile{name: "CLI", idempotency: "honoured", told: "honoured", repeats: true, longest: 20 * time.Second, strict: true})
	c.service = sandboxtest.Start(t, func(o *sandboxtest.Options) {
		o.Options = sandbox.Options{Path: ":memory:", InitialBalance: 10_000_000 * usd.Dollar}
		o.Wrap = func(service http.Handler) http.Handler {
			c.proxy.service = service
			return c.proxy
		}
	})
	c.service.Unlimited()
	kills := map[string]int{}
	state := filepath.Join(c.folder.Dir, "terraform.tfstate")
	for c.proxy.mutating < *cliCalls && !t.Failed() {
		for i := range c.amounts {
			c.amounts[i] = 500 + c.r.IntN(400)
		}
		for range 1 + c.r.IntN(3) {
			before, err := os.ReadFile(state)
			kills[c.apply(time.Duration(500+c.r.IntN(3000))*time.Millisecond)]++
			if err == nil && c.r.IntN(4) == 0 {
				kills["states restored"]++
				if err := os.WriteFile(state, before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.audit()
	}
	t.Logf("%d mutating requests, %v", c.proxy.mutating, kills)
}

// begin writes the configuration of the next run.
func (c *commandLine) begin() *run {
	c.runs++
	started := &run{name: fmt.Sprint("cli-", c.runs), interrupt: func() {}, kill: func() {}}
	if c.r.IntN(2) == 0 {
		started.killAt = 1 + c.r.IntN(12)
	}
	cards := map[string]any{}
	for i, amount := range c.amounts {
		cards[fmt.Sprint("c", i)] = map[string]any{"bin_id": sandboxtest.BIN, "label": fmt.Sprint("ads ", i), "amount": amount}
	}
	configuration, err := json.Marshal(map[string]any{
		"terraform": map[string]any{"required_providers": map[string]any{"vcard": map[string]any{"source": "vcard/vcard"}}},
		"provider": map[string]any{"vcard": map[string]any{
			"base_url": c.service.Root() + "/" + started.name + "/api/v1", "api_key": c.service.Key, "idempotency_keys": "honoured",
		}},
		"resource": map[string]any{"vcard_card": cards},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.folder.Write("main.tf.json", string(configuration))
	c.proxy.begin(started)
	return started
}

// How a run ends before its time.
const (
	killsAll      = "runs killed"
	killsProvider = "providers killed"
	signalsTwice  = "runs interrupted twice"
)

// apply applies until it ends or is killed, at the latest after a while, and says
// how it ended.
func (c *commandLine) apply(atLatest time.Duration) string {
	this := c.begin()
	end := pick(c.r, killsAll, killsProvider, killsProvider, signalsTwice)
	command := exec.Command(acctest.CLI(), "apply", "-auto-approve", "-lock=false", "-no-color")
	command.Dir, command.Env = c.folder.Dir, append(os.Environ(), c.folder.Env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the provider dies with the CLI
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		c.t.Fatal(err)
	}
	pid := command.Process.Pid
	this.interrupt = func() { _ = syscall.Kill(pid, syscall.SIGINT) }
	this.kill = map[string]func(){
		killsAll:      func() { _ = syscall.Kill(-pid, syscall.SIGKILL) },
		killsProvider: func() { killChildren(pid) },
		signalsTwice: func() {
			this.interrupt()
			time.AfterFunc(200*time.Millisecond, this.interrupt)
		},
	}[end]
	timer := time.AfterFunc(atLatest, func() {
		this.killed.Store(end != signalsTwice)
		this.kill()
	})
	_ = command.Wait() // it is meant to fail
	timer.Stop()
	c.said.Write(output.Bytes())
	if !this.killed.Load() && end != signalsTwice {
		return "runs to the end"
	}
	return end
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

// audit applies without faults, and compares every card with its amount.
func (c *commandLine) audit() {
	c.t.Helper()
	c.proxy.deliverLate(time.Now().Add(time.Hour))
	c.proxy.calm()
	defer c.proxy.faultAgain()
	c.begin()
	output := c.folder.Must("apply", "-auto-approve", "-lock=false", "-no-color")
	c.said.WriteString(output)
	if code, plan := c.folder.Run("plan", "-detailed-exitcode", "-lock=false", "-no-color"); code != 0 {
		c.t.Errorf("the next plan is not empty:\n%s", plan)
	}
	state := c.folder.Must("show", "-json")
	found := 0
	for _, card := range c.service.LiveCards() {
		id := fmt.Sprint(card["id"])
		var number int
		if _, err := fmt.Sscanf(fmt.Sprint(card["label"]), "ads %d", &number); err != nil {
			c.t.Fatal(err)
		}
		switch {
		case !strings.Contains(state, id):
			if !strings.Contains(c.said.String(), id) {
				c.t.Errorf("card %s is in no state and was never named", id)
			}
			c.service.Terminate(id)
		default:
			found++
			if want := usd.Amount(c.amounts[number]) * usd.Dollar; amountOf(card["balance"]) != want {
				c.t.Errorf("card %s holds %v, want %s:\n%s", id, card["balance"], want, output)
			}
		}
	}
	if found != len(c.amounts) {
		c.t.Errorf("%d cards are in the state, want %d", found, len(c.amounts))
	}
	c.service.Balanced()
}

func TestMain(m *testing.M) {
	code := m.Run()
	sandboxtest.RemoveProgram()
	os.Exit(code)
}
