//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
)

// service is a sandbox process without limits.
type service struct {
	*process.Process

	client http.Client
}

// startSandbox returns when the service can be called.
func startSandbox(ctx context.Context, program string) (*service, error) {
	running, err := process.Start(ctx, program, nil, "--data=:memory:", "--initial-balance=10000000")
	if err != nil {
		return nil, err
	}
	s := &service{running, http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: issuers}}}
	unlimited := `{"requests_per_minute": 0, "requests_per_hour": 0, "creates_per_minute": 0, "details_per_minute": 0}`
	if err := s.call(ctx, http.MethodPut, "/_sandbox/limits", unlimited, nil); err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// call calls the API or, below /_sandbox, the control calls. What is not a 2xx
// is an error.
func (s *service) call(ctx context.Context, method, path, body string, into any) error {
	request, err := s.Address.NewRequest(ctx, method, path, body)
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

// delay holds every response of the API back from now on.
func (s *service) delay(ctx context.Context, latency time.Duration) error {
	if latency == 0 {
		return nil
	}
	for _, path := range []string{"/*", "/*/*", "/*/*/*"} { // no path of the API is longer
		fault := fmt.Sprintf(`{"method": "*", "path": %q, "times": 0, "when": "before", "delay_ms": %d, "then": "pass"}`, path, latency.Milliseconds())
		if err := s.call(ctx, http.MethodPost, "/_sandbox/faults", fault, nil); err != nil {
			return err
		}
	}
	return nil
}

// takeRequests returns how often each endpoint was called, and forgets it.
func (s *service) takeRequests(ctx context.Context) (callCounts, error) {
	calls := callCounts{}
	for page := 1; ; page++ {
		var log struct {
			Data []struct {
				Method string `json:"method"`
				Path   string `json:"path"`
			} `json:"data"`
		}
		if err := s.call(ctx, http.MethodGet, fmt.Sprintf("/_sandbox/requests?page=%d", page), "", &log); err != nil {
			return nil, err
		}
		if len(log.Data) == 0 {
			break
		}
		for _, call := range log.Data {
			calls[call.Method+" "+endpoint(call.Path)]++
		}
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
