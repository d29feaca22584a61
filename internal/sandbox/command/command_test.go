package command_test

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/command"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMainServesUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	var keys [2]string
	for i := range keys {
		r := runMain(t, "--data", path, "--initial-balance", "12.5")
		keys[i] = r.Key
		if got := r.Wallet().String(); got != "12.50" {
			t.Errorf("the wallet holds %s", got)
		}
		r.stop()
		if code := <-r.ended; code != 0 {
			t.Errorf("ended with %d: %s", code, r.log)
		}
		if strings.Contains(r.log.String(), keys[i]) || strings.Contains(r.log.String(), "/wallet/balance") {
			t.Errorf("the log shows the key, or every request: %s", r.log)
		}
	}
	if keys[0] != keys[1] || keys[0] == "" {
		t.Error("the key changed between two runs on one file")
	}
}

func TestMainRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"unknown flag":  {[]string{"--fast"}, 2, "--fast"},
		"argument":      {[]string{"now"}, 2, `"now"`},
		"balance":       {[]string{"--initial-balance", "ten"}, 2, "--initial-balance"},
		"third decimal": {[]string{"--initial-balance", "1.001"}, 2, "two decimals"},
		"no folder":     {[]string{"--data", filepath.Join(t.TempDir(), "none", "s.db")}, 1, "create it first"},
		"a real key":    {[]string{"--data", ":memory:", "--api-key", "sk_live_real"}, 1, "sk_live_sandbox_"},
		"no key file":   {[]string{"--data", ":memory:", "--api-key-file", "none.key"}, 2, "none.key"},
		"two keys":      {[]string{"--data", ":memory:", "--api-key-file", "command_test.go", "--api-key", "sk_live_sandbox_x"}, 2, "exclude each other"},
		"a bad address": {[]string{"--data", ":memory:", "--listen", "127.0.0.1:99999"}, 1, "cannot listen on 127.0.0.1:99999"},
		"no CA file":    {[]string{"--data", ":memory:", "--webhook-ca", "none.pem"}, 1, "none.pem"},
		"no CA in it":   {[]string{"--data", ":memory:", "--webhook-ca", "command_test.go"}, 1, "PEM"},
		"a key's file":  {[]string{"--api-key-file", "sk_live_sandbox_planted_0123456789abcdef"}, 2, "sk_live_…"},
		"a key alone":   {[]string{"sk_live_sandbox_planted_0123456789abcdef"}, 2, "unexpected argument"},
		"key for money": {[]string{"--initial-balance", "sk_live_sandbox_planted_0123456789abcdef"}, 2, "--initial-balance"},
		"help":          {[]string{"--help"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, log bytes.Buffer
			code := command.Main(t.Context(), append([]string{"--listen", "127.0.0.1:0"}, c.args...), &out, &log)
			if code != c.code || !strings.Contains(log.String(), c.text) || strings.Contains(log.String(), "planted") {
				t.Errorf("ended with %d: %s", code, log.String())
			}
			if name == "help" && !strings.Contains(out.String(), "--listen") {
				t.Errorf("help is %q", out.String())
			}
		})
	}
}

func TestMainTakesAKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sk_live_sandbox_mine_0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runMain(t, "--data", ":memory:", "--api-key-file", file)
	if r.Get("/bins").OK(200); r.Key != "sk_live_sandbox_mine_0123456789abcdef" {
		t.Errorf("the key is %q", r.Key)
	}
	argument := runMain(t, "--data", ":memory:", "--api-key", "sk_live_sandbox_shown_0123456789abcdef")
	argument.stop()
	if code := <-argument.ended; code != 0 || !strings.Contains(argument.log.String(), "--api-key-file") {
		t.Errorf("ended with %d, and without a warning: %s", code, argument.log)
	}
}

// runRefused runs the command, which must fail, and returns what it says.
func runRefused(t *testing.T, arguments ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	if code := command.Main(t.Context(), arguments, &out, &log); code != 1 {
		t.Errorf("ended with %d: %s", code, log.String())
	}
	return log.String()
}

// A health check tells a sandbox from another server, and from none.
func TestMainLooksAtHealth(t *testing.T) {
	t.Parallel()
	r := runMain(t, "--data", ":memory:")
	for _, address := range []string{r.Root(), r.Root() + "/", r.URL} {
		var out, log bytes.Buffer
		if code := command.Main(t.Context(), []string{"--health", address}, &out, &log); code != 0 || out.Len()+log.Len() > 0 {
			t.Errorf("%s: ended with %d: %s%s", address, code, out.String(), log.String())
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for address, text := range map[string]string{other.URL: "is no sandbox", gone.URL: "no sandbox answers", "%": "want a URL"} {
		if said := runRefused(t, "--health", address); !strings.Contains(said, text) {
			t.Errorf("%s: %s", address, said)
		}
	}
	for _, response := range sandboxtest.BrokenResponses(`{"key":"sk_live_planted","pan":"0000123412341234"}`) {
		stranger := sandboxtest.RawService(t, func(to net.Conn, _ *http.Request) {
			_, _ = to.Write([]byte(response.Bytes))
			_ = to.Close()
		})
		if said := runRefused(t, "--health", stranger); strings.Contains(said, "planted") || strings.Contains(said, "1234") {
			t.Errorf("%s: %s", response.Name, said)
		}
	}
}

// Two servers cannot have one address, and the second one says what to do.
func TestMainOnATakenPort(t *testing.T) {
	t.Parallel()
	r := runMain(t, "--data", ":memory:")
	taken := strings.TrimPrefix(r.Root(), "http://")
	said := runRefused(t, "--data", ":memory:", "--listen", taken)
	for _, words := range []string{"cannot listen on " + taken, "another sandbox", "--listen", "port 0"} {
		if !strings.Contains(said, words) {
			t.Errorf("%q lacks %q", said, words)
		}
	}
}

// The log has a link to the dashboard, which opens it.
func TestMainNamesTheDashboard(t *testing.T) {
	t.Parallel()
	r := runMain(t, "--data", ":memory:")
	link := regexp.MustCompile(`http://127\.0\.0\.1:\d+/login\?token=\w+`)
	sandboxtest.Eventually(t, func() bool { return link.MatchString(r.log.String()) })
	found := link.FindString(r.log.String())
	if !strings.HasPrefix(found, r.Root()+"/") {
		t.Fatalf("the link is %s, the sandbox at %s", found, r.Root())
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, found, nil)
	if err != nil {
		t.Fatal(err)
	}
	if page := r.Do(request); page.Status != http.StatusOK || !strings.Contains(page.Raw, "Logged in") {
		t.Errorf("the link was answered %d %s", page.Status, page.Raw)
	}
	foreign, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.Root()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host = "evil.example"
	if page := r.Do(foreign); page.Status != http.StatusForbidden {
		t.Errorf("a foreign name was answered %d", page.Status)
	}
}
