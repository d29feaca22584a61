package sandbox_test

import (
	"context"
	"io"
	"net/http"
	"strings"
)

// outcome is all that a caller sees of a call, whatever became of it.
type outcome struct {
	status int // 0: no answer came
	header http.Header
	raw    string
	err    error // the answer did not come, or not to its end
}

// attempt makes a call on a connection of its own, so that nobody repeats it.
func (s *service) attempt(ctx context.Context, method, path, body string, headers ...string) (o outcome) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return outcome{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return outcome{response.StatusCode, response.Header, string(raw), err}
}
