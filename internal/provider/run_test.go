package provider_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// The requests of one process say that they belong together, and no other's do.
func TestRequestsNameTheirRun(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		seen = map[string]int{}
	)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[regexp.MustCompile(`^terraform-provider-vcard/test Terraform/1\.14\.0 (run/[0-9a-f]{8})$`).ReplaceAllString(r.UserAgent(), "$1")]++
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	defer service.Close()
	for range 2 {
		p := acctest.Configure(t, acctest.Object{"base_url": service.URL + "/api/v1", "api_key": "sk_live_run"})
		p.ReadDataSource("vcard_bins", acctest.Object{})
		p.ReadDataSource("vcard_wallet_balance", acctest.Object{})
	}
	if len(seen) != 2 {
		t.Fatalf("the runs are %v", seen)
	}
	for run, requests := range seen {
		if !regexp.MustCompile(`^run/[0-9a-f]{8}$`).MatchString(run) || requests < 2 {
			t.Errorf("%s has %d requests", run, requests)
		}
	}
}
