//go:build unix

// Package measured is what the bench measures: the sandbox of a built provider,
// and the memory of processes.
package measured

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"syscall"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
)

// Sandbox is a running sandbox.
type Sandbox struct {
	*process.Process

	client *http.Client
}

// maxConnections is how many a client keeps open.
const maxConnections = 64

// Start runs the program's sandbox until the context ends; see process.Start.
func Start(ctx context.Context, program string, flags ...string) (*Sandbox, error) {
	running, err := process.Start(ctx, program, nil, flags...)
	return &Sandbox{running, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxConnections}}}, err
}

// Call calls the API or, below /_sandbox, the control calls. What is not a 2xx
// is an error.
func (s *Sandbox) Call(ctx context.Context, method, path, body string, into any) error {
	request, err := s.NewRequest(ctx, method, path, body)
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("%s %s was answered %d: %s", method, path, response.StatusCode, raw)
	case into == nil:
		return nil
	}
	return json.Unmarshal(raw, into)
}

// LimitRequests sets the limits of requests, 0 for none; creates and details
// have none.
func (s *Sandbox) LimitRequests(ctx context.Context, limit int64) error {
	body := fmt.Sprintf(`{"requests_per_minute":%d,"requests_per_hour":%d,"creates_per_minute":0,"details_per_minute":0}`, limit, limit)
	return s.Call(ctx, http.MethodPut, "/_sandbox/limits", body, nil)
}

// Megabytes are a million bytes each.
type Megabytes int64

// PeakMemory returns what a process that has ended held at most.
func PeakMemory(ended *os.ProcessState) Megabytes {
	usage, ok := ended.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	peak := usage.Maxrss
	if runtime.GOOS != "darwin" {
		peak *= 1024 // others count in KiB
	}
	return Megabytes(peak / 1_000_000)
}
