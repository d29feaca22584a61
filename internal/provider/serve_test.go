package provider_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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

// deadProxy is one at a port where nothing listens.
const deadProxy = "http://user:hunter2@127.0.0.1:1"

// A proxy that the environment names has no part in what stays on this machine,
// and is named by the error of what does not.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	service := acctest.Start(t)
	address, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	// Stands for a network in which "sandbox" is a name.
	network := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Host = address.Host }})
	t.Cleanup(network.Close)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	t.Cleanup(refusing.Close)
	elsewhere := strings.NewReplacer(service.URL, "https://cards.example.com/api/v1", service.Key, "sk_live_0123456789", "\n}", "\n  max_retries = 0\n}")
	for name, test := range map[string]struct {
		proxy, provider string
		says            []string
	}{
		"embedded sandbox":     {deadProxy, "provider \"vcard\" {\n  sandbox = { path = \"sandbox.db\" }\n}\n", nil},
		"loopback":             {deadProxy, service.Provider(), nil},
		"loopback in capitals": {deadProxy, strings.Replace(service.Provider(), "127.0.0.1", "LOCALHOST", 1), nil},
		"between containers":   {network.URL, strings.Replace(service.Provider(), address.Host, "sandbox:8420", 1), nil},
		"elsewhere":            {deadProxy, elsewhere.Replace(service.Provider()), []string{"through the proxy 127.0.0.1:1", "connection refused", "HTTPS_PROXY", "NO_PROXY"}},
		"refused elsewhere":    {"http://user:hunter2@" + refusing.Listener.Addr().String(), elsewhere.Replace(service.Provider()), []string{"through the proxy " + refusing.Listener.Addr().String(), "Proxy Authentication Required"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := acctest.NewWorkspace(t).Built()
			for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
				w.Env = append(w.Env, name+"="+test.proxy)
			}
			w.Write("main.tf", acctest.Required+test.provider+"data \"vcard_bins\" \"all\" {}\n")
			code, output := w.Run("plan", "-no-color")
			if (code == 0) != (test.says == nil) || strings.Contains(output, "hunter2") {
				t.Errorf("ended with %d:\n%s", code, output)
			}
			sandboxtest.Says(t, "the CLI", unwrapped(output), test.says...)
		})
	}
}

func TestProviderEndsAfterItsCLI(t *testing.T) {
	t.Parallel()
	output, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	cli := exec.CommandContext(t.Context(), "sh", "-c", `"$0" & wait`, sandboxtest.Program(t))
	cli.Env = append(os.Environ(), "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
	cli.Stdout = write
	if err := cli.Start(); err != nil {
		t.Skip(err) // without a shell
	}
	if err := errors.Join(write.Close(), output.SetReadDeadline(time.Now().Add(20*time.Second))); err != nil {
		t.Fatal(err)
	}
	handshake := make([]byte, 1)
	if _, err := output.Read(handshake); err != nil {
		t.Fatal(err)
	}
	if err := cli.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cli.Wait() // it was killed
	if _, err := io.Copy(io.Discard, output); err != nil {
		t.Errorf("the provider goes on: %v", err)
	}
}
