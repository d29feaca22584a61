// Package acctest lets tests run the real CLI against a sandbox over real HTTP,
// with the wire contract checked on every exchange. Only tests import it.
package acctest

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Service is a sandbox of its own, served on loopback for one test, and a client of it.
type Service struct{ *sandboxtest.Client }

// InitialBalance is what the wallet of a Service holds at first.
const InitialBalance = sandbox.DefaultInitialBalance

// Start serves a sandbox until the test ends. The options relax the contract
// checker for services that are told to misbehave.
func Start(t testing.TB, options ...contract.Option) *Service {
	t.Helper()
	return &Service{sandboxtest.Start(t, InMemory(t, options...)).Client}
}

// StartOn is Start on a clock, which its time goes by.
func StartOn(t testing.TB, clock *Clock, options ...contract.Option) *Service {
	t.Helper()
	begun := clock.Now()
	return &Service{sandboxtest.Start(t, InMemory(t, options...), func(o *sandboxtest.Options) {
		o.Clock = func() time.Time { return noon().Add(clock.Now().Sub(begun)) }
	}).Client}
}

// noon is that of a day in the middle of a month.
func noon() time.Time { return time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC) }

// InMemory is an option of Start's sandbox: it keeps nothing, is held to the
// contract, and begins at noon of a day in the middle of a month.
func InMemory(t testing.TB, options ...contract.Option) func(*sandboxtest.Options) {
	t.Helper()
	return func(o *sandboxtest.Options) {
		sandboxtest.StartingAt(noon())(o)
		o.Path = ":memory:"
		if sandboxtest.WithQuirks() { // of which the contract holds the defaults
			options = append(options, contract.RequestsOnly())
		}
		o.Wrap = func(h http.Handler) http.Handler { return contract.Handler(t, h, options...) }
	}
}

// Provider is the provider block for this service, to begin a configuration with.
func (s *Service) Provider() string {
	return fmt.Sprintf("provider \"vcard\" {\n  base_url = %q\n  api_key  = %q\n}\n", s.URL, s.Key)
}

// Proxy returns this service as seen through a proxy. Intercept may change a
// request, or answer it and return true.
func (s *Service) Proxy(intercept func(w http.ResponseWriter, r *http.Request) bool) *Service {
	s.T.Helper()
	target, err := url.Parse(s.Root())
	if err != nil {
		s.T.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !intercept(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	s.T.Cleanup(server.Close)
	return &Service{sandboxtest.NewClient(s.T, process.Address{URL: server.URL + "/api/v1", Key: s.Key})}
}

// Factories serve the provider in this process.
func Factories() map[string]func() (tfprotov6.ProviderServer, error) {
	prepareCLI()
	return map[string]func() (tfprotov6.ProviderServer, error){
		"vcard": func() (tfprotov6.ProviderServer, error) {
			return provider.NewServer("test", provider.WithClock(new(Clock)))(), nil
		},
	}
}

// prepareCLI tells the test framework which registry the CLI under test thinks in, and
// the CLI that it has memory enough for as long as it runs.
var prepareCLI = sync.OnceFunc(func() {
	_ = os.Setenv("GOGC", "off")
	_ = os.Setenv("GOMEMLIMIT", "1GiB") // where it is on again
	if OpenTofu() {
		_ = os.Setenv("TF_ACC_PROVIDER_HOST", "registry.opentofu.org")
	}
})

// longestWait is what a wait takes at most on a Clock.
const longestWait = 10 * time.Millisecond

// Clock is a real clock that jumps over all but the beginning of each wait.
type Clock struct {
	mu      sync.Mutex
	skipped time.Duration
}

// Now is the time, with all that was jumped over.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

// Wait waits for the beginning of d, and jumps over the rest: those who wait at the same
// time do not wait for each other.
func (c *Clock) Wait(ctx context.Context, d time.Duration) error {
	end := c.Now().Add(d)
	timer := time.NewTimer(min(d, longestWait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped += max(0, end.Sub(time.Now().Add(c.skipped)))
	return nil
}

// CLI returns the path of the Terraform or OpenTofu under test: the one that
// TF_ACC_TERRAFORM_PATH names, else the first on PATH, else "".
func CLI() string { return cli().path }

// OpenTofu reports whether the CLI under test is OpenTofu.
func OpenTofu() bool { return cli().tofu }

// Needs skips the test on a CLI older than the versions that have the feature:
// one of Terraform and one of OpenTofu, where "" means that it has it not.
func Needs(t testing.TB, terraform, tofu string) {
	t.Helper()
	if !Has(terraform, tofu) {
		t.Skipf("the CLI under test (%s) does not have this; the protocol tests cover it", cli().name)
	}
}

// Has reports whether the CLI under test is at least of the versions that Needs takes.
func Has(terraform, tofu string) bool {
	least := terraform
	if OpenTofu() {
		least = tofu
	}
	return least != "" && cli().version != nil && cli().version.Core().GreaterThanOrEqual(version.Must(version.NewVersion(least)))
}

type commandLine struct {
	path, name string
	tofu       bool
	version    *version.Version
}

var cli = sync.OnceValue(func() commandLine {
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	for _, name := range []string{"terraform", "tofu"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		return commandLine{name: "none found"}
	}
	c := commandLine{path: path, name: path}
	command := exec.Command(path, "version")
	command.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
	output, _ := command.Output()
	// Warnings about the CLI's own configuration may come first.
	if said := regexp.MustCompile(`(?m)^(Terraform|OpenTofu) v(\S+)`).FindStringSubmatch(string(output)); said != nil {
		c.name, c.tofu = said[1]+" "+said[2], said[1] == "OpenTofu"
		c.version, _ = version.NewVersion(said[2])
	}
	return c
})

// Life is a test of a noun, step by step, in this process.
func Life(steps ...resource.TestStep) resource.TestCase {
	return resource.TestCase{ProtoV6ProviderFactories: Factories(), Steps: steps}
}

// Fails is a step that is refused in these words, one after the other.
func Fails(config string, words ...string) resource.TestStep {
	return resource.TestStep{Config: config, ExpectError: Saying(words...)}
}

// Before checks what a plan shows.
func Before(checks ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: checks}
}

// Is checks an attribute of the state.
func Is(address, field string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(field), value)
}

// Form checks that a whole text has this form.
func Form(pattern string) knownvalue.Check {
	return knownvalue.StringRegexp(regexp.MustCompile("^" + pattern + "$"))
}

// LifeSince is Life for a CLI of this version of Terraform or later. Ephemeral values go into the provider "echo".
func LifeSince(least *version.Version, steps ...resource.TestStep) resource.TestCase {
	life := Life(steps...)
	life.ProtoV6ProviderFactories["echo"] = echoprovider.NewProviderServer()
	life.TerraformVersionChecks = []tfversion.TerraformVersionCheck{tfversion.SkipBelow(least)}
	return life
}

// Exactly checks a number to its last decimal.
func Exactly(decimal string) knownvalue.Check {
	const precision = 512 // as Terraform's own
	number, _, err := big.ParseFloat(decimal, 10, precision, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return knownvalue.NumberExact(number)
}

// Saying matches errors in which these words come one after the other, wherever the
// CLI broke the lines.
func Saying(words ...string) *regexp.Regexp {
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = strings.Join(strings.Fields(regexp.QuoteMeta(word)), `\s+`)
	}
	return regexp.MustCompile(strings.Join(parts, `[\s\S]*`))
}
