// Package process runs the sandbox of a built provider as a process of its own,
// for tests and for measuring.
package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// Process is a running sandbox.
type Process struct {
	Address Address

	// Wait returns how the process ended.
	Wait func() error

	command *exec.Cmd
}

// Start runs the program's sandbox on a free port, with further flags, and
// returns when it has said where it listens. The log goes to stderr. The end of
// the context interrupts it.
func Start(ctx context.Context, program string, stderr io.Writer, flags ...string) (*Process, error) {
	command := exec.CommandContext(ctx, program, append([]string{"sandbox", "--listen=127.0.0.1:0"}, flags...)...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stderr = stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &Process{Wait: sync.OnceValue(command.Wait), command: command}
	if p.Address, err = ReadAddress(output); err != nil {
		p.Kill()
		return nil, fmt.Errorf("%s sandbox did not say where it listens; run it by itself to see why: %w", program, err)
	}
	return p, nil
}

// Kill ends the process as kill -9 does. It may have ended before.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	_ = p.Wait()
}

// ID is the process's.
func (p *Process) ID() int { return p.command.Process.Pid }

// Interrupt asks the process to end, and returns how it ended.
func (p *Process) Interrupt() error {
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return p.Wait()
}
