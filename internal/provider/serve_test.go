package provider_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
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
			w := acctest.NewWorkspace(t).Built()
			written := filepath.Join(w.Dir, "stderr")
			program := filepath.Join(w.Dir, "terraform-provider-vcard")
			script := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\" 2>>%q\n", sandboxtest.Program(t), written)
			if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			w.Write("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"vcard/vcard\" = %q\n  }\n  direct {}\n}\n", w.Dir))
			w.Write("main.tf", "terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\n"+
				"provider \"vcard\" {\n  sandbox = { path = \"sandbox.db\" }\n}\ndata \"vcard_bins\" \"all\" {}\n")
			w.Env = append(w.Env, test.environment...)
			w.Must("plan", "-no-color")
			log, err := os.ReadFile(written)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, line := range all {
				if strings.Contains(string(log), line) {
					lines = append(lines, line)
				}
			}
			if fmt.Sprint(lines) != fmt.Sprint(test.lines) {
				t.Errorf("the log has %v, want %v", lines, test.lines)
			}
		})
	}
}

func TestInterruptEndsAWaitingApply(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{})
	begins := sync.OnceFunc(func() { close(waits) })
	s := acctest.Start(t).Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error": "rate_limited", "message": "later"}`))
		begins()
		return true
	})
	w := acctest.NewWorkspace(t)
	w.Write("main.tf", "terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\n"+
		s.Provider()+"resource \"vcard_card\" \"test\" {\n  bin_id = \"bin_ads_visa_us\"\n  amount = 60\n}\n")
	began := time.Now()
	code, output := w.RunUntil(waits, syscall.SIGINT, "apply", "-auto-approve", "-no-color")
	if took := time.Since(began); code == 0 || took > 45*time.Second { // the wait alone is a minute
		t.Errorf("the interrupted apply ended with %d after %v:\n%s", code, took, output)
	}
}
