package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// TestEmbeddedFaults makes the embedded service break connections, by way of a
// second process that shares its file.
func TestEmbeddedFaults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sandbox.db")
	other, err := sandbox.Open(context.Background(), sandbox.Options{Path: file, InitialBalance: acctest.InitialBalance})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(other.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	s := acctest.Remote(t, server.URL+"/api/v1", other.APIKey())
	p := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file}})
	for i, then := range []string{"drop", "truncate"} {
		for _, when := range []string{"before", "after"} {
			s.Post("/_sandbox/faults", map[string]any{"method": http.MethodPost, "path": "/cards", "when": when, "then": then}, nil)
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
	if s.Get("/cards", &page); page.Total != "4" {
		t.Errorf("there are %s cards, want 4", page.Total)
	}

	s.Post("/_sandbox/faults", map[string]any{"method": http.MethodGet, "path": "/wallet/balance", "times": 0, "delay_ms": 60000, "then": "pass"}, nil)
	impatient := acctest.Configure(t, acctest.Object{"sandbox": acctest.Object{"path": file}, "request_timeout": "1s", "max_retries": 0})
	if _, diags := impatient.ReadDataSource("vcard_wallet_balance", nil); !strings.Contains(diags.Errors(), "request_timeout") {
		t.Errorf("a service that does not answer: %s", fmt.Sprint(diags.Errors()))
	}
}
