// Package process runs "vcard sandbox" as a process of its own, for tests and for measuring.
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

	// Wait returns how the process ended.
	Wait func() error

	command *exec.Cmd
}

// Start runs the program's sandbox on a free port, with further flags, and returns when it has
// said where it listens. The log goes to stderr. The end of the context interrupts it.
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
	p.Address, err = ReadAddress(output)
	if err != nil {
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

// Interrupt asks the process to end, and returns how it ended.
func (p *Process) Interrupt() error {
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return p.Wait()
}

const basePath = "/api/v1"

// Address is where a sandbox listens, and a key to it.
type Address struct {
	URL string // of the API, with /api/v1
	Key string
}

// ReadAddress reads what a sandbox prints when it listens.
func ReadAddress(output io.Reader) (Address, error) {
	var a Address
	_, err := fmt.Fscanf(output, "VCARD_BASE_URL=%s\nVCARD_API_KEY=%s\n", &a.URL, &a.Key)
	return a, err
}

// Root is the address that the control calls are below.
func (a Address) Root() string { return strings.TrimSuffix(a.URL, basePath) }

// NewRequest makes a request with the key and, unless it is empty, a JSON body.
// The path is one of the API, such as /cards, or begins with /_sandbox or /api.
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
