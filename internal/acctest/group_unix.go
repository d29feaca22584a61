//go:build unix

package acctest

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command, with all that it starts, a group to signal.
func ownGroup(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(command *exec.Cmd, signal syscall.Signal) error {
	return syscall.Kill(-command.Process.Pid, signal)
}
