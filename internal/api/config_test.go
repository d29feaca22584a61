package api_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

func TestNewChecksAddressAndKey(t *testing.T) {
	t.Parallel()
	const good = "https://cards.example.com/api/v1"
	for name, test := range map[string]struct{ base, key, want string }{
		"https":                  {good, testKey, ""},
		"a slash at the end":     {good + "/", testKey, ""},
		"http to 127.0.0.1":      {"http://127.0.0.1:8420/api/v1", testKey, ""},
		"http to ::1":            {"http://[::1]:8420/api/v1", testKey, ""},
		"http to localhost":      {"http://localhost:8420/api/v1", testKey, ""},
		"http to LOCALHOST":      {"http://LOCALHOST:8420/api/v1", testKey, ""},
		"http to v4 in v6":       {"http://[::ffff:127.0.0.1]:8420/api/v1", testKey, ""},
		"http to elsewhere":      {"http://cards.example.com/api/v1", testKey, "loopback"},
		"http to a container":    {"http://sandbox:8420/api/v1", "sk_live_sandbox_0123456789", ""},
		"a key like a sandbox's": {"http://sandbox:8420/api/v1", "sk_live_sandboxes_0123456789", "loopback"},
		"http to a lookalike":    {"http://127.0.0.1.example.com/api/v1", testKey, "loopback"},
		"http to all addresses":  {"http://0.0.0.0/api/v1", testKey, "loopback"},
		"another scheme":         {"ftp://cards.example.com/api/v1", testKey, "https://"},
		"no scheme":              {"cards.example.com/api/v1", testKey, "https://"},
		"nothing":                {"", testKey, "https://"},
		"no version":             {"https://cards.example.com", testKey, "/api/v1"},
		"a user name":            {"https://me:pw@cards.example.com/api/v1", testKey, "user name"},
		"a key for a host":       {"https://" + testKey + "/api/v1", testKey, "API key"},
		"a key in the path":      {"http://localhost/" + testKey, testKey, "API key"},
		"a key":                  {testKey, testKey, "API key"},
		"a query":                {good + "?key=1", testKey, "query"},
		"a fragment":             {good + "#v1", testKey, "fragment"},
		"no port":                {"http://localhost:/api/v1", testKey, ""},
		"port 0":                 {"http://localhost:0/api/v1", testKey, "a port between 1 and 65535"},
		"port 65536":             {"https://cards.example.com:65536/api/v1", testKey, "a port between 1 and 65535"},
		"no host":                {"https:///api/v1", testKey, "be an address"},
		"no address":             {"https://[::1/api/v1", testKey, "be an address"},
		"no key":                 {good, "", "sk_live_"},
		"another prefix":         {good, "pk_test_1234567", "sk_live_"},
		"only the prefix":        {good, "sk_live_", "sk_live_"},
		"a key of two lines":     {good, testKey + "\nX-Evil: 1", "line break"},
		"a key with a newline":   {good, testKey + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := api.New(api.Config{BaseURL: test.base, APIKey: transport.Secret(test.key)})
			broken, isConfig := errors.AsType[*transport.ConfigError](err)
			isSecret := isConfig && broken.Secret
			field := transport.FieldBaseURL
			if test.want == "sk_live_" || test.want == "line break" {
				field = transport.FieldAPIKey
			}
			switch {
			case test.want == "":
				if err != nil {
					t.Error(err)
				}
			case err == nil || !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want one about %q", err, test.want)
			case isSecret != slices.Contains([]string{"API key", "user name", "query", "fragment"}, test.want):
				t.Errorf("error %v, which lets its value be shown: %t", err, !isSecret)
			case !strings.HasPrefix(err.Error(), "the "+field+" must "):
				t.Errorf("error %v names the wrong field", err)
			case len(test.key) > 10 && strings.Contains(err.Error(), strings.Fields(test.key)[0]) || strings.Contains(err.Error(), "pw"):
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

func TestConfigAndClientDoNotShowTheKey(t *testing.T) {
	t.Parallel()
	config := api.Config{BaseURL: "https://cards.example.com/api/v1", APIKey: testKey}
	client, err := api.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{config, &config, client, struct{ c *api.Client }{client}} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, testKey) {
				t.Errorf("%s shows the key: %.60s…", verb, text)
			}
		}
	}
}
