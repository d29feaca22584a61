package provider_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

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
			w.Write("main.tf", required+test.provider+"data \"vcard_bins\" \"all\" {}\n")
			code, output := w.Run("plan", "-no-color")
			if (code == 0) != (test.says == nil) || strings.Contains(output, "hunter2") {
				t.Errorf("ended with %d:\n%s", code, output)
			}
			for _, words := range test.says {
				if !strings.Contains(unwrapped(output), words) {
					t.Errorf("%q is not in:\n%s", words, output)
				}
			}
		})
	}
}
