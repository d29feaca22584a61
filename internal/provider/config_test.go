package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
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
	address, file := []string{"VCARD_BASE_URL=" + s.URL, "VCARD_API_KEY=" + s.Key}, []string{"VCARD_SANDBOX= " + t.TempDir() + "/sandbox.db\n"}
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
		if (code == 0) != (test.refused == "") || !strings.Contains(acctest.Unwrapped(output), test.refused) {
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

// issue plans and issues a card, and returns what is said of it.
func issue(p *acctest.Protocol, amount any) acctest.Diagnostics {
	card := acctest.Object{"bin_id": "bin_ads_visa_us", "amount": amount, "label": fmt.Sprint("ads-", amount)}
	change, diags := p.Plan(acctest.Instance{Type: "vcard_card"}, card)
	if diags.Errors() == "" {
		_, diags = p.Apply(change, nil)
	}
	return diags
}

// The file keeps its balance, whatever is said of the initial one later.
func TestEmbeddedBalance(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sandbox.db")
	for _, test := range []struct{ balance, amount, want string }{
		{"60.99", "50", ""}, {"60.99", "50.01", "insufficient_funds"}, {"5000", "50", "insufficient_funds"},
	} {
		p := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file, "initial_balance": test.balance}})
		if diags := issue(p, test.amount); (diags.Errors() == "") != (test.want == "") || !strings.Contains(diags.Errors(), test.want) {
			t.Errorf("%v: %s", test, diags.Errors())
		}
	}
}

// TestEmbeddedFaults makes the embedded service break connections, by way of a
// second process that shares its file.
func TestEmbeddedFaults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sandbox.db")
	s := sandboxtest.Start(t, func(o *sandboxtest.Options) { o.Path = file })
	p := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file}})
	for i, then := range []string{"drop", "truncate"} {
		for _, when := range []string{"before", "after"} {
			s.Fault(map[string]any{"method": http.MethodPost, "path": "/cards", "when": when, "then": then})
			if text := issue(p, 50+i).Errors(); text != "" {
				t.Errorf("%s %s: %s", then, when, text)
			}
		}
	}
	if cards := len(s.LiveCards()); cards != 4 {
		t.Errorf("there are %d cards, want 4", cards)
	}

	s.Fault(map[string]any{"method": http.MethodGet, "path": "/wallet/balance", "times": 0, "delay_ms": 60000, "then": "pass"})
	impatient := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file}, "request_timeout": "1s", "max_retries": 0})
	if _, diags := impatient.ReadDataSource("vcard_wallet_balance", acctest.Object{}); !strings.Contains(diags.Errors(), "request_timeout") {
		t.Errorf("a service that does not answer: %s", fmt.Sprint(diags.Errors()))
	}
}

// The embedded sandbox is known to honour keys, unless the configuration says that
// nobody knows.
func TestEmbeddedKeys(t *testing.T) {
	t.Parallel()
	for told, looks := range map[any]bool{nil: false, "honoured": false, "unknown": true} {
		file := filepath.Join(t.TempDir(), "sandbox.db")
		s := sandboxtest.Start(t, func(o *sandboxtest.Options) { o.Path = file })
		p := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file}, "idempotency_keys": told}, provider.WithClock(&instantClock{began: time.Now()}))
		s.Fault(map[string]any{"method": http.MethodPost, "path": "/cards", "when": "after", "then": "drop"})
		diags := issue(p, 50)
		if looked := strings.Contains(diags.Warnings(), "A card was recognized by its label"); looked != looks || diags.Errors() != "" {
			t.Errorf("%v: %s%s", told, diags.Errors(), diags.Warnings())
		}
	}
}

const sandboxConfig = acctest.Required + `
provider "vcard" {
  sandbox = { path = "sandbox.db" }
}
` + card

// A pipeline keeps the named file and the state, and nothing beside them. Without the
// file, nothing is planned, and the file is blamed.
func TestTheNamedFileIsTheSandbox(t *testing.T) {
	t.Parallel()
	w, next := acctest.NewWorkspace(t).Built(), acctest.NewWorkspace(t).Built()
	w.Write("main.tf", sandboxConfig)
	w.Must("apply", "-auto-approve", "-no-color")
	var state string
	for _, name := range []string{"main.tf", "sandbox.db", "terraform.tfstate"} {
		state = w.Read(name)
		next.Write(name, state)
	}
	next.Must("plan", "-detailed-exitcode", "-no-color") // the copied file holds the same

	// A card of long ago is not waited for, as one is that may not be shown yet.
	w.Write("terraform.tfstate", regexp.MustCompile(`"created_at": "\d+`).ReplaceAllString(state, `"created_at": "2020`))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(w.Dir, "sandbox.db"+suffix)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	code, output := w.Run("plan", "-no-color")
	for _, want := range []string{filepath.Base(w.Dir), "made new just now", "terraform state rm"} {
		if code == 0 || !strings.Contains(acctest.Unwrapped(output), want) {
			t.Errorf("ended with %d and without %q: %s", code, want, output)
		}
	}
	if strings.Contains(output, "VCARD_API_KEY") {
		t.Errorf("the API key is blamed: %s", output)
	}
	if _, output := w.Run("plan", "-no-color"); !strings.Contains(acctest.Unwrapped(output), "is not the one that held the card") {
		t.Errorf("the second time: %s", output)
	}
}
