// Package acctest runs the real CLI in tests against a sandbox over HTTP. It checks every request and response
// against the API document. Only tests import it.
package acctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-testing/echoprovider"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Service is a sandbox that is served for one test, and a client of it.
type Service struct{ *sandboxtest.Client }

// InitialBalance is the initial balance of the wallet of a Service.
const InitialBalance = sandbox.DefaultInitialBalance

// Start serves a sandbox until the test ends. The options relax the checks for services that misbehave on purpose.
func Start(t testing.TB, options ...contract.Option) *Service {
	t.Helper()
	return &Service{sandboxtest.Start(t, InMemory(t, options...)).Client}
}

// StartOn is like Start, but the service's time follows a clock.
func StartOn(t testing.TB, clock *Clock, options ...contract.Option) *Service {
	t.Helper()
	start := clock.Now()
	return &Service{sandboxtest.Start(t, InMemory(t, options...), func(o *sandboxtest.Options) {
		o.Clock = func() time.Time { return noon().Add(clock.Now().Sub(start)) }
	}).Client}
}

// noon returns noon of a day in the middle of a month.
func noon() time.Time { return time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC) }

// InMemory is an option for a sandbox that stores nothing, is checked against the API document, and starts at noon of a
// day in the middle of a month.
func InMemory(t testing.TB, options ...contract.Option) func(*sandboxtest.Options) {
	t.Helper()
	return func(o *sandboxtest.Options) {
		sandboxtest.StartingAt(noon())(o)
		o.Path = ":memory:"
		if sandboxtest.WithQuirks() { // the document describes the default behavior only
			options = append(options, contract.RequestsOnly())
		}
		o.Wrap = func(h http.Handler) http.Handler { return contract.Handler(t, h, options...) }
	}
}

// ProviderConfig returns the provider block for this service.
func (s *Service) ProviderConfig() string {
	return fmt.Sprintf("provider \"vcard\" {\n  base_url = %q\n  api_key  = %q\n}\n", s.URL, s.Key)
}

// Proxy returns this service behind a proxy. Intercept may change a request, or answer it and return true.
func (s *Service) Proxy(intercept func(w http.ResponseWriter, r *http.Request) bool) *Service {
	s.T.Helper()
	target, err := url.Parse(s.Root())
	if err != nil {
		s.T.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !intercept(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	s.T.Cleanup(server.Close)
	return &Service{sandboxtest.NewClient(s.T, process.Address{URL: server.URL + "/api/v1", Key: s.Key})}
}

// Factories returns factories that serve the provider in this process. The servers are closed when the test ends.
func Factories(t testing.TB, options ...provider.Option) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	prepareCLI()
	return map[string]func() (tfprotov6.ProviderServer, error){
		"vcard": func() (tfprotov6.ProviderServer, error) {
			all := append([]provider.Option{provider.WithClock(new(Clock))}, options...)
			server := provider.NewServer("test", all...)()
			if closer, ok := server.(io.Closer); ok {
				t.Cleanup(func() { _ = closer.Close() })
			}
			return server, nil
		},
	}
}

// prepareCLI sets environment variables: the registry of the CLI under test, garbage collection only above a memory
// limit, and the folder of the provider's socket.
var prepareCLI = sync.OnceFunc(func() {
	_ = os.Setenv("GOGC", "off")
	_ = os.Setenv("GOMEMLIMIT", "1GiB") // above it, garbage is collected despite GOGC
	if OpenTofu() {
		_ = os.Setenv("TF_ACC_PROVIDER_HOST", "registry.opentofu.org")
	}
	_ = os.Setenv(socketVariable, socketFolder())
})

// socketVariable names the folder of a provider's socket. Some systems limit the path of a socket to 104 characters,
// which a long TMPDIR exceeds.
const socketVariable = "PLUGIN_UNIX_SOCKET_DIR"

func socketFolder() string {
	if runtime.GOOS == "windows" { // providers use TCP there
		return os.TempDir()
	}
	return "/tmp"
}

// maxWait limits the real duration of a wait on a Clock.
const maxWait = 10 * time.Millisecond

// Clock is a real clock that skips most of each wait.
type Clock struct {
	mu      sync.Mutex
	skipped time.Duration
}

// Now returns the time, including all skipped waits.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

// Wait waits for at most maxWait, and skips the rest of d. Concurrent waits skip the same time, not the sum.
func (c *Clock) Wait(ctx context.Context, d time.Duration) error {
	until := c.Now().Add(d)
	timer := time.NewTimer(min(d, maxWait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().Add(c.skipped)
	c.skipped += max(0, until.Sub(now))
	return nil
}

// CLI returns the path of the Terraform or OpenTofu under test: the value of TF_ACC_TERRAFORM_PATH, or the first
// one on PATH, or "".
func CLI() string { return cli().path }

// OpenTofu reports whether the CLI under test is OpenTofu.
func OpenTofu() bool { return cli().tofu }

// Needs skips the test if the CLI is older than a version of Terraform or OpenTofu. "" means that no version has
// the feature.
func Needs(t testing.TB, terraform, tofu string) {
	t.Helper()
	if !Has(terraform, tofu) {
		t.Skipf("the CLI under test (%s) does not have this; the protocol tests cover it", cli().name)
	}
}

// Has reports whether the CLI under test has at least one of the versions of Needs.
func Has(terraform, tofu string) bool {
	minimum := terraform
	if OpenTofu() {
		minimum = tofu
	}
	if minimum == "" || cli().version == nil {
		return false
	}
	return cli().version.Core().GreaterThanOrEqual(version.Must(version.NewVersion(minimum)))
}

// commandLine is the CLI under test.
type commandLine struct {
	path    string
	name    string // with its version, for messages
	tofu    bool
	version *version.Version
}

var cli = sync.OnceValue(func() commandLine {
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if path == "" {
		path, _ = exec.LookPath("terraform")
	}
	if path == "" {
		path, _ = exec.LookPath("tofu")
	}
	if path == "" {
		return commandLine{name: "none found"}
	}
	c := commandLine{path: path, name: path}
	command := exec.Command(path, "version")
	command.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
	output, _ := command.Output()
	// The output may start with warnings about the CLI's configuration.
	match := regexp.MustCompile(`(?m)^(Terraform|OpenTofu) v(\S+)`).FindStringSubmatch(string(output))
	if match != nil {
		c.name = match[1] + " " + match[2]
		c.tofu = match[1] == "OpenTofu"
		c.version, _ = version.NewVersion(match[2])
	}
	return c
})

// FactoriesWithEcho adds the provider "echo" to Factories. Its resource shows what an ephemeral resource returned.
func FactoriesWithEcho(t testing.TB) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	factories := Factories(t)
	factories["echo"] = echoprovider.NewProviderServer()
	return factories
}

// SkipBelow skips a TestCase if the CLI is older than a version of Terraform or OpenTofu. "" means that no version
// has the feature.
func SkipBelow(terraform, tofu string) []tfversion.TerraformVersionCheck {
	return []tfversion.TerraformVersionCheck{skipBelow{terraform, tofu}}
}

type skipBelow struct{ terraform, tofu string }

func (s skipBelow) CheckTerraformVersion(
	_ context.Context, _ tfversion.CheckTerraformVersionRequest, resp *tfversion.CheckTerraformVersionResponse,
) {
	if !Has(s.terraform, s.tofu) {
		resp.Skip = cli().name + " does not have this; the protocol tests cover it"
	}
}

// Error matches an error of the CLI with this title, followed by these values. It ignores line breaks that the CLI has
// inserted. The character … in a title stands for any text.
func Error(title string, values ...string) *regexp.Regexp { return titled("Error: "+title, values) }

func titled(title string, values []string) *regexp.Regexp {
	var parts []string
	for _, text := range append(strings.Split(title, "…"), values...) {
		parts = append(parts, strings.Join(strings.Fields(regexp.QuoteMeta(text)), `\s+`))
	}
	return regexp.MustCompile(strings.Join(parts, `[\s\S]*`))
}

// Exactly expects a number with exactly these decimals.
func Exactly(decimal string) knownvalue.Check {
	const precision = 512 // in bits, like Terraform's numbers
	number, _, err := big.ParseFloat(decimal, 10, precision, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return knownvalue.NumberExact(number)
}

// Required is the terraform block that configurations start with.
const Required = "terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\n"

// Workspace is a folder in which the real CLI runs. Each command uses a new provider in this process, with a clock
// that skips waits.
type Workspace struct {
	Dir string
	Env []string // added to the environment of every command
	t   T

	built bool // whether the CLI starts the built provider, and not one in this process
}

// NewWorkspace creates a folder. It skips the test without TF_ACC or without a CLI.
func NewWorkspace(t *testing.T) *Workspace {
	t.Helper()
	if os.Getenv("TF_ACC") == "" || CLI() == "" {
		t.Skip("needs TF_ACC and Terraform or OpenTofu")
	}
	prepareCLI()
	w := &Workspace{Dir: t.TempDir(), t: t}
	w.Write("cli.tfrc", "")
	w.Env = []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(w.Dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"}
	return w
}

// Built returns the same folder with the built provider, which runs in its own process with the real clock.
func (w *Workspace) Built() *Workspace {
	w.t.Helper()
	other := *w
	other.built = true
	w.Install("vcard/vcard", filepath.Dir(sandboxtest.Provider(w.t)))
	return &other
}

// Wrapped is like Built, but the CLI starts a shell script instead of the provider. The script runs the provider as
// "$PROVIDER" "$@".
func (w *Workspace) Wrapped(lines string) *Workspace {
	w.t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		w.t.Skip("needs a shell to run the provider")
	}
	other := w.Built()
	program := sandboxtest.Provider(w.t)
	folder := filepath.Join(w.Dir, "wrapped")
	w.Write(filepath.Join("wrapped", filepath.Base(program)), fmt.Sprintf("#!%s\nPROVIDER='%s'\n%s\n", shell, program, lines))
	err = os.Chmod(filepath.Join(folder, filepath.Base(program)), 0o700) //nolint:gosec // the CLI executes it
	if err != nil {
		w.t.Fatal(err)
	}
	w.Install("vcard/vcard", folder)
	return other
}

// Install makes the CLI use the provider in a folder for an address.
func (w *Workspace) Install(address, folder string) {
	w.t.Helper()
	w.Write("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", address, folder))
}

// Write writes a file and creates its folders.
func (w *Workspace) Write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.Dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err != nil {
		w.t.Fatal(err)
	}
	err = os.WriteFile(path, []byte(content), 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
}

// Read returns the content of a file.
func (w *Workspace) Read(name string) string {
	w.t.Helper()
	return sandboxtest.File(w.t, w.Dir, name)
}

// Run runs the CLI and returns its exit code and output.
func (w *Workspace) Run(args ...string) (int, string) {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), CLI(), args...)
	command.Dir = w.Dir
	command.Env = append(Environ(), w.Env...)
	if !w.built {
		variable, stop := ServeProvider(w.t, provider.WithClock(new(Clock)), provider.WithEnvironment(w.getenv))
		defer stop()
		command.Env = append(command.Env, variable)
	}
	output, err := command.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(output)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return 0, string(output)
}

// Environ returns this process's environment without variables that configure the CLI or the provider.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "TF_") || strings.HasPrefix(variable, "VCARD_")
	})
}

// getenv returns the value of a variable in Env.
func (w *Workspace) getenv(name string) string {
	for _, variable := range slices.Backward(w.Env) {
		value, ok := strings.CutPrefix(variable, name+"=")
		if ok {
			return value
		}
	}
	return ""
}

// Must runs the CLI and fails the test unless it succeeds.
func (w *Workspace) Must(args ...string) string {
	w.t.Helper()
	code, output := w.Run(args...)
	if code != 0 {
		w.t.Fatalf("%s %v exited with %d:\n%s", CLI(), args, code, output)
	}
	return output
}

// ServeProvider serves providers in this process. Each connection gets a new one, because a CLI starts a new provider
// for each walk of a command. It returns the environment variable with which a CLI finds them, and a function that closes
// all connections and waits until the providers have stopped.
func ServeProvider(t T, options ...provider.Option) (variable string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var mu sync.Mutex // so that no provider starts after stop
	address := sandboxtest.Listen(t, func(from net.Conn) {
		defer func() { _ = from.Close() }()
		mu.Lock()
		if ctx.Err() != nil {
			mu.Unlock()
			return
		}
		running.Add(1)
		mu.Unlock()
		defer running.Done()
		serveProvider(ctx, t, from, options)
	})
	host := "registry.terraform.io"
	if OpenTofu() {
		host = "registry.opentofu.org"
	}
	reattach, err := json.Marshal(map[string]any{host + "/vcard/vcard": map[string]any{
		"Protocol":        string(plugin.ProtocolGRPC),
		"ProtocolVersion": 6,
		"Pid":             os.Getpid(), // of a running process
		"Test":            true,        // so that the CLI does not kill the process
		"Addr":            map[string]string{"Network": address.Network(), "String": address.String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	variable = "TF_REATTACH_PROVIDERS=" + string(reattach)
	stop = func() {
		mu.Lock()
		cancel()
		mu.Unlock()
		running.Wait()
	}
	return variable, stop
}

// serveProvider serves one provider until the connection to it is closed.
func serveProvider(ctx context.Context, t T, from net.Conn, options []provider.Option) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	configs := make(chan *plugin.ReattachConfig, 1)
	closed := make(chan struct{})
	server := provider.NewServer("test", options...)()
	served := make(chan struct{})
	go func() {
		defer close(served)
		err := tf6server.Serve("vcard/vcard", func() tfprotov6.ProviderServer { return server },
			tf6server.WithDebug(ctx, configs, closed),
			tf6server.WithGoPluginLogger(hclog.NewNullLogger()),
			tf6server.WithLoggingSink(t))
		if err != nil {
			t.Error(err)
		}
	}()
	select {
	case config := <-configs:
		connect(ctx, from, config.Addr)
		cancel()
		<-closed
	case <-served: // the provider could not start
	}
	if closer, ok := server.(io.Closer); ok {
		_ = closer.Close()
	}
}

// connect copies between a client and a server until either closes the connection or the context ends.
func connect(ctx context.Context, client net.Conn, address net.Addr) {
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, address.Network(), address.String())
	if err != nil {
		return // the provider was stopped
	}
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}
