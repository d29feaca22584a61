package provider_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// What nobody reads is not written, and what is asked for is all there: the
// lines of the protocol, of the framework, and the provider's own.
func TestLogOfTheProvider(t *testing.T) {
	t.Parallel()
	all := []string{`"@module":"sdk.proto"`, `"@module":"sdk.framework"`, `"@message":"service call"`}
	for name, test := range map[string]struct {
		environment []string
		lines       []string
	}{
		"not asked for":       {[]string{"TF_LOG="}, all[2:]},
		"the CLI's own":       {[]string{"TF_LOG_CORE=TRACE", "TF_LOG_PATH=cli.log"}, all[2:]},
		"everything":          {[]string{"TF_LOG=TRACE", "TF_LOG_PATH=cli.log"}, all},
		"the providers'":      {[]string{"TF_LOG_PROVIDER=TRACE", "TF_LOG_PATH=cli.log"}, all},
		"of the protocol":     {[]string{"TF_LOG_SDK_PROTO=TRACE", "TF_LOG_SDK_FRAMEWORK=OFF"}, []string{all[0], all[2]}},
		"of one provider":     {[]string{"TF_LOG_PROVIDER_VCARD=OFF"}, all[:2]},
		"set to nothing else": {[]string{"TF_LOG_SDK="}, all[2:]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := acctest.NewWorkspace(t)
			written := filepath.Join(w.Dir, "stderr")
			w = w.Wrapped(fmt.Sprintf(`exec "$PROVIDER" "$@" 2>>%q`, written))
			w.Write("main.tf", sandboxConfig)
			w.Env = append(w.Env, test.environment...)
			w.Must("plan", "-no-color")
			log := w.Read("stderr")
			var lines []string
			for _, line := range all {
				if strings.Contains(log, line) {
					lines = append(lines, line)
				}
			}
			if fmt.Sprint(lines) != fmt.Sprint(test.lines) {
				t.Errorf("the log has %v, want %v", lines, test.lines)
			}
		})
	}
}

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
