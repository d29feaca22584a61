package acctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// RunUntilProviderDies runs the CLI with the built provider and kills that alone
// when it is due. It skips where there is no shell.
func (w *Workspace) RunUntilProviderDies(due <-chan struct{}, args ...string) (int, string) {
	w.t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		w.t.Skip("needs a shell, which tells the process id of the provider")
	}
	program, noted := sandboxtest.Program(w.t), filepath.Join(w.Dir, "provider.pid")
	name := filepath.Join("provider", filepath.Base(program))
	w.Write(name, fmt.Sprintf("#!%s\necho $$ > '%s'\nexec '%s' \"$@\"\n", shell, noted, program))
	if err := os.Chmod(filepath.Join(w.Dir, name), 0o700); err != nil { //nolint:gosec // it is to be run
		w.t.Fatal(err)
	}
	built := w.Built()
	w.install(filepath.Join(w.Dir, "provider"))
	defer w.install(filepath.Dir(program))
	return built.run(due, func(*exec.Cmd, <-chan struct{}) error {
		text, err := os.ReadFile(noted) //nolint:gosec // a file of this folder
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return err
		}
		provider, err := os.FindProcess(pid)
		if err != nil {
			return err
		}
		return provider.Kill()
	}, args)
}

// RunUntilForced runs the CLI with the built provider and interrupts both when it
// is due, again and again, as somebody does who does not wait.
func (w *Workspace) RunUntilForced(due <-chan struct{}, args ...string) (int, string) {
	w.t.Helper()
	return w.Built().run(due, func(command *exec.Cmd, ended <-chan struct{}) error {
		again := time.NewTicker(200 * time.Millisecond)
		defer again.Stop()
		for {
			_ = signalGroup(command, syscall.SIGINT) // it may have ended just now
			select {
			case <-again.C:
			case <-ended:
				return nil
			}
		}
	}, args)
}
