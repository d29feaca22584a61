//go:build unix

// Package process runs the sandbox of a built provider as a process of its own.
package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// maxConnections is how many a client keeps open.
const maxConnections = 10

// Sandbox is a running sandbox.
type Sandbox struct {
	BaseURL string // of the API
	APIKey  string

	// Kill ends the process without a warning. It may have ended before.
	Kill func()

	command *exec.Cmd
	client  *http.Client
}

// Start runs the program's sandbox on a free port, with further flags, and
// returns when it has said where it listens.
func Start(ctx context.Context, program string, flags ...string) (*Sandbox, error) {
	command := exec.CommandContext(ctx, program, append([]string{"sandbox", "--listen=127.0.0.1:0"}, flags...)...) //nolint:gosec // what is to be measured
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	s := &Sandbox{command: command, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxConnections}}}
	s.Kill = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		s.client.CloseIdleConnections()
	})
	if _, err := fmt.Fscanf(output, "VCARD_BASE_URL=%s\nVCARD_API_KEY=%s\n", &s.BaseURL, &s.APIKey); err != nil {
		s.Kill()
		return nil, fmt.Errorf("%s sandbox did not say where it listens; run it by itself to see why: %w", program, err)
	}
	return s, nil
}

// Call calls the API or, below /_sandbox, the control calls. What is not a 2xx
// is an error.
func (s *Sandbox) Call(ctx context.Context, method, path, body string, into any) error {
	base := s.BaseURL
	if strings.HasPrefix(path, "/_sandbox/") {
		base = strings.TrimSuffix(base, "/api/v1")
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.APIKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s was answered %d: %s", method, path, response.StatusCode, raw)
	}
	if into == nil {
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

// WalletBalance returns what the wallet holds.
func (s *Sandbox) WalletBalance(ctx context.Context) (usd.Amount, error) {
	var wallet struct {
		Balance usd.Amount `json:"balance"`
	}
	err := s.Call(ctx, http.MethodGet, "/wallet/balance", "", &wallet)
	return wallet.Balance, err
}

// PeakMemory kills the process and returns what it held at most.
func (s *Sandbox) PeakMemory() Megabytes {
	s.Kill()
	return PeakMemory(s.command.ProcessState)
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
