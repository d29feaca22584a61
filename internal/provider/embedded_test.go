package provider_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

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
		if code == 0 || !strings.Contains(unwrapped(output), want) {
			t.Errorf("ended with %d and without %q: %s", code, want, output)
		}
	}
	if strings.Contains(output, "VCARD_API_KEY") {
		t.Errorf("the API key is blamed: %s", output)
	}
	if _, output := w.Run("plan", "-no-color"); !strings.Contains(unwrapped(output), "is not the one that held the card") {
		t.Errorf("the second time: %s", output)
	}
}
