package api_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

const testKey = "sk_live_0123456789ab.tail9"

// fakeClock moves only when somebody waits.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	waited time.Duration
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.waited += d
	return nil
}

func (c *fakeClock) total() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

// newClient returns a client of handler over real HTTP, on a clock that does
// not wait.
func newClient(t *testing.T, handler http.Handler, options ...func(*api.Config)) *api.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config := api.Config{
		BaseURL:        server.URL + "/api/v1",
		APIKey:         testKey,
		RequestTimeout: 5 * time.Second,
		MaxRetries:     -1,
		Clock:          newFakeClock(),
	}
	for _, option := range options {
		option(&config)
	}
	client, err := api.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func on(clock api.Clock) func(*api.Config) {
	return func(c *api.Config) { c.Clock = clock }
}

// script answers the nth request by its nth step, and the last step for ever.
type script struct {
	mu    sync.Mutex
	steps []http.HandlerFunc
	got   []*http.Request
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.got = append(s.got, r)
	step := s.steps[min(len(s.got), len(s.steps))-1]
	s.mu.Unlock()
	step(w, r)
}

func (s *script) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// respond is a step that writes a status and a body.
func respond(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// drop is a step that breaks the connection.
func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// reset breaks the connection without a goodbye, as a router does that has lost it.
func reset(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// truncate is a step that breaks off in the middle of the body.
func truncate(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4096")
		_, _ = w.Write([]byte(body[:len(body)/2]))
		panic(http.ErrAbortHandler)
	}
}

const cardBody = `{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":50.00,"spending_limit":100.00,"label":"ads","created_at":"2026-03-01T12:00:00Z"}`
