package acctest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Workspace is a folder in which the real CLI runs the built provider.
type Workspace struct {
	Dir string
	Env []string // added to the environment of every command
	t   testing.TB

	inProcess *testing.T // nil for the built provider
}

// NewWorkspace makes a folder. It skips without TF_ACC and without a CLI.
func NewWorkspace(t testing.TB) *Workspace {
	t.Helper()
	if os.Getenv("TF_ACC") == "" || CLI() == "" {
		t.Skip("needs TF_ACC and Terraform or OpenTofu")
	}
	w := &Workspace{Dir: t.TempDir(), t: t}
	settings := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"vcard/vcard\" = %q\n  }\n  direct {}\n}\n", filepath.Dir(sandboxtest.Program(t)))
	w.Write("cli.tfrc", settings)
	w.Env = []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(w.Dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"}
	return w
}

// Write writes a file of the folder, and the folders that its name has.
func (w *Workspace) Write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.Dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// Run runs the CLI and returns its exit code and all that it printed.
func (w *Workspace) Run(args ...string) (int, string) {
	w.t.Helper()
	return w.RunUntil(nil, 0, args...)
}

// RunUntil runs the CLI, sends it and its provider the signal when it is due, and
// returns the exit code (-1 when a signal ended it) and all that was printed.
func (w *Workspace) RunUntil(due <-chan struct{}, signal syscall.Signal, args ...string) (int, string) {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), CLI(), args...)
	ownGroup(command)
	command.Dir, command.Env = w.Dir, append(os.Environ(), w.Env...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if w.inProcess != nil {
		command.Env = append(command.Env, "TF_REATTACH_PROVIDERS="+w.serve())
	}
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		ended <- err
		if due != nil {
			defer w.t.Fatalf("%s %v ended before %s was due", CLI(), args, signal)
		}
	case <-due:
		if err := signalGroup(command, signal); err != nil {
			w.t.Fatal(err)
		}
	}
	err := <-ended
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), output.String()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return 0, output.String()
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
