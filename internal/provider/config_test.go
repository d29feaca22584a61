package provider_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
)

const card = `
resource "vcard_card" "test" {
  bin_id = "bin_ads_visa_us"
  amount = 50
}
`

func TestUnknownConfigurationDefers(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	unknown := fmt.Sprintf("resource \"terraform_data\" \"url\" {\n  input = %q\n}\nprovider \"vcard\" {\n  base_url = terraform_data.url.output\n  api_key = %q\n}\n", s.URL, s.Key)
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Factories(), Steps: []resource.TestStep{{Config: unknown + card}}})
	if got := s.Wallet(); got != acctest.InitialBalance-100 {
		t.Errorf("the wallet holds %s USD, want all but the fee", got)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	address, file := []string{"VCARD_BASE_URL=" + s.URL, "VCARD_API_KEY=" + s.Key}, []string{"VCARD_SANDBOX=" + t.TempDir() + "/sandbox.db"}
	for _, test := range []struct {
		environment []string
		refused     string
	}{
		{address, ""},
		{slices.Concat(address, file), "VCARD_SANDBOX is set beside VCARD_API_KEY or VCARD_BASE_URL"},
		{file, ""},
		{[]string{"VCARD_SANDBOX= "}, "sandbox.path, or VCARD_SANDBOX, must have more than spaces."},
	} {
		w := acctest.NewWorkspace(t)
		w.Env = append(w.Env, test.environment...)
		w.Write("main.tf", strings.Replace(sandboxConfig, `sandbox = { path = "sandbox.db" }`, "", 1))
		code, output := w.Run("apply", "-auto-approve", "-no-color")
		if (code == 0) != (test.refused == "") || !strings.Contains(unwrapped(output), test.refused) {
			t.Errorf("%v: ended with %d, want %q:\n%s", test.environment, code, test.refused, output)
		}
	}
	if got := s.Wallet(); got != acctest.InitialBalance-51_00 {
		t.Errorf("the wallet holds %s USD, want all but one card: the sandbox file is another service", got)
	}
}

// instantClock moves only when somebody waits.
type instantClock struct {
	mu     sync.Mutex
	began  time.Time
	waited time.Duration
}

func (c *instantClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began.Add(c.waited)
}

func (c *instantClock) Wait(_ context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited += d
	return nil
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issued := s.Issue("50")
	read := func(p *acctest.Protocol) acctest.Diagnostics {
		_, diags := p.ReadDataSource("vcard_card", acctest.Object{"id": issued})
		return diags
	}
	details := func(p *acctest.Protocol) acctest.Diagnostics {
		_, diags := p.OpenEphemeral("vcard_card_details", acctest.Object{"card_id": issued})
		return diags
	}
	create := func(p *acctest.Protocol) acctest.Diagnostics { return issue(p, 50) }
	for name, test := range map[string]struct {
		call func(*acctest.Protocol) acctest.Diagnostics
		wait time.Duration
	}{
		"requests_per_minute": {read, time.Minute},
		"requests_per_hour":   {read, time.Hour},
		"creates_per_minute":  {create, time.Minute},
		"details_per_minute":  {details, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &instantClock{began: time.Now()}
			p := acctest.Configure(t, acctest.Object{"base_url": s.URL, "api_key": s.Key, "rate_limits": acctest.Object{name: 1}}, provider.WithClock(clock))
			for range 2 {
				test.call(p).Must(t)
			}
			if waited := clock.waited; waited < test.wait || waited > test.wait+time.Minute {
				t.Errorf("two calls waited %s, want %s", waited, test.wait)
			}
		})
	}
}
