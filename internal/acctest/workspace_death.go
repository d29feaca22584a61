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
)

// RunUntilProviderDies runs the CLI with the built provider and kills that alone
// when it is due. It skips where there is no shell.
func (w *Workspace) RunUntilProviderDies(due <-chan struct{}, args ...string) (int, string) {
	w.t.Helper()
	noted := filepath.Join(w.Dir, "provider.pid")
	built := w.Wrapped(fmt.Sprintf("echo $$ > '%s'\nexec \"$PROVIDER\" \"$@\"", noted))
	defer w.Built()
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
