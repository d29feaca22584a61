package provider_test

import (
	"net/http"
	"regexp"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// The requests of one process say that they belong together, and no other's do.
func TestRequestsNameTheirRun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	s := acctest.Start(t).Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		seen[r.UserAgent()]++
		return false
	})
	for range 2 {
		p := acctest.Configure(t, acctest.Object{"base_url": s.URL, "api_key": s.Key})
		p.ReadDataSource("vcard_bins", acctest.Object{})
		p.ReadDataSource("vcard_wallet_balance", acctest.Object{})
	}
	if len(seen) != 2 {
		t.Fatalf("the runs are %v", seen)
	}
	for agent, requests := range seen {
		if !regexp.MustCompile(`^terraform-provider-vcard/test Terraform/1\.14\.0 run/[0-9a-f]{8}$`).MatchString(agent) || requests < 2 {
			t.Errorf("%s has %d requests", agent, requests)
		}
	}
}
