// Package sandboxtest runs a sandbox for a test, as net/http/httptest runs a server, with a
// client and a receiver of webhooks. Only tests and their kits import it.
package sandboxtest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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

// Provider returns the path of the built provider: the one that TF_ACC_PROVIDER_PATH names, or
// one that is built once for all tests of a package.
func Provider(t testing.TB) string {
	t.Helper()
	return Must(provider())
}

// Vcard returns the path of the built command vcard: the one that TF_ACC_VCARD_PATH names, or
// one that is built once for all tests of a package.
func Vcard(t testing.TB) string {
	t.Helper()
	return Must(vcard())
}

var provider = sync.OnceValues(func() (string, error) {
	return build("TF_ACC_PROVIDER_PATH", "terraform-provider-vcard", module)
})

var vcard = sync.OnceValues(func() (string, error) {
	return build("TF_ACC_VCARD_PATH", "vcard", module+"/internal/cmd/vcard")
})

const module = "github.com/vcard/terraform-provider-vcard"

// build builds a program, unless the variable names one that is built already.
func build(variable, name, pkg string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		return path, nil
	}
	path := filepath.Join(programFolder(), name)
	output, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w: %s", name, err, output)
	}
	return path, nil
}

func programFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("vcard-program-%d", os.Getpid()))
}

// Run runs the tests of a package, and removes the programs that were built for them. It fails
// where a goroutine or a database of this module outlives the tests and what is to run at their end.
func Run(m *testing.M, atEnd ...func()) {
	code := m.Run()
	for _, end := range atEnd {
		end()
	}
	_ = os.RemoveAll(programFolder())
	if code != 0 {
		return // the test program ends with this code
	}
	if left := leftRunning(); len(left) > 0 {
		panic("these goroutines outlive the tests:\n\n" + strings.Join(left, "\n\n"))
	}
}

// leftRunning returns the stacks of all goroutines but its own in which something of this
// module, or an open database, runs. It gives them a minute to end.
func leftRunning() []string {
	var left []string
	for range 600 {
		left = nil
		stacks := make([]byte, 16<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for _, stack := range strings.Split(string(stacks), "\n\n")[1:] {
			if strings.Contains(stack, "terraform-provider-vcard/internal/") || strings.Contains(stack, "database/sql.(*DB)") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return nil
		}
		<-time.After(100 * time.Millisecond)
	}
	return left
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
	running := Must(process.Start(t.Context(), Vcard(t), stderr, arguments...))
	t.Cleanup(func() { _ = running.Wait() })
	p := &Process{NewClient(t, running.Address), running}
	if WithQuirks() {
		p.Quirks(compatibleQuirks())
	}
	return p
}
