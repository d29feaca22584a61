package contract

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// Transport wraps a client's round tripper (nil is [http.DefaultTransport]) so
// that every exchange under /api/v1 is held to the contract; each break fails
// t. A response that cannot be read to its end is not checked.
func Transport(t testing.TB, next http.RoundTripper, options ...Option) http.RoundTripper {
	t.Helper()
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{checker: newChecker(t, options), next: next}
}

type transport struct {
	*checker

	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !underContract(r) {
		return tr.next.RoundTrip(r)
	}
	asked, sent, err := readRequest(r)
	if err != nil {
		return nil, err
	}
	got, err := tr.next.RoundTrip(sent)
	if err != nil {
		tr.check(asked, nil)
		return nil, err
	}
	if tr.requestsOnly {
		tr.check(asked, &response{status: got.StatusCode})
		return got, nil
	}
	body, err := io.ReadAll(got.Body)
	if err == nil {
		tr.check(asked, &response{status: got.StatusCode, header: got.Header, body: body})
	}
	got.Body = replay(body, err, got.Body)
	return got, nil
}

// readRequest returns a request's content and a copy that can still be sent.
func readRequest(r *http.Request) (request, *http.Request, error) {
	if r.Body == nil {
		return request{Request: r}, r, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return request{}, nil, fmt.Errorf("read the request body: %w", err)
	}
	sent := r.Clone(r.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	return request{Request: r, body: body}, sent, nil
}
