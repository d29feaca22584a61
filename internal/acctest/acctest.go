// Package acctest lets tests run the real CLI against a sandbox over real HTTP,
// with the wire contract checked on every exchange. Only tests import it.
package acctest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Service is a sandbox of its own, served on loopback for one test.
type Service struct {
	URL string // with /api/v1
	Key string // API key of the first account
	t   testing.TB
}

// InitialBalance is what the wallet of a Service holds at first.
const InitialBalance = 10_000 * usd.Dollar

// Start serves a sandbox until the test ends. The options relax the contract
// checker for services that are told to misbehave.
func Start(t testing.TB, options ...contract.Option) *Service {
	t.Helper()
	service, err := sandbox.Open(context.Background(), sandbox.Options{Path: ":memory:", InitialBalance: InitialBalance})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(contract.Handler(t, service.Handler(), options...))
	t.Cleanup(func() {
		server.Close()
		if err := service.Close(); err != nil {
			t.Errorf("closing the sandbox: %v", err)
		}
	})
	return &Service{URL: server.URL + "/api/v1", Key: service.APIKey(), t: t}
}

// Remote is a sandbox that runs elsewhere.
func Remote(t testing.TB, url, key string) *Service {
	t.Helper()
	return &Service{URL: url, Key: key, t: t}
}

// Provider is the provider block for this service, to begin a configuration with.
func (s *Service) Provider() string { return s.ProviderWithKey(s.Key) }

// ProviderWithKey is the provider block for another key of this service.
func (s *Service) ProviderWithKey(key string) string {
	return fmt.Sprintf("provider \"vcard\" {\n  base_url = %q\n  api_key  = %q\n}\n", s.URL, key)
}

// Test runs steps with the provider in this process. It skips without TF_ACC,
// as every acceptance test does.
func (s *Service) Test(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: Factories(), Steps: steps})
}

// Get asks the API or, for a path that begins with /_sandbox, the control surface.
func (s *Service) Get(path string, into any) { s.t.Helper(); s.call(http.MethodGet, path, nil, into) }

// Post likewise sends a body, which may be nil.
func (s *Service) Post(path string, body, into any) {
	s.t.Helper()
	s.call(http.MethodPost, path, body, into)
}

// Put likewise.
func (s *Service) Put(path string, body any) { s.t.Helper(); s.call(http.MethodPut, path, body, nil) }

// Delete likewise.
func (s *Service) Delete(path string, into any) {
	s.t.Helper()
	s.call(http.MethodDelete, path, nil, into)
}

func (s *Service) call(method, path string, body, into any) {
	s.t.Helper()
	address := s.URL + path
	if strings.HasPrefix(path, "/_sandbox/") {
		address = strings.TrimSuffix(s.URL, "/api/v1") + path
	}
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, address, sent)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode/100 != 2 {
		s.t.Fatalf("%s %s answered %d: %s", method, path, resp.StatusCode, answer)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

// Wallet returns the wallet's balance.
func (s *Service) Wallet() usd.Amount {
	s.t.Helper()
	var wallet struct {
		Balance usd.Amount `json:"balance"`
	}
	s.Get("/wallet/balance", &wallet)
	return wallet.Balance
}

// Factories serve the provider in this process.
func Factories() map[string]func() (tfprotov6.ProviderServer, error) {
	prepareCLI()
	return map[string]func() (tfprotov6.ProviderServer, error){
		"vcard": func() (tfprotov6.ProviderServer, error) {
			return provider.NewServer("test", provider.WithClock(&skippingClock{}))(), nil
		},
	}
}

// prepareCLI tells the test framework which registry the CLI under test thinks in.
var prepareCLI = sync.OnceFunc(func() {
	if OpenTofu() {
		_ = os.Setenv("TF_ACC_PROVIDER_HOST", "registry.opentofu.org")
	}
})
