// Package acctest lets tests run the real CLI against a sandbox over real HTTP,
// with the wire contract checked on every exchange. Only tests import it.
package acctest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

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
