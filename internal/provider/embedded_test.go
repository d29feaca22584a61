package provider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// The file keeps its balance, whatever is said of the initial one later.
func TestEmbeddedBalance(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sandbox.db")
	for _, test := range []struct{ balance, amount, want string }{
		{"60.99", "50", ""}, {"60.99", "50.01", "insufficient_funds"}, {"5000", "50", "insufficient_funds"},
	} {
		p := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file, "initial_balance": test.balance}})
		change, _ := p.Plan(acctest.Instance{Type: "vcard_card"}, acctest.Object{"bin_id": "bin_ads_visa_us", "amount": test.amount})
		if _, diags := p.Apply(change, nil); (diags.Errors() == "") != (test.want == "") || !strings.Contains(diags.Errors(), test.want) {
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
	s.Quirks(nil) // the totals of lists are there to be compared
	p := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file}})
	for i, then := range []string{"drop", "truncate"} {
		for _, when := range []string{"before", "after"} {
			s.Fault(map[string]any{"method": http.MethodPost, "path": "/cards", "when": when, "then": then})
			change, diags := p.Plan(acctest.Instance{Type: "vcard_card"}, acctest.Object{"bin_id": "bin_ads_visa_us", "amount": 50 + i})
			if text := diags.Errors(); text != "" {
				t.Fatal(text)
			}
			if _, diags := p.Apply(change, nil); diags.Errors() != "" {
				t.Errorf("%s %s: %s", then, when, diags.Errors())
			}
		}
	}
	var page struct{ Total json.Number }
	if s.Get("/cards").Into(&page); page.Total != "4" {
		t.Errorf("there are %s cards, want 4", page.Total)
	}

	s.Fault(map[string]any{"method": http.MethodGet, "path": "/wallet/balance", "times": 0, "delay_ms": 60000, "then": "pass"})
	impatient := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file}, "request_timeout": "1s", "max_retries": 0})
	if _, diags := impatient.ReadDataSource("vcard_wallet_balance", nil); !strings.Contains(diags.Errors(), "request_timeout") {
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
		change, diags := p.Plan(acctest.Instance{Type: "vcard_card"}, acctest.Object{"bin_id": "bin_ads_visa_us", "amount": 50, "label": "ads"})
		if text := diags.Errors(); text != "" {
			t.Fatal(text)
		}
		_, diags = p.Apply(change, nil)
		if looked := strings.Contains(diags.Warnings(), "A card was recognized by its label"); looked != looks || diags.Errors() != "" {
			t.Errorf("%v: %s%s", told, diags.Errors(), diags.Warnings())
		}
	}
}
