package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// A provider block may depend on what the same apply creates: the card is planned, and issued once the address is known.
func TestAccProvider_unknownConfiguration(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.4.0", "1.6.0") // terraform_data
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy: func(*terraform.State) error {
			if wallet := s.Wallet(); wallet != 9999_00 {
				return fmt.Errorf("the wallet holds %s USD, want 9999.00: all but the fee", wallet)
			}
			return nil
		},
		Steps: []resource.TestStep{{
			Config: fmt.Sprintf(`
				resource "terraform_data" "url" {
					input = %q
				}
				provider "vcard" {
					base_url = terraform_data.url.output
					api_key  = %q
				}
				resource "vcard_card" "test" {
					bin_id = "bin_ads_visa_us"
					amount = 50
				}`, s.URL, s.Key),
		}},
	})
}

// stillClock stands still unless somebody waits: it shows the sum of the waits.
type stillClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) Wait(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

// waited returns how long the provider waits while a configuration is applied and destroyed.
func waited(t *testing.T, config string) time.Duration {
	t.Helper()
	start := time.Now()
	clock := &stillClock{now: start}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t, provider.WithClock(clock)),
		Steps:                    []resource.TestStep{{Config: config}},
	})
	return clock.Now().Sub(start)
}

func TestAccProvider_rateLimits(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.10.0", "1.11.0") // ephemeral resources
	config := func(s *acctest.Service, limits string) string {
		return fmt.Sprintf(`
			provider "vcard" {
				base_url    = %q
				api_key     = %q
				rate_limits = { %s }
			}
			resource "vcard_card" "test" {
				count  = 2
				bin_id = "bin_ads_visa_us"
				amount = 50
			}
			ephemeral "vcard_card_details" "test" {
				count   = 2
				card_id = vcard_card.test[count.index].id
			}`, s.URL, s.Key, limits)
	}
	for _, limit := range []struct {
		name   string
		window time.Duration
	}{
		{"requests_per_minute", time.Minute},
		{"requests_per_hour", time.Hour},
		{"creates_per_minute", time.Minute},
		{"details_per_minute", time.Minute},
	} {
		t.Run(limit.name, func(t *testing.T) {
			t.Parallel()
			took := waited(t, config(acctest.Start(t), limit.name+" = 1"))
			if took < limit.window {
				t.Errorf("with a limit of 1, two calls waited %s, want at least %s", took, limit.window)
			}
		})
	}
	t.Run("far from every limit", func(t *testing.T) {
		t.Parallel()
		limits := "requests_per_minute = 1000, requests_per_hour = 1000, creates_per_minute = 1000, details_per_minute = 1000"
		took := waited(t, config(acctest.Start(t), limits))
		if took > time.Second {
			t.Errorf("it waited %s", took)
		}
	})
}

// embeddedSandbox returns a second process of a sandbox file, by which a test makes the service misbehave.
func embeddedSandbox(t *testing.T) (file string, s *sandboxtest.Server) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "sandbox.db")
	return file, sandboxtest.Start(t, func(o *sandboxtest.Options) { o.Path = file })
}

// A response that is lost or cut off issues no second card.
func TestAccProvider_embeddedFaults(t *testing.T) {
	t.Parallel()
	file, s := embeddedSandbox(t)
	config := func(cards int) string {
		return fmt.Sprintf(`
			provider "vcard" {
				sandbox     = { path = %q }
				max_retries = 4
			}
			resource "vcard_card" "test" {
				count  = %d
				bin_id = "bin_ads_visa_us"
				amount = 50
			}`, file, cards)
	}
	misbehave := func(when, then string) func() {
		return func() {
			s.Fault(map[string]any{"method": http.MethodPost, "path": "/cards", "when": when, "then": then})
		}
	}
	checkCards := func(want int) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if live := s.LiveCards(); len(live) != want {
				return fmt.Errorf("the live cards are %v, want %d", live, want)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				PreConfig: misbehave("before", "drop"),
				Config:    config(1),
				Check:     checkCards(1),
			},
			{
				PreConfig: misbehave("after", "drop"),
				Config:    config(2),
				Check:     checkCards(2),
			},
			{ // a 2xx for a card that is never issued: nothing is sent again in this run
				PreConfig:   misbehave("before", "truncate"),
				Config:      config(3),
				ExpectError: acctest.Error("Could not …", "may still appear", "terraform import"),
			},
			{
				PreConfig: misbehave("after", "truncate"),
				Config:    config(4),
				Check:     checkCards(4),
			},
			{
				Config:           config(4),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
		},
	})
}

func TestAccProvider_requestTimeout(t *testing.T) {
	t.Parallel()
	file, s := embeddedSandbox(t)
	s.Fault(map[string]any{"method": http.MethodGet, "path": "/wallet/balance", "times": 0, "delay_ms": 60000, "then": "pass"})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config: fmt.Sprintf(`
				provider "vcard" {
					sandbox         = { path = %q }
					request_timeout = "1s"
					max_retries     = 0
				}
				data "vcard_wallet_balance" "now" {}`, file),
			ExpectError: acctest.Error("…", "request_timeout"),
		}},
	})
}

// The embedded sandbox is known to honour idempotency keys, unless the configuration says that nobody knows: then the
// provider waits and looks for the card after a lost response.
func TestAccProvider_idempotencyKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, setting string
		waits         bool
	}{
		{"default", ``, false},
		{"honoured", `idempotency_keys = "honoured"`, false},
		{"unknown", `idempotency_keys = "unknown"`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file, s := embeddedSandbox(t)
			s.Fault(map[string]any{"method": http.MethodPost, "path": "/cards", "when": "after", "then": "drop"})
			took := waited(t, fmt.Sprintf(`
				provider "vcard" {
					sandbox = { path = %q }
					%s
				}
				resource "vcard_card" "test" {
					bin_id = "bin_ads_visa_us"
					amount = 50
				}`, file, test.setting))
			if waits := took >= 30*time.Second; waits != test.waits {
				t.Errorf("it waited %s", took)
			}
		})
	}
}
