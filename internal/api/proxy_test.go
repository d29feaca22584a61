package api_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// A proxy on the way that is not there, or lets nobody through, is named, and its
// password is not.
func TestProxyThatFails(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	t.Cleanup(refusing.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for address, says := range map[string]string{
		gone.URL:     "connection refused",
		refusing.URL: "Proxy Authentication Required",
	} {
		proxy, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		proxy.User = url.UserPassword("user", "hunter2")
		client := newClient(t, nil, func(c *api.Config) { c.Transport = &http.Transport{Proxy: http.ProxyURL(proxy)} })
		err = try(t.Context(), client, "bins")
		if failed, ok := errors.AsType[*api.ProxyError](err); !ok || failed.Address != proxy.Host {
			t.Errorf("%s: %v", says, err)
		}
		for words, want := range map[string]bool{"through the proxy " + proxy.Host: true, says: true, "hunter2": false} {
			if err == nil || strings.Contains(err.Error(), words) != want {
				t.Errorf("says %v; %q is there: %v", err, words, !want)
			}
		}
	}
}
