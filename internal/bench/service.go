//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// service is a sandbox process without limits.
type service struct {
	process *exec.Cmd
	base    string // address of the API
	key     string
	client  *http.Client
}

// startSandbox returns when the service can be asked.
func startSandbox(ctx context.Context, program string) (*service, error) {
	process := exec.CommandContext(ctx, program, "sandbox", "--listen=127.0.0.1:0", "--data=:memory:", "--initial-balance=10000000")
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	s := &service{process: process, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: issuers}}}
	if _, err := fmt.Fscanf(output, "VCARD_BASE_URL=%s\nVCARD_API_KEY=%s\n", &s.base, &s.key); err != nil {
		s.kill()
		return nil, fmt.Errorf("%s sandbox did not say where it listens: %w", program, err)
	}
	none := `{"requests_per_minute": 0, "requests_per_hour": 0, "creates_per_minute": 0, "details_per_minute": 0}`
	if err := s.call(ctx, http.MethodPut, "/_sandbox/limits", none, nil); err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

func (s *service) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	s.client.CloseIdleConnections()
}

// call asks the API or, below /_sandbox, the control surface.
func (s *service) call(ctx context.Context, method, path, body string, into any) error {
	base := s.base
	if strings.HasPrefix(path, "/_sandbox/") {
		base = strings.TrimSuffix(base, "/api/v1")
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
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
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s was answered %d: %s", method, path, response.StatusCode, raw)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// delay holds every answer of the API back from now on.
func (s *service) delay(ctx context.Context, latency time.Duration) error {
	if latency == 0 {
		return nil
	}
	order := fmt.Sprintf(`{"method": "*", "path": "/**", "times": 0, "when": "before", "delay_ms": %d, "then": "pass"}`, latency.Milliseconds())
	return s.call(ctx, http.MethodPost, "/_sandbox/faults", order, nil)
}

// takeRequests returns how often each endpoint was called, and forgets it.
func (s *service) takeRequests(ctx context.Context) (tally, error) {
	var log struct {
		Data []struct {
			Method string `json:"method"`
			Path   string `json:"path"`
		} `json:"data"`
	}
	if err := s.call(ctx, http.MethodGet, "/_sandbox/requests", "", &log); err != nil {
		return nil, err
	}
	calls := tally{}
	for _, call := range log.Data {
		calls[call.Method+" "+endpoint(call.Path)]++
	}
	return calls, s.call(ctx, http.MethodDelete, "/_sandbox/requests", "", nil)
}

// endpoint is a path without the id of a card.
func endpoint(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "card_") {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
}
