package sandbox_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// receiver is an endpoint for webhooks: https, under an authority of its own.
type receiver struct {
	t      *testing.T
	url    string
	server *httptest.Server

	mu      sync.Mutex
	answer  http.HandlerFunc
	arrived []arrival
}

// arrival is a request that reached a receiver.
type arrival struct {
	header http.Header
	body   []byte
}

// receive starts a receiver. A nil answer is 200.
func receive(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{t: t}
	r.answers(answer)
	r.server = httptest.NewTLSServer(http.HandlerFunc(r.serve))
	r.url = r.server.URL
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	r.arrived = append(r.arrived, arrival{request.Header, body})
	answer := r.answer
	r.mu.Unlock()
	answer(w, request)
}

// answers changes how the receiver behaves.
func (r *receiver) answers(answer http.HandlerFunc) {
	if answer == nil {
		answer = func(http.ResponseWriter, *http.Request) {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) arrivals() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]arrival(nil), r.arrived...)
}

// gets waits for a number of arrivals.
func (r *receiver) gets(n int) []arrival {
	r.t.Helper()
	eventually(r.t, func() bool { return len(r.arrivals()) >= n })
	return r.arrivals()
}

// events counts the different ones that arrived.
func (r *receiver) events() int {
	ids := map[string]bool{}
	for _, a := range r.arrivals() {
		ids[a.header.Get("X-Webhook-Id")] = true
	}
	return len(ids)
}

// authority is the certificate that signed the receiver's, as PEM.
func (r *receiver) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
}

// trusted makes a sandbox trust the receiver.
func (r *receiver) trusted(o *sandbox.Options) { o.WebhookCA = r.authority() }

// signedWith tells whether the signature is that of the body.
func (a arrival) signedWith(secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(a.body)
	return a.header.Get("X-Webhook-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil))
}

// payload decodes the body.
func (a arrival) payload(t *testing.T) map[string]any {
	t.Helper()
	var payload map[string]any
	if err := json.Unmarshal(a.body, &payload); err != nil {
		t.Fatal(err)
	}
	return payload
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// hang answers when the caller has gone away.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came about")
		}
	}
}

// subscribe registers an endpoint and returns the answer.
func (s *service) subscribe(url string, events string) answer {
	s.t.Helper()
	return s.post("/api/v1/webhooks", `{"url":"`+url+`","events":[`+events+`]}`).ok(http.StatusCreated)
}

// deliveries lists what there is to deliver to an endpoint, "" for all.
func (s *service) deliveries(webhookID string) (of []map[string]any) {
	s.t.Helper()
	for _, d := range s.get("/_sandbox/deliveries").ok(http.StatusOK).data() {
		if webhookID == "" || d["webhook_id"] == webhookID {
			of = append(of, d)
		}
	}
	return of
}

func tries(delivery map[string]any) []any { return delivery["tries"].([]any) }

// tried waits until every delivery of an endpoint has been tried so often.
func (s *service) tried(webhookID string, n int) []map[string]any {
	s.t.Helper()
	eventually(s.t, func() bool {
		for _, d := range s.deliveries(webhookID) {
			if len(tries(d)) < n {
				return false
			}
		}
		return true
	})
	return s.deliveries(webhookID)
}
