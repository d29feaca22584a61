//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/bench/measured"
)

// service is a sandbox process without limits.
type service struct{ *measured.Sandbox }

// startSandbox returns when the service can be called.
func startSandbox(ctx context.Context, program string) (*service, error) {
	sandbox, err := measured.Start(ctx, program, "--data=:memory:", "--initial-balance=10000000")
	if err != nil {
		return nil, err
	}
	if err := sandbox.LimitRequests(ctx, 0); err != nil {
		sandbox.Kill()
		return nil, err
	}
	return &service{sandbox}, nil
}

// delay holds every response of the API back from now on.
func (s *service) delay(ctx context.Context, latency time.Duration) error {
	if latency == 0 {
		return nil
	}
	for _, path := range []string{"/*", "/*/*", "/*/*/*"} { // no path of the API is longer
		fault := fmt.Sprintf(`{"method": "*", "path": %q, "times": 0, "when": "before", "delay_ms": %d, "then": "pass"}`, path, latency.Milliseconds())
		if err := s.Call(ctx, http.MethodPost, "/_sandbox/faults", fault, nil); err != nil {
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
		if err := s.Call(ctx, http.MethodGet, fmt.Sprintf("/_sandbox/requests?page=%d", page), "", &log); err != nil {
			return nil, err
		}
		if len(log.Data) == 0 {
			break
		}
		for _, call := range log.Data {
			calls[call.Method+" "+endpoint(call.Path)]++
		}
	}
	return calls, s.Call(ctx, http.MethodDelete, "/_sandbox/requests", "", nil)
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
