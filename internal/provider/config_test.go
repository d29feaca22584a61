package provider_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
)

const card = `
resource "vcard_card" "test" {
  bin_id = "bin_ads_visa_us"
  amount = 50
}
`

func wrapped(text string) *regexp.Regexp {
	return regexp.MustCompile(regexp.MustCompile(`\s+`).ReplaceAllString(regexp.QuoteMeta(text), `[\s│]+`))
}

func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	notSQLite := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notSQLite, []byte("Dear diary, this is no database, but it is long enough to look at. "), 0o600); err != nil {
		t.Fatal(err)
	}
	var steps []resource.TestStep
	for _, c := range []struct{ lines, want string }{
		{``, `sandbox = { path = "vcard-sandbox.db" }`},
		{`base_url = "https://cards.example.com/api/v1"`, "base_url is set, but neither api_key nor VCARD_API_KEY"},
		{`api_key = "sk_live_x"`, "api_key is set, but neither base_url nor VCARD_BASE_URL"},
		{`api_key = "pk_test_1"
		base_url = "https://cards.example.com/api/v1"`, "api_key must begin with sk_live_"},
		{`api_key = "sk_live_x y"
		base_url = "https://cards.example.com/api/v1"`, "api_key must hold no space"},
		{`api_key = "sk_live_x"
		base_url = "http://cards.example.com/api/v1"`, "base_url must begin with https://: plain http would show the API key to the network, and is accepted for a loopback address or with a sandbox's key only; cards.example.com is not this machine"},
		{`api_key = "sk_live_x"
		base_url = "cards.example.com"`, "base_url must be an address such as https://cards.example.com/api/v1"},
		{`api_key = "sk_live_x"
		base_url = "https://cards.example.com"`, `must end in /api/v1`},
		{`api_key = "sk_live_sandbox_x"
		base_url = "https://cards.example.com/api/v1"`, `api_key was made by a sandbox, but base_url points to "cards.example.com"`},
		{`api_key = "sk_live_x"
		sandbox = { path = "x.db" }`, "sandbox excludes api_key and base_url"},
		{`sandbox = { path = "" }`, "sandbox.path"},
		{`sandbox = { path = "C:\temp\new.db" }`, `In a Windows path, write / or \\ where there is a \`},
		{fmt.Sprintf(`sandbox = { path = %q }`, notSQLite), notSQLite},
		{`sandbox = { path = "/proc/vcard/sandbox.db" }`, "The sandbox file /proc/vcard/sandbox.db cannot be used"},
		{`sandbox = { path = "/nowhere/sandbox.db" }`, "The sandbox file /nowhere/sandbox.db cannot be used"},
		{`sandbox = { path = "x.db", initial_balance = 0.001 }`, "sandbox.initial_balance must be an amount in USD with at most two decimals"},
		{`sandbox = { path = "x.db" }
		request_timeout = "soon"`, "request_timeout must be a duration of at least 1s"},
		{`sandbox = { path = "x.db" }
		rate_limits = { creates_per_minute = 1000001 }`, "rate_limits.creates_per_minute must be a whole number between 1 and 1000000, got 1000001"},
	} {
		steps = append(steps, resource.TestStep{
			Config: "provider \"vcard\" {\n" + c.lines + "\n}\n" + card, PlanOnly: true, ExpectError: wrapped(c.want),
		})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Factories(), Steps: steps})
}

func TestAccountsThatAreNotReady(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	steps := []resource.TestStep{{
		Config: s.ProviderWithKey("sk_live_sandbox_wrong") + card, ExpectError: wrapped("The service does not accept the API key"),
	}}
	for state, want := range map[string]string{
		"email_unconfirmed": "The first step is next: confirm the e-mail address", "no_deposit": "The second step is next: make a first deposit",
		"api_not_enabled": "The third step is still to be done: ask the service's support",
	} {
		var account struct {
			Key string `json:"api_key"`
		}
		s.Post("/_sandbox/accounts", map[string]string{"state": state}).Into(&account)
		steps = append(steps, resource.TestStep{Config: s.ProviderWithKey(account.Key) + card, ExpectError: wrapped(want)})
	}
	s.Test(t, steps...)
}

func TestEmbeddedSandbox(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sandbox.db")
	provider := func(balance string) string {
		return fmt.Sprintf("provider \"vcard\" {\n  sandbox = {\n    path = %q\n    initial_balance = %s\n  }\n}\n", file, balance)
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Factories(), Steps: []resource.TestStep{
		{
			Config:      provider("60.99") + card + "resource \"vcard_card\" \"more\" {\n  bin_id = \"bin_ads_visa_us\"\n  amount = 50\n  depends_on = [vcard_card.test]\n}\n",
			ExpectError: wrapped("insufficient_funds"),
		},
		{ // the same file, and its balance stays
			Config:           provider("5000") + card,
			ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		},
		{
			Config:      provider("5000") + card + "resource \"vcard_card\" \"more\" {\n  bin_id = \"bin_ads_visa_us\"\n  amount = 50\n}\n",
			ExpectError: wrapped("insufficient_funds"),
		},
	}})
}

func TestUnknownConfigurationDefers(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	unknown := fmt.Sprintf("resource \"terraform_data\" \"url\" {\n  input = %q\n}\nprovider \"vcard\" {\n  base_url = terraform_data.url.output\n  api_key = %q\n}\n", s.URL, s.Key)
	s.Test(t, resource.TestStep{Config: unknown + card})
	if got := s.Wallet(); got != acctest.InitialBalance-100 {
		t.Errorf("the wallet holds %s USD, want all but the fee", got)
	}
}

func TestEnvironment(t *testing.T) {
	s := acctest.Start(t)
	t.Setenv("VCARD_BASE_URL", s.URL)
	t.Setenv("VCARD_API_KEY", s.Key)
	s.Test(t, resource.TestStep{Config: card})
	t.Setenv("VCARD_SANDBOX", filepath.Join(t.TempDir(), "sandbox.db"))
	s.Test(t, resource.TestStep{Config: card, PlanOnly: true, ExpectError: wrapped("VCARD_SANDBOX is set beside VCARD_API_KEY or VCARD_BASE_URL")})
	t.Setenv("VCARD_BASE_URL", "")
	t.Setenv("VCARD_API_KEY", "")
	s.Test(t, resource.TestStep{Config: card})
	if got := s.Wallet(); got != acctest.InitialBalance-100 {
		t.Errorf("the wallet holds %s USD, want all but one fee: the sandbox file is another service", got)
	}
}

func TestAddressesThatHoldSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	for address, key := range map[string]string{
		"https://me:planted@cards.example.com/api/v1": "sk_live_x", "https://sk_live_planted/api/v1": "sk_live_sandbox_x", "sk_live_planted": "sk_live_x",
		"https://cards.example.com/api/v1": "sk_live_sandbox_planted", "https://cards.example.com/api/v1/": "planted",
	} {
		w := acctest.NewWorkspace(t)
		w.Write("main.tf", fmt.Sprintf("terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\n"+
			"provider \"vcard\" {\n  api_key  = %q\n  base_url = %q\n}\ndata \"vcard_bins\" \"all\" {}\n", key, address))
		code, output := w.Run("plan", "-no-color")
		if code == 0 || !strings.Contains(output, "Error: ") || strings.Contains(output, "planted") {
			t.Errorf("ended with %d: %s", code, output)
		}
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
	type call func(*acctest.Protocol) acctest.Diagnostics
	read := func(p *acctest.Protocol) acctest.Diagnostics {
		_, diags := p.ReadDataSource("vcard_card", acctest.Object{"id": issued})
		return diags
	}
	details := func(p *acctest.Protocol) acctest.Diagnostics {
		_, diags := p.OpenEphemeral("vcard_card_details", acctest.Object{"card_id": issued})
		return diags
	}
	create := func(p *acctest.Protocol) acctest.Diagnostics {
		change, diags := p.Plan(acctest.Instance{Type: "vcard_card"}, acctest.Object{"bin_id": "bin_ads_visa_us", "amount": 50})
		if diags.Errors() == "" {
			_, diags = p.Apply(change, nil)
		}
		return diags
	}
	for name, test := range map[string]struct {
		limited, free call // free is nil where the limit is that of all calls
		wait          time.Duration
	}{
		"requests_per_minute": {read, nil, time.Minute},
		"requests_per_hour":   {read, nil, time.Hour},
		"creates_per_minute":  {create, details, time.Minute},
		"details_per_minute":  {details, create, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &instantClock{began: time.Now()}
			p := acctest.Configure(t, acctest.Object{"base_url": s.URL, "api_key": s.Key, "rate_limits": acctest.Object{name: 1}}, provider.WithClock(clock))
			twice := func(call call) time.Duration {
				began := clock.Now()
				for range 2 {
					if text := call(p).Errors(); text != "" {
						t.Fatal(text)
					}
				}
				return clock.Now().Sub(began)
			}
			if waited := twice(test.limited); waited < test.wait || waited > test.wait+time.Minute {
				t.Errorf("two calls waited %s, want %s", waited, test.wait)
			}
			if test.free == nil {
				return
			}
			if waited := twice(test.free); waited > time.Second {
				t.Errorf("calls of another limit waited %s", waited)
			}
		})
	}
}
