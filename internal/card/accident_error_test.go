package card_test

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// What a service refuses for good is said at once, on a real clock, and not
// after the wait for a lost response.
func TestRefusalIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call, body, config string
		status             int
		words              []string
	}{
		"conflict with a business code": {"/fund", `{"error":"card_blocked","message":"ask support"}`, "amount = 100", 409, []string{"409 (card_blocked): ask support"}},
		"payment required":              {"/fund", `{"error":"insufficient_funds","message":"too little"}`, "amount = 100", 402, []string{"402 (insufficient_funds)", "vcard_deposit_addresses"}},
		"withdrawal":                    {"/withdraw", `{"error":"invalid_request","message":"never"}`, "amount = 50", 400, []string{"400 (invalid_request): never"}},
		"withdrawal, 422":               {"/withdraw", `{"error":"not_withdrawable","message":"never"}`, "amount = 50", 422, []string{"422 (not_withdrawable): never"}},
		"freezing":                      {"/freeze", `{"error":"card_blocked","message":"ask support"}`, "amount = 60\n  frozen = true", 409, []string{"409 (card_blocked): ask support"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, clock := acctest.Start(t), new(acctest.Clock)
			w := newCLI(t, clock)
			through(w, s, "")
			apply(w, oneCard("amount = 60"))
			var tries atomic.Int64
			through(w, s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
				if !isCall(r, http.MethodPost, c.call) {
					return false
				}
				tries.Add(1)
				answer(w, c.status, c.body)
				return true
			}), "")
			output := applyFails(t, w, oneCard(c.config))
			prints(t, output, c.words...)
			printsNot(t, output, "it is not known whether")
			if waited := time.Until(clock.Now()); tries.Load() != 1 || waited > time.Second {
				t.Errorf("it waited for %s and took %d tries", waited, tries.Load())
			}
			serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
		})
	}
}

func TestTaintedCardThatIsProtectedAndReplacedFirst(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := oneCard("amount = 60\n  deletion_protection = true\n  lifecycle {\n    create_before_destroy = true\n  }")
	w := appliedByCLI(t, s, "", config)
	old := onlyCard(s).ID
	w.Must("taint", "vcard_card.test")
	prints(t, applyFails(t, w, config), "Deletion protection keeps card "+old, "create_before_destroy", "deposed object", "terminate it in the dashboard; the next plan sees that and removes it from the state")
	if live := liveCards(s); len(live) != 2 {
		t.Fatalf("%v are live", live)
	}
	code, output := w.Run("plan", "-no-color")
	if code == 0 {
		t.Errorf("a plan terminates the protected card:\n%s", output)
	}
	prints(t, output, "Deletion protection keeps card "+old, "create_before_destroy", "terminate it in the dashboard")
	s.Terminate(old) // as the dashboard does
	apply(w, config)
	plansNothing(t, w)
	serviceHolds(t, s, "active", 60*usd.Dollar, 9938*usd.Dollar)
}

// limited answers 429 to the first n calls of a kind.
func limited(s *acctest.Service, method, end string, n int64, retryAfter string) *acctest.Service {
	var calls atomic.Int64
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, method, end) || calls.Add(1) > n {
			return false
		}
		w.Header().Set("Retry-After", retryAfter)
		answer(w, http.StatusTooManyRequests, `{"error":"rate_limited","message":"slow down"}`)
		return true
	})
}

func TestLongWaitsAreSaid(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 60"))

	through(w, limited(s, http.MethodPost, "/fund", 1, "1800"), "")
	prints(t, apply(w, oneCard("amount = 100")), "Held up by the service's limits", "To fund card", "took 30m")

	lost := atomic.Bool{}
	through(w, s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if isCall(r, http.MethodPost, "/fund") && !lost.Swap(true) {
			forward(s, r)
			panic(http.ErrAbortHandler)
		}
		return false
	}), "")
	prints(t, apply(w, oneCard("amount = 140")), "the outcome found out", "To fund card", "took 30s", "A response was lost on the way")
	serviceHolds(t, s, "active", 140*usd.Dollar, 9859*usd.Dollar)

	through(w, limited(s, http.MethodGet, "", always, "1800"), "")
	began := time.Now()
	output := applyFails(t, w, oneCard("amount = 150"))
	said := regexp.MustCompile(`Wait until (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC`).FindStringSubmatch(unwrapped(output))
	if len(said) == 0 {
		t.Fatalf("the CLI does not say when to come back:\n%s", output)
	}
	until, err := time.Parse(time.DateOnly+" "+time.TimeOnly, said[1])
	if wait := until.Sub(began); err != nil || wait < 29*time.Minute || wait > 35*time.Minute {
		t.Errorf("it is to wait until %s, which is in %s", said[1], wait)
	}
}

// brokenHandshakes is a listener whose first connections end before TLS begins.
type brokenHandshakes struct {
	net.Listener
	left atomic.Int64
}

func (l *brokenHandshakes) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil || l.left.Add(-1) < 0 {
			return connection, err
		}
		_ = connection.Close()
	}
}

func TestHandshakeThatBreaksOffIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	target, err := url.Parse(s.Root())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	listener := &brokenHandshakes{Listener: server.Listener}
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)
	w := acctest.NewWorkspace(t).Built()
	w.Write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	w.Env = append(w.Env, "SSL_CERT_FILE="+filepath.Join(w.Dir, "ca.pem"))
	w.Write("provider.tf", fmt.Sprintf("provider \"vcard\" {\n  base_url = %q\n  api_key = %q\n}\n", server.URL+"/api/v1", s.Key))
	listener.left.Store(2)
	apply(w, oneCard("amount = 60"))
	serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
	if listener.left.Load() > 0 {
		t.Error("no handshake broke off")
	}
}
