package provider_test

import (
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
	const bins = "terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\ndata \"vcard_bins\" \"all\" {}\n"
	plan := func(t *testing.T, proxy, provider string) (int, string) {
		t.Helper()
		w := acctest.NewWorkspace(t).Built()
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			w.Env = append(w.Env, name+"="+proxy)
		}
		w.Write("main.tf", bins+provider)
		code, output := w.Run("plan", "-no-color")
		return code, unwrapped(output)
	}
	service := acctest.Start(t)
	for name, provider := range map[string]string{
		"embedded sandbox":     "provider \"vcard\" {\n  sandbox = { path = \"sandbox.db\" }\n}\n",
		"loopback":             service.Provider(),
		"loopback in capitals": strings.Replace(service.Provider(), "127.0.0.1", "LOCALHOST", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, output := plan(t, deadProxy, provider); code != 0 {
				t.Errorf("ended with %d:\n%s", code, output)
			}
		})
	}
	t.Run("between containers", func(t *testing.T) {
		t.Parallel()
		address, err := url.Parse(service.URL)
		if err != nil {
			t.Fatal(err)
		}
		// Stands for a network in which "sandbox" is a name.
		network := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Host = address.Host }})
		t.Cleanup(network.Close)
		if code, output := plan(t, network.URL, strings.Replace(service.Provider(), address.Host, "sandbox:8420", 1)); code != 0 {
			t.Errorf("ended with %d:\n%s", code, output)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		t.Parallel()
		_, output := plan(t, deadProxy, "provider \"vcard\" {\n  api_key = \"sk_live_0123456789\"\n  base_url = \"https://cards.example.com/api/v1\"\n  max_retries = 0\n}\n")
		for words, want := range map[string]bool{"through the proxy 127.0.0.1:1": true, "HTTPS_PROXY": true, "NO_PROXY": true, "hunter2": false} {
			if strings.Contains(output, words) != want {
				t.Errorf("%q is there: %t, in:\n%s", words, !want, output)
			}
		}
	})
}
