package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// server is a sandbox process.
type server struct {
	process *exec.Cmd
	root    string // its address
	key     string
	client  *http.Client
}

// start runs the program and returns when it has said where it listens.
func start(ctx context.Context, program, file string) (*server, error) {
	process := exec.CommandContext(ctx, program, "sandbox", "--listen", "127.0.0.1:0", "--data", file) //nolint:gosec // what is to be measured
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	s := &server{process: process, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}}
	lines := bufio.NewScanner(output)
	for s.key == "" && lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), "="); name {
		case "VCARD_BASE_URL":
			s.root = strings.TrimSuffix(value, "/api/v1")
		case "VCARD_API_KEY":
			s.key = value
		}
	}
	if s.root == "" || s.key == "" {
		s.kill()
		return nil, fmt.Errorf("%s sandbox did not start; run it by itself to see why", program)
	}
	return s, nil
}

// kill ends the process without a warning. It may have ended before.
func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	s.client.CloseIdleConnections()
}

func (s *server) call(ctx context.Context, method, path, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, s.root+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
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
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s was answered %d: %s", method, path, response.StatusCode, raw)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// limit sets the limits of requests; creates and details have none.
func (s *server) limit(ctx context.Context, most int64) error {
	body := fmt.Sprintf(`{"requests_per_minute":%d,"requests_per_hour":%d,"creates_per_minute":0,"details_per_minute":0}`, most, most)
	return s.call(ctx, http.MethodPut, "/_sandbox/limits", body, nil)
}

func (s *server) fund(ctx context.Context) error {
	return s.call(ctx, http.MethodPost, "/api/v1/cards/"+anyCard()+"/fund", `{"amount":`+fundAmount.String()+`}`, nil)
}

func (s *server) wallet(ctx context.Context) (usd.Amount, error) {
	var wallet struct {
		Balance usd.Amount `json:"balance"`
	}
	err := s.call(ctx, http.MethodGet, "/api/v1/wallet/balance", "", &wallet)
	return wallet.Balance, err
}

// peakMemory is in MB of a million bytes; known where the system keeps it in /proc.
func (s *server) peakMemory() (peak int64, known bool, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int64
	if _, err := fmt.Sscan(rest, &kibibytes); err != nil {
		return 0, false, fmt.Errorf("reading the peak of memory: %w", err)
	}
	return kibibytes * 1024 / 1_000_000, true, nil
}
