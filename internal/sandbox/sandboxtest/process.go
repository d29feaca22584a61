package sandboxtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Program builds the provider once for all tests of a package and returns the
// path of the binary.
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
	path := filepath.Join(programFolder(), "terraform-provider-vcard")
	output, err := exec.Command("go", "build", "-o", path, "github.com/vcard/terraform-provider-vcard").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the provider: %w: %s", err, output)
	}
	return path, nil
})

// RemoveProgram removes what Program built; a package that uses it calls this
// when its tests have run.
func RemoveProgram() { _ = os.RemoveAll(programFolder()) }

// Process is a sandbox in a process of its own, and a client with its first
// account's key.
type Process struct {
	*Client

	command *exec.Cmd
	wait    func() error
}

// StartProcess runs the built sandbox on a free port until the test ends, then
// interrupts it. The log goes to stderr; arguments are further flags.
func StartProcess(t testing.TB, stderr io.Writer, arguments ...string) *Process {
	t.Helper()
	p := &Process{command: exec.CommandContext(t.Context(), Program(t), append([]string{"sandbox", "--listen=127.0.0.1:0"}, arguments...)...)}
	p.command.Cancel = func() error { return p.command.Process.Signal(os.Interrupt) }
	p.command.Stderr = stderr
	output, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait = sync.OnceValue(p.command.Wait)
	t.Cleanup(func() { _ = p.wait() })
	said := ReadEnvironment(output)
	if said["VCARD_API_KEY"] == "" {
		t.Fatalf("the sandbox did not start: %v", p.wait())
	}
	p.Client = NewClient(t, said["VCARD_BASE_URL"], said["VCARD_API_KEY"])
	return p
}

// ReadEnvironment reads the two variables that the sandbox prints when it listens.
func ReadEnvironment(output io.Reader) map[string]string {
	said := map[string]string{}
	for lines := bufio.NewScanner(output); len(said) < 2 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		said[name] = value
	}
	return said
}

// Kill ends the process as kill -9 does.
func (p *Process) Kill() {
	p.T.Helper()
	if err := p.command.Process.Kill(); err != nil {
		p.T.Fatal(err)
	}
	_ = p.wait() // "signal: killed"
}
