// Package sandboxtest runs a sandbox for a test, as net/http/httptest runs a server, with a
// client and a receiver of webhooks. Only tests and their kits import it.
package sandboxtest

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/served"
)

// Options of a Server. By default it is a new file with 10,000 USD in the wallet.
type Options struct {
	sandbox.Options

	Wrap   func(http.Handler) http.Handler // put around the service, such as contract.Handler
	Direct bool                            // no network: the client calls the handler itself

	Dashboard bool // serve the web page too; not where Direct
}

// WithDashboard is an option: the web page is served too.
func WithDashboard(o *Options) { o.Dashboard = true }

// Stopped is an option: a clock that only Advance moves.
func Stopped(at time.Time) func(*Options) {
	return func(o *Options) { o.Clock = func() time.Time { return at } }
}

// StartingAt is an option: a clock that runs on from a time, whatever day the tests run on.
func StartingAt(at time.Time) func(*Options) {
	begun := time.Now()
	return func(o *Options) { o.Clock = func() time.Time { return at.Add(time.Since(begun)) } }
}

// Server is a running sandbox, and a client with its first account's key.
type Server struct {
	*Client

	Path string // of its file
	Link string // logs in to the dashboard, where there is one
	stop func()
}

// Start serves a sandbox until the test ends or Close.
func Start(t testing.TB, options ...func(*Options)) *Server {
	t.Helper()
	o := Options{Options: sandbox.Options{InitialBalance: sandbox.DefaultInitialBalance}}
	for _, option := range options {
		option(&o)
	}
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "sandbox.db")
	}
	box := Must(served.Open(t.Context(), served.Options{Options: o.Options}))
	s := &Server{Path: o.Path}
	handler := box.Handler()
	if o.Wrap != nil {
		handler = o.Wrap(handler)
	}
	disconnect, endStreams := func() {}, func() {}
	switch {
	case o.Direct:
		s.Client = &Client{process.Address{URL: "http://sandbox/api/v1", Key: box.APIKey()}, t, Direct(handler)}
	default:
		server := httptest.NewUnstartedServer(handler)
		if o.Dashboard {
			dashboard := Must(box.Dashboard("http://" + server.Listener.Addr().String()))
			server.Config.Handler, s.Link, endStreams = dashboard, dashboard.Link(), dashboard.Close
		}
		if o.Logger != nil {
			server.Config.ErrorLog = slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)
		}
		server.Start()
		s.Client, disconnect = NewClient(t, process.Address{URL: server.URL + "/api/v1", Key: box.APIKey()}), server.Close
	}
	s.stop = sync.OnceFunc(func() {
		endStreams()
		disconnect()
		if err := box.Close(); err != nil {
			t.Errorf("closing the sandbox: %v", err)
		}
	})
	t.Cleanup(s.stop)
	if WithQuirks() {
		s.Quirks(compatibleQuirks())
	}
	return s
}

// Close ends the service; its file can be opened again.
func (s *Server) Close() { s.stop() }

// Direct carries requests to a handler, without a network.
func Direct(handler http.Handler) http.RoundTripper { return sandbox.Direct{Handler: handler} }

// compatibleQuirks are alternatives which a client that keeps the document has to
// take without its user noticing, all at once. Not among them are those that do
// something else with money, or refuse what the default allows.
func compatibleQuirks() map[string]any {
	return map[string]any{
		"idempotency":           "conflict",
		"cards_per_page":        7,
		"cards_total":           "absent",
		"transactions_per_page": "refused",
		"transaction_period":    "dates_only",
		"transaction_signs":     "spending",
		"challenge_status":      "ignored",
		"repeated_state":        "conflict",
		"terminated_status":     http.StatusConflict,
		"error_body":            "nested",
		"retry_after":           "date",
		"wallet_fields":         []string{"orchard_pay", "in_robot_wallet"},
		"amounts":               "floats",
		"wallet_decimals":       6,
		"timestamps":            "bare",
		"empty_metadata":        "array",
		"exp_year_digits":       2,
		"card_values":           "tidied",
	}
}

// WithQuirks tells whether this run of the tests is the one against all
// compatible quirks together. A test whose subject is what the service does by
// default, such as the number of calls, calls Quirks(nil) first.
func WithQuirks() bool { return os.Getenv("SANDBOX_QUIRKS") == "all" }

// Quirks sets the quirks; those that are not named are as by default.
func (c *Client) Quirks(quirks map[string]any) {
	c.T.Helper()
	if quirks == nil {
		quirks = map[string]any{}
	}
	c.Put("/_sandbox/quirks", quirks).OK(http.StatusOK)
}

// AddQuirks sets the named quirks and leaves the others as they are.
func (c *Client) AddQuirks(quirks map[string]any) {
	c.T.Helper()
	all := c.Get("/_sandbox/quirks").OK(http.StatusOK).Body
	maps.Copy(all, quirks)
	c.Quirks(all)
}

// Program returns the path of the built provider: the one that TF_ACC_PROVIDER_PATH
// names, else one that is built once for all tests of a package.
func Program(t testing.TB) string {
	t.Helper()
	path := Must(program())
	return path
}

func programFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("vcard-program-%d", os.Getpid()))
}

var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("TF_ACC_PROVIDER_PATH"); path != "" {
		return path, nil
	}
	path := filepath.Join(programFolder(), "terraform-provider-vcard")
	output, err := exec.Command("go", "build", "-o", path, "github.com/vcard/terraform-provider-vcard").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the provider: %w: %s", err, output)
	}
	return path, nil
})

// Run runs the tests of a package, and removes what Program built for them.
func Run(m *testing.M) {
	m.Run()
	_ = os.RemoveAll(programFolder())
}

// File returns what is in a file.
func File(t testing.TB, path ...string) string {
	t.Helper()
	return string(Must(os.ReadFile(filepath.Join(path...)))) //nolint:gosec // the test names it
}

// Process is a sandbox in a process of its own, and a client with its first account's key.
type Process struct {
	*Client
	*process.Process
}

// StartProcess runs the built sandbox on a free port until the test ends, then
// interrupts it. The log goes to stderr; arguments are further flags.
func StartProcess(t testing.TB, stderr io.Writer, arguments ...string) *Process {
	t.Helper()
	running := Must(process.Start(t.Context(), Program(t), stderr, arguments...))
	t.Cleanup(func() { _ = running.Wait() })
	p := &Process{NewClient(t, running.Address), running}
	if WithQuirks() {
		p.Quirks(compatibleQuirks())
	}
	return p
}
