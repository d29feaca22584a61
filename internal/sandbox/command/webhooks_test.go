package command_test

import (
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Who listens to the network delivers to public addresses alone, unless told
// otherwise.
func TestPrivateWebhooks(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	for name, c := range map[string]struct {
		arguments []string
		arrives   bool
	}{
		"loopback":               {[]string{"--listen", "localhost:0"}, true},
		"every address":          {[]string{"--listen", "0.0.0.0:0"}, false},
		"every address, allowed": {[]string{"--listen", "0.0.0.0:0", "--allow-private-webhooks"}, true},
	} {
		r := runMain(t, append(c.arguments, "--data", ":memory:", "--webhook-ca", inbox.CAFile())...)
		r.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["*"]}`).OK(201)
		r.Issue("50")
		sandboxtest.Eventually(t, func() bool {
			return !strings.Contains(r.Get("/_sandbox/deliveries").Raw, `"tries":[]`)
		})
		if got := strings.Contains(r.Get("/_sandbox/deliveries").Raw, `"state":"delivered"`); got != c.arrives {
			t.Errorf("%s: %s", name, r.Get("/_sandbox/deliveries").Raw)
		}
	}
}
