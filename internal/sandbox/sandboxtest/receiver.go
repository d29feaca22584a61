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

// Receiver is an endpoint for webhooks: https, under an authority of its own.
type Receiver struct {
	URL string

	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	respond http.HandlerFunc
	events  []Event
}

// Event is a request that reached a Receiver whole.
type Event struct {
	Path   string
	Header http.Header
	Body   []byte
}

// NewReceiver starts a receiver, which answers 200 unless told otherwise.
func NewReceiver(t testing.TB, respond http.HandlerFunc) *Receiver {
	t.Helper()
	r := &Receiver{t: t}
	r.Respond(respond)
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that were cut off
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
	r.events = append(r.events, Event{request.URL.Path, request.Header, body})
	respond := r.respond
	r.mu.Unlock()
	respond(w, request)
}

// Respond changes how the receiver answers from now on; nil is 200.
func (r *Receiver) Respond(respond http.HandlerFunc) {
	if respond == nil {
		respond = func(http.ResponseWriter, *http.Request) {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.respond = respond
}

// Events returns what has arrived so far, refused or not.
func (r *Receiver) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Wait returns when so many events have arrived.
func (r *Receiver) Wait(n int) []Event {
	r.t.Helper()
	Eventually(r.t, func() bool { return len(r.Events()) >= n })
	return r.Events()
}

// CA is the certificate that signed the receiver's, as PEM.
func (r *Receiver) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
}

// CAFile is a file with CA, as --webhook-ca takes it.
func (r *Receiver) CAFile() string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "ca.pem")
	Must(0, os.WriteFile(path, r.CA(), 0o600))
	return path
}

// Trusted is an option: a sandbox that trusts the receiver.
func (r *Receiver) Trusted(o *Options) { o.WebhookCA = r.CA() }

// ID is the event's, as the header has it.
func (e Event) ID() string { return e.Header.Get("X-Webhook-Id") }

// Payload is the decoded body, nil where it is not a JSON object.
func (e Event) Payload() map[string]any { return object(e.Body) }

// SignedWith tells whether the signature is that of the body.
func (e Event) SignedWith(secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(e.Body)
	return e.Header.Get("X-Webhook-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil))
}

// Eventually waits until something holds, and fails the test when it never does.
func Eventually(t testing.TB, holds func() bool) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatal("it never came about")
		case <-tick.C:
		}
	}
}
