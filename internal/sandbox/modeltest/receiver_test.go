package modeltest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
)

// receiver is the HTTPS server of all endpoints; each has a path of its own. It
// turns away some deliveries when they come for the first time.
type receiver struct {
	server *httptest.Server

	mu      sync.Mutex
	calls   int
	arrived map[string]arrival // by path and event id
}

type arrival struct {
	signature string
	body      []byte
}

// unreliable is how often a delivery is turned away: once in so many.
const unreliable = 12

func newReceiver() *receiver {
	r := &receiver{arrived: map[string]arrival{}}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that are opened and not needed
	r.server.StartTLS()
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delivery := request.URL.Path + " " + request.Header.Get("X-Webhook-Id")
	_, again := r.arrived[delivery]
	r.arrived[delivery] = arrival{request.Header.Get("X-Webhook-Signature"), body}
	if r.calls++; r.calls%unreliable == 0 && !again {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (r *receiver) arrival(path, eventID string) arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived[path+" "+eventID]
}

func (r *receiver) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
}

func (a arrival) signedWith(secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(a.body)
	return a.signature == "sha256="+hex.EncodeToString(mac.Sum(nil))
}
