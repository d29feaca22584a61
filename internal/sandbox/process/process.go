// Package process runs "vcard sandbox" as a separate process, for tests and benchmarks.
package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Process is a running sandbox.
type Process struct {
	Address Address

	// Wait waits until the process has ended, and returns the error that it ended with.
	Wait func() error

	command *exec.Cmd
}

// Start runs the program's sandbox on a free port, with additional flags, and waits until it listens.
// Its log is written to stderr. The process is interrupted when the context is done.
func Start(ctx context.Context, program string, stderr io.Writer, flags ...string) (*Process, error) {
	args := append([]string{"sandbox", "--listen=127.0.0.1:0"}, flags...)
	command := exec.CommandContext(ctx, program, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stderr = stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	err = command.Start()
	if err != nil {
		return nil, err
	}
	p := &Process{Wait: sync.OnceValue(command.Wait), command: command}
	p.Address, err = ReadAddress(output)
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("%s sandbox did not print its address; run it by itself to see why: %w", program, err)
	}
	return p, nil
}

// Kill kills the process with SIGKILL, unless it has ended, and waits for it.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // fails only if the process has ended
	_ = p.Wait()                 // returns an error that only says that the process was killed
}

// Interrupt interrupts the process, waits for it, and returns the error that it ended with.
func (p *Process) Interrupt() error {
	err := p.command.Process.Signal(os.Interrupt)
	if err != nil {
		return err
	}
	return p.Wait()
}

// basePath is the path of the API.
const basePath = "/api/v1"

// Address is the address of a sandbox, and an API key for it.
type Address struct {
	URL string // of the API, with /api/v1
	Key string
}

// ReadAddress reads the address that a sandbox prints when it listens.
func ReadAddress(output io.Reader) (Address, error) {
	var a Address
	_, err := fmt.Fscanf(output, "VCARD_BASE_URL=%s\nVCARD_API_KEY=%s\n", &a.URL, &a.Key)
	return a, err
}

// Root returns the base URL of the control calls.
func (a Address) Root() string { return strings.TrimSuffix(a.URL, basePath) }

// NewRequest returns a request with the API key. The body is JSON, or empty.
// The path is relative to the API, such as /cards, or starts with /_sandbox or /api.
func (a Address) NewRequest(ctx context.Context, method, path, body string) (*http.Request, error) {
	base := a.URL
	if strings.HasPrefix(path, "/_sandbox") || strings.HasPrefix(path, "/api") {
		base = a.Root()
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.Key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}
