package acctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Required begins a configuration: it names where the provider comes from.
const Required = "terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\n"

// Workspace is a folder in which the real CLI talks to a provider in this process, a
// new one for each command, on a clock that skips waits.
type Workspace struct {
	Dir string
	Env []string // added to the environment of every command
	t   T

	built bool // the CLI runs the built provider instead
}

// NewWorkspace makes a folder. It skips without TF_ACC and without a CLI.
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

// Built is this folder with the built provider, a process that reads the environment
// and lives by the real clock.
func (w *Workspace) Built() *Workspace {
	w.t.Helper()
	other := *w
	other.built = true
	w.Install("vcard/vcard", filepath.Dir(sandboxtest.Program(w.t)))
	return &other
}

// Wrapped is Built, where the CLI starts lines of shell in the provider's place. They
// run it as "$PROVIDER" "$@".
func (w *Workspace) Wrapped(lines string) *Workspace {
	w.t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		w.t.Skip("needs a shell, which runs the provider")
	}
	other, program := w.Built(), sandboxtest.Program(w.t)
	folder := filepath.Join(w.Dir, "wrapped")
	w.Write(filepath.Join("wrapped", filepath.Base(program)), fmt.Sprintf("#!%s\nPROVIDER='%s'\n%s\n", shell, program, lines))
	if err := os.Chmod(filepath.Join(folder, filepath.Base(program)), 0o700); err != nil { //nolint:gosec // it is to be run
		w.t.Fatal(err)
	}
	w.Install("vcard/vcard", folder)
	return other
}

// Install makes the CLI take the provider of an address from a folder, and no other.
func (w *Workspace) Install(address, folder string) {
	w.t.Helper()
	w.Write("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", address, folder))
}

// Write writes a file of the folder, and the folders that its name has.
func (w *Workspace) Write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.Dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// Read returns what is in a file of the folder.
func (w *Workspace) Read(name string) string { w.t.Helper(); return sandboxtest.File(w.t, w.Dir, name) }

// Run runs the CLI and returns its exit code and all that it printed.
func (w *Workspace) Run(args ...string) (int, string) {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), CLI(), args...)
	command.Dir, command.Env = w.Dir, append(Environ(), w.Env...)
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

// Environ is this process's, less what would steer the CLI or the provider.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "TF_") || strings.HasPrefix(variable, "VCARD_")
	})
}

// getenv is what a variable has been set to in Env.
func (w *Workspace) getenv(name string) string {
	for _, variable := range slices.Backward(w.Env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
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
		w.t.Fatalf("%s %v ended with %d:\n%s", CLI(), args, code, output)
	}
	return output
}

// ServeProvider starts a provider in this process, and returns the variable by
// which a CLI finds it. To stop it cuts the CLI off, as the death of a provider does.
func ServeProvider(t T, options ...provider.Option) (variable string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	configs, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	server := provider.NewServer("test", options...)()
	go func() {
		err := tf6server.Serve("vcard/vcard", func() tfprotov6.ProviderServer { return server }, tf6server.WithDebug(ctx, configs, closed), tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithLoggingSink(t))
		if err != nil {
			t.Error(err)
		}
	}()
	config := <-configs
	// A CLI that found nobody listening where its provider was would kill this process.
	front := sandboxtest.Listen(t, func(from net.Conn) { connect(t.Context(), from, config.Addr) })
	host := "registry.terraform.io"
	if OpenTofu() {
		host = "registry.opentofu.org"
	}
	reattach, err := json.Marshal(map[string]any{host + "/vcard/vcard": map[string]any{
		"Protocol": string(config.Protocol), "ProtocolVersion": config.ProtocolVersion, "Pid": config.Pid, "Test": true,
		"Addr": map[string]string{"Network": front.Network(), "String": front.String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return "TF_REATTACH_PROVIDERS=" + string(reattach), func() {
		cancel()
		<-closed
		if closer, ok := server.(io.Closer); ok {
			_ = closer.Close()
		}
	}
}

// connect ends when either side does.
func connect(ctx context.Context, from net.Conn, to net.Addr) {
	defer func() { _ = from.Close() }()
	end, err := new(net.Dialer).DialContext(ctx, to.Network(), to.String())
	if err != nil {
		return // it was stopped
	}
	go func() {
		_, _ = io.Copy(end, from)
		_ = end.Close()
	}()
	_, _ = io.Copy(from, end)
}
