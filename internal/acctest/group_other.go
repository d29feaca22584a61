//go:build !unix

package acctest

import (
	"os/exec"
	"syscall"
)

func ownGroup(*exec.Cmd) {}

// signalGroup signals the command alone: groups are of Unix.
func signalGroup(command *exec.Cmd, signal syscall.Signal) error {
	return command.Process.Signal(signal)
}
