// Package sandboxtest runs a sandbox in a test, like net/http/httptest runs a server. It has a client and a receiver
// of webhooks. Only tests import it.
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

// Options are the settings of a Server. The default is a new file with 10,000 USD in the wallet.
type Options struct {
	sandbox.Options

	Wrap   func(http.Handler) http.Handler // wraps the service, for example with contract.Handler
	Direct bool                            // whether the client calls the handler without a network

	Dashboard bool // whether the dashboard is served too; not with Direct
}

// WithDashboard is an option to serve the dashboard too.
func WithDashboard(o *Options) { o.Dashboard = true }

// Stopped is an option to use a clock that only Advance moves.
func Stopped(at time.Time) func(*Options) {
	return func(o *Options) { o.Clock = func() time.Time { return at } }
}

// StartingAt is an option to use a clock that starts at a time.
func StartingAt(at time.Time) func(*Options) {
	start := time.Now()
	return func(o *Options) { o.Clock = func() time.Time { return at.Add(time.Since(start)) } }
}

// Server is a running sandbox, and a client with its first account's key.
type Server struct {
	*Client

	Path string // of the file
	Link string // the sign-in link of the dashboard, if it is served
	stop func()
}

// Start serves a sandbox until the test ends or Close is called.
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
	closeServer := func() {}
	if o.Direct {
		address := process.Address{URL: "http://sandbox/api/v1", Key: box.APIKey()}
		s.Client = &Client{Address: address, T: t, Transport: Direct(handler)}
	} else {
		closeServer = s.serve(t, box, handler, o)
	}
	s.stop = sync.OnceFunc(func() {
		closeServer()
		err := box.Close()
		if err != nil {
			t.Errorf("closing the sandbox: %v", err)
		}
	})
	t.Cleanup(s.stop)
	if WithQuirks() {
		s.Quirks(compatibleQuirks())
	}
	return s
}

// serve starts an HTTP server and sets the client. It returns the function that stops the server.
func (s *Server) serve(t testing.TB, box *served.Sandbox, handler http.Handler, o Options) func() {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	stop := server.Close
	if o.Dashboard {
		dashboard := Must(box.Dashboard("http://" + server.Listener.Addr().String()))
		server.Config.Handler = dashboard
		s.Link = dashboard.Link()
		stop = func() {
			dashboard.Close() // the server would wait for the streams that this ends
			server.Close()
		}
	}
	if o.Logger != nil {
		server.Config.ErrorLog = slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)
	}
	server.Start()
	s.Client = NewClient(t, process.Address{URL: server.URL + "/api/v1", Key: box.APIKey()})
	return stop
}

// Close stops the sandbox. Its file can be opened again.
func (s *Server) Close() { s.stop() }

// Direct returns a transport that passes requests to a handler, without a network.
func Direct(handler http.Handler) http.RoundTripper { return sandbox.Direct{Handler: handler} }

// compatibleQuirks returns a set of quirks whose effects a client must hide from its user. Quirks that move money
// differently, or that refuse more requests, are not among them.
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

// WithQuirks reports whether the tests run with all compatible quirks. A test of the default behavior, such as the
// number of requests, calls Quirks(nil) first.
func WithQuirks() bool { return os.Getenv("SANDBOX_QUIRKS") == "all" }

// Quirks sets the quirks. All others get their defaults.
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

// Provider returns the path of the built provider: the value of TF_ACC_PROVIDER_PATH, or a program that is built
// once for all tests of a package.
func Provider(t testing.TB) string {
	t.Helper()
	return Must(provider())
}

// Vcard returns the path of the built command vcard: the value of TF_ACC_VCARD_PATH, or a program that is built once
// for all tests of a package.
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

// build builds a program, unless the environment variable names a built one.
func build(variable, name, pkg string) (string, error) {
	path := os.Getenv(variable)
	if path != "" {
		return path, nil
	}
	path = filepath.Join(programFolder(), name)
	output, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w: %s", name, err, output)
	}
	return path, nil
}

func programFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("vcard-program-%d", os.Getpid()))
}

// Run runs the tests of a package, then the functions atEnd, and removes the programs that were built for the tests.
// It fails if a goroutine or a database of this module is still running after that.
func Run(m *testing.M, atEnd ...func()) {
	code := m.Run()
	for _, end := range atEnd {
		end()
	}
	_ = os.RemoveAll(programFolder())
	if code != 0 {
		return // the test program exits with this code
	}
	leaked := leakedGoroutines()
	for range 600 { // goroutines get a minute to end
		if len(leaked) == 0 {
			return
		}
		<-time.After(100 * time.Millisecond)
		leaked = leakedGoroutines()
	}
	if len(leaked) > 0 {
		panic("these goroutines are still running after the tests:\n\n" + strings.Join(leaked, "\n\n"))
	}
}

// leakedGoroutines returns the stacks of all other goroutines that run code of this module or serve a database.
func leakedGoroutines() []string {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var leaked []string
	for _, stack := range strings.Split(string(stacks), "\n\n")[1:] { // the first one is this goroutine's
		if strings.Contains(stack, "terraform-provider-vcard/internal/") || strings.Contains(stack, "database/sql.(*DB)") {
			leaked = append(leaked, stack)
		}
	}
	return leaked
}

// File returns the content of a file.
func File(t testing.TB, path ...string) string {
	t.Helper()
	return string(Must(os.ReadFile(filepath.Join(path...)))) //nolint:gosec // the path comes from a test
}

// Process is a sandbox in a separate process, and a client with its first account's key.
type Process struct {
	*Client
	*process.Process
}

// StartProcess runs the built sandbox on a free port and interrupts it when the test ends. The log goes to stderr.
// The arguments are additional flags.
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
