package command_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/command"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// running is a sandbox command in this process.
type running struct {
	*sandboxtest.Client

	stop  context.CancelFunc
	ended chan int
	log   string // its file
}

func runMain(t *testing.T, arguments ...string) *running {
	t.Helper()
	return runMainWith(t, noEnvironment, arguments...)
}

func noEnvironment(string) string { return "" }

func runMainWith(t *testing.T, getenv func(string) string, arguments ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	out, in := io.Pipe()
	log := sandboxtest.Must(os.Create(filepath.Join(t.TempDir(), "log")))
	r := &running{stop: stop, ended: make(chan int, 1), log: log.Name()}
	go func() {
		r.ended <- command.Main(ctx, append([]string{"--listen", "127.0.0.1:0"}, arguments...), getenv, in, log)
		_, _ = log.Close(), in.Close()
	}()
	address, err := process.ReadAddress(out)
	if err != nil {
		t.Fatalf("it did not start: %v %s", err, r.said())
	}
	r.Client = sandboxtest.NewClient(t, address)
	return r
}

// said is the log so far.
func (r *running) said() string {
	text, _ := os.ReadFile(r.log)
	return string(text)
}

// end stops the command, which must end so, and returns its log.
func (r *running) end(want int) string {
	r.T.Helper()
	r.stop()
	if code := <-r.ended; code != want {
		r.T.Errorf("ended with %d: %s", code, r.said())
	}
	return r.said()
}

// refused fails the test unless the command ends by itself, as wanted, and says these
// words. It returns what it printed.
func refused(t *testing.T, code int, words string, arguments ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	if got := command.Main(t.Context(), arguments, noEnvironment, &out, &log); got != code {
		t.Errorf("%q: ended with %d, want %d: %s", arguments, got, code, log.String())
	}
	sandboxtest.ContainsAll(t, fmt.Sprintf("%q", arguments), log.String(), strings.Split(words, " … ")...)
	if strings.Contains(log.String(), "planted") || strings.Contains(log.String(), "\x1b") {
		t.Errorf("%q: a secret or an escape is in %q", arguments, log.String())
	}
	return out.String() + log.String()
}

// One file has one key, whoever chose it. The log has no key and no requests, but a link
// to the dashboard, which opens it.
func TestMainServesUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	const key = "sk_live_sandbox_mine_0123456789abcdef"
	folder := t.TempDir()
	path, file := filepath.Join(folder, "s.db"), filepath.Join(folder, "key")
	sandboxtest.Must(0, os.WriteFile(file, []byte(key+"\n"), 0o600))
	for _, arguments := range [][]string{{"--initial-balance", "12.5", "--api-key-file", file}, nil} {
		r := runMain(t, append(arguments, "--data", path)...)
		if got := r.Wallet().String(); got != "12.50" || r.Key != key {
			t.Errorf("the wallet of %s holds %s", r.Key, got)
		}
		link := regexp.MustCompile(regexp.QuoteMeta(r.Root()) + `/login\?token=\w+`)
		sandboxtest.Eventually(t, func() bool { return link.MatchString(r.said()) })
		page := r.Do(sandboxtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, link.FindString(r.said()), nil))).OK(http.StatusOK)
		if !strings.Contains(page.Raw, "Logged in") {
			t.Errorf("the link leads to %s", page.Raw)
		}
		if log := r.end(0); strings.Contains(log, key) || strings.Contains(log, "/balance") || !strings.Contains(log, "has stopped") {
			t.Errorf("the log shows the key, or every request: %s", log)
		}
	}
}

// The environment may have the key of a new file, and VCARD_API_KEY, a real one, is not read.
func TestKeyFromEnvironment(t *testing.T) {
	t.Parallel()
	const key = "sk_live_sandbox_mine_0123456789abcdef"
	environment := map[string]string{"VCARD_SANDBOX_API_KEY": key, "VCARD_API_KEY": "sk_live_real_0123456789abcdef"}
	getenv := func(name string) string { return environment[name] }
	r := runMainWith(t, getenv, "--data", ":memory:")
	sandboxtest.Equal(t, "the key", r.Key, key)
	if log := r.end(0); strings.Contains(log, key) {
		t.Errorf("the log has the key: %s", log)
	}
	delete(environment, "VCARD_SANDBOX_API_KEY")
	r = runMainWith(t, getenv, "--data", ":memory:")
	if !strings.HasPrefix(r.Key, "sk_live_sandbox_") || r.Key == key {
		t.Errorf("without the variable, the key is %s", r.Key)
	}
	r.end(0)
	environment["VCARD_SANDBOX_API_KEY"] = key
	var log bytes.Buffer
	arguments := []string{"--data", ":memory:", "--api-key-file", "command_test.go"}
	if code := command.Main(t.Context(), arguments, getenv, io.Discard, &log); code != 2 || !strings.Contains(log.String(), "set either --api-key-file or VCARD_SANDBOX_API_KEY, not both") {
		t.Errorf("with both, it ended with %d: %s", code, log.String())
	}
}

// What is wrong with the arguments, or with what they name, is said without a secret.
// A health check tells a sandbox from another server, and from none.
func TestMainRefuses(t *testing.T) {
	t.Parallel()
	const planted = "sk_live_sandbox_planted_0123456789abcdef"
	r := runMain(t, "--data", ":memory:")
	taken := strings.TrimPrefix(r.Root(), "http://")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	fill := strings.NewReplacer("SELF", os.Args[0], "PLANTED", planted, "TAKEN", taken, "OTHER", other.URL, "GONE", gone.URL).Replace
	for _, row := range sandboxtest.Table(t, "testdata/refused.txt", 3) {
		arguments := []string{"--listen", "127.0.0.1:0"}
		for argument := range strings.FieldsSeq(row[1]) {
			arguments = append(arguments, fill(argument)) // which may have spaces, as a path
		}
		refused(t, sandboxtest.Must(strconv.Atoi(row[0])), fill(row[2]), arguments...)
	}
	for _, response := range sandboxtest.BrokenResponses(`{"key":"sk_live_planted","pan":"planted"}`) {
		stranger := sandboxtest.RawService(t, func(to net.Conn, _ *http.Request) {
			_, _ = to.Write([]byte(response.Bytes))
			_ = to.Close()
		})
		refused(t, 1, "", "--health", stranger)
	}
	for _, address := range []string{r.Root(), r.Root() + "/", r.URL} {
		sandboxtest.Equal(t, address+" is a sandbox; said is", refused(t, 0, "", "--health", address), "")
	}
	sandboxtest.Equal(t, "help", refused(t, 0, "", "--help"), sandboxtest.File(t, "testdata/help.txt"))
}

// A snapshot of a sandbox that is served is a sandbox of that moment, with the same key.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, copied := filepath.Join(folder, "s.db"), filepath.Join(folder, "copied.db")
	r := runMain(t, "--data", path)
	card := r.Issue("50")
	sandboxtest.Equal(t, "it says", refused(t, 0, "", "snapshot", "--data", path, copied), "")
	if mode := sandboxtest.Must(os.Stat(copied)).Mode(); mode.Perm() != 0o600 {
		t.Errorf("it is %v", mode)
	}
	later := r.Issue("60")
	again := runMain(t, "--data", copied)
	again.Get("/cards/" + card).OK(http.StatusOK)
	again.Get("/cards/" + later).OK(http.StatusNotFound)
	again.Balanced()
	sandboxtest.Equal(t, "its key", again.Key, r.Key)
	r.Get("/cards/" + later).OK(http.StatusOK)
	r.end(0)
	foreign := filepath.Join(folder, "foreign")
	sandboxtest.Must(0, os.WriteFile(foreign, []byte("no database"), 0o600))
	for words, arguments := range map[string][]string{
		"already exists":            {"--data", path, copied},
		"name its file with --data": {"--data", filepath.Join(folder, "none.db"), filepath.Join(folder, "new.db")},
		"not a SQLite file":         {"--data", foreign, filepath.Join(folder, "new.db")},
		"cannot write the snapshot": {"--data", path, filepath.Join(folder, "none", "new.db")},
	} {
		refused(t, 1, words, append([]string{"snapshot"}, arguments...)...)
	}
	refused(t, 2, "snapshot needs the name of a new file", "snapshot", "--data", path)
	if left := sandboxtest.Must(filepath.Glob(filepath.Join(folder, "new.db*"))); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

func (r *running) dial() (net.Conn, error) {
	return new(net.Dialer).DialContext(r.T.Context(), "tcp", strings.TrimPrefix(r.Root(), "http://"))
}

// A call that runs when the sandbox is stopped is answered, one that a fault delays at
// once; no other is taken.
func TestMainStopsGracefully(t *testing.T) {
	t.Parallel()
	r := runMain(t, "--data", ":memory:")
	r.Fault(`{"method":"POST","path":"/cards","when":"after","delay_ms":60000,"then":"pass"}`)
	answered := make(chan sandboxtest.Response)
	go func() {
		answered <- r.Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"bin_ads_visa_us","amount":50}`)
	}()
	// Until the card is there, and the response on its way.
	sandboxtest.Eventually(t, func() bool { return r.Get("/wallet/balance").Text("cards_active") == "1" })
	r.stop()
	(<-answered).OK(http.StatusCreated).Text("id")
	r.end(0)
	if _, err := r.dial(); err == nil {
		t.Error("still listening")
	}
}

// A caller that never finishes its request is cut off, and delays nobody.
func TestMainCutsSlowCallersOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a timeout of ten seconds")
	}
	r := runMain(t, "--data", ":memory:")
	var slow []net.Conn
	for _, begun := range []string{
		"GET /api/v1/bins HTTP/1.1\r\nHost: ",
		"POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
		"POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + r.Key + "\r\nContent-Length: 1000\r\n\r\n{",
		"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nkey=",
	} {
		for range 20 {
			connection := sandboxtest.Must(r.dial())
			defer func() { _ = connection.Close() }()
			sandboxtest.Must(io.WriteString(connection, begun))
			slow = append(slow, connection)
		}
	}
	r.Get("/bins").OK(200)
	for _, connection := range slow {
		sandboxtest.Must(0, connection.SetReadDeadline(time.Now().Add(30*time.Second)))
		if _, err := io.ReadAll(connection); err != nil {
			t.Errorf("not closed: %v", err)
		}
	}
	r.Post("/cards", strings.Repeat(" ", 2<<20)).OK(400)
}

// Who listens to the network delivers to public addresses alone, unless told otherwise.
func TestPrivateWebhooks(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	for name, c := range map[string]struct {
		arguments []string
		log       string
	}{
		"loopback":               {[]string{"--listen", "localhost:0"}, "the sandbox is listening … delivered an event"},
		"every address":          {[]string{"--listen", "0.0.0.0:0"}, "other machines can reach the sandbox … could not deliver an event"},
		"every address, allowed": {[]string{"--listen", "0.0.0.0:0", "--allow-private-webhooks"}, "delivered an event"},
	} {
		r := runMain(t, append(c.arguments, "--data", ":memory:", "--webhook-ca", inbox.CAFile())...)
		r.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["*"]}`).OK(201)
		r.Issue("50")
		sandboxtest.Eventually(t, func() bool {
			return !strings.Contains(r.Get("/_sandbox/deliveries").Raw, `"tries":[]`)
		})
		sandboxtest.ContainsAll(t, name, r.said(), strings.Split(c.log, " … ")...)
	}
}
