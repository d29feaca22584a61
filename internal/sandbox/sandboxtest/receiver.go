package sandboxtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// Receiver is an HTTPS endpoint for webhooks, with its own certificate authority.
type Receiver struct {
	URL string

	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	respond http.HandlerFunc
	events  []Event
}

// Event is a request that a Receiver has received completely.
type Event struct {
	Path   string
	Header http.Header
	Body   []byte
}

// NewReceiver starts a receiver. If respond is nil, it responds with 200.
func NewReceiver(t testing.TB, respond http.HandlerFunc) *Receiver {
	t.Helper()
	r := &Receiver{t: t}
	r.Respond(respond)
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would report dropped connections
	r.server.StartTLS()
	r.URL = r.server.URL
	t.Cleanup(r.server.Close)
	return r
}

func (r *Receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.events = append(r.events, Event{Path: request.URL.Path, Header: request.Header, Body: body})
	respond := r.respond
	r.mu.Unlock()
	respond(w, request)
}

// Respond changes the response to future requests. If respond is nil, it is 200.
func (r *Receiver) Respond(respond http.HandlerFunc) {
	if respond == nil {
		respond = func(http.ResponseWriter, *http.Request) {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.respond = respond
}

// Events returns the events that have arrived so far, including those that were refused.
func (r *Receiver) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Wait waits until n events have arrived, and returns all events.
func (r *Receiver) Wait(n int) []Event {
	r.t.Helper()
	Eventually(r.t, func() bool { return len(r.Events()) >= n })
	return r.Events()
}

// CA returns the certificate of the receiver's authority as PEM.
func (r *Receiver) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
}

// CAFile returns the path of a file with CA, for --webhook-ca.
func (r *Receiver) CAFile() string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "ca.pem")
	err := os.WriteFile(path, r.CA(), 0o600)
	if err != nil {
		r.t.Fatal(err)
	}
	return path
}

// Trusted is an option of a sandbox that trusts the receiver.
func (r *Receiver) Trusted(o *Options) { o.WebhookCA = r.CA() }

// ID returns the event's id from the header.
func (e Event) ID() string { return e.Header.Get("X-Webhook-Id") }

// Payload returns the decoded body, or nil if it is not a JSON object.
func (e Event) Payload() map[string]any { return object(e.Body) }

// SignedWith reports whether the signature in the header is that of the body and the secret.
func (e Event) SignedWith(secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(e.Body)
	return e.Header.Get("X-Webhook-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil))
}

// Eventually waits until a condition is true. It fails the test if that takes too long.
func Eventually(t testing.TB, condition func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatal("the condition did not become true within a minute")
		case <-tick.C:
		}
	}
}
