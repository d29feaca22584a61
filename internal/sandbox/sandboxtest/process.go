package sandboxtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
)

// Program returns the path of the built provider: the one that TF_ACC_PROVIDER_PATH
// names, else one that is built once for all tests of a package.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
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
	content, err := os.ReadFile(filepath.Join(path...)) //nolint:gosec // the test names it
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Process is a sandbox in a process of its own, and a client with its first
// account's key.
type Process struct {
	*Client
	*process.Process
}

// StartProcess runs the built sandbox on a free port until the test ends, then
// interrupts it. The log goes to stderr; arguments are further flags.
func StartProcess(t testing.TB, stderr io.Writer, arguments ...string) *Process {
	t.Helper()
	running, err := process.Start(t.Context(), Program(t), stderr, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Wait() })
	p := &Process{NewClient(t, running.Address), running}
	if WithQuirks() {
		p.Quirks(compatibleQuirks())
	}
	return p
}
