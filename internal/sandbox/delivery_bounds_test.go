package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Endpoints that never answer take a bounded number of connections together, and another
// one gets its event all the same.
func TestSilentEndpoints(t *testing.T) {
	t.Parallel()
	good := sandboxtest.NewReceiver(t, nil)
	s := start(t, good.Trusted)
	s.subscribe(good.URL, `"*"`)
	var connected atomic.Int32
	silent := sandboxtest.Listen(t, func(connection net.Conn) {
		t.Cleanup(func() { _ = connection.Close() })
		connected.Add(1)
	})
	for range 300 {
		s.subscribe("https://"+silent.String(), `"*"`)
	}
	s.Issue("50")
	good.Wait(1)
	sandboxtest.Eventually(t, func() bool { return connected.Load() >= 250 })
	s.Issue("50")
	if n := connected.Load(); n > 256 {
		t.Errorf("%d connections", n)
	}
}

// With others on the network as its callers, the sandbox is not led to what only
// this machine can reach.
func TestLocalTargetsAreRefused(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, inbox.Trusted, func(o *sandboxtest.Options) { o.PublicWebhooks = true })
	port := inbox.URL[strings.LastIndex(inbox.URL, ":"):]
	hosts := []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.1.2.3", "192.168.0.1", "169.254.169.254", "[fe80::1]", "[fd00::1]", "100.64.0.1", "0.0.0.0", "0.1.2.3", "198.18.0.1", "240.0.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fec0::1]", "[::ffff:0:127.0.0.1]", "[2001:db8::1]", "[100::1]", "192.88.99.1"}
	for _, host := range hosts {
		hook := s.subscribe("https://"+host+port+"/", `"*"`).Text("id")
		s.Issue("50")
		try := tries(s.tried(hook, 1)[0])[0].(map[string]any)
		if failure, _ := try["error"].(string); !strings.Contains(failure, "--allow-private-webhooks") {
			t.Errorf("%s: %v", host, try)
		}
	}
	if n := len(inbox.Events()); n != 0 {
		t.Errorf("%d events arrived", n)
	}
}

// Old deliveries are forgotten with their tries and events, more than one look
// forgets one look after the other.
func TestOldDeliveriesAreForgotten(t *testing.T) {
	t.Parallel()
	const kept = 10_000
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, inbox.Trusted)
	hook := s.subscribe(inbox.URL, `"card.created"`).Text("id")
	for range 2 {
		s.Issue("50")
	}
	s.tried(hook, 1)
	s.close()
	// As if the second one had been repeated until 1,000 are too many, the first one too.
	execSQL(t, s.path, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO deliveries (public_id, event_id, webhook_id) SELECT 'dlv_' || i, event_id, webhook_id
		FROM n, (SELECT * FROM deliveries ORDER BY id DESC LIMIT 1)`, kept+1000))
	s = start(t, on(s.path), inbox.Trusted)
	sandboxtest.Eventually(t, func() bool { return s.Get("/_sandbox/deliveries?per_page=1").Text("total") == fmt.Sprint(kept) })
	for table, want := range map[string]int{"events": 1, "delivery_tries": 0} {
		if n := query[int](t, s.path, "SELECT COUNT(*) FROM "+table); n != want {
			t.Errorf("%d %s are left, want %d", n, table, want)
		}
	}
}

// distinct counts the different events that arrived.
func distinct(r *sandboxtest.Receiver) int {
	ids := map[string]bool{}
	for _, e := range r.Events() {
		ids[e.ID()] = true
	}
	return len(ids)
}

// Whatever an endpoint does, calls are answered at once, other endpoints get
// their events at once, and the endpoint itself gets them later.
func TestBadReceivers(t *testing.T) {
	t.Parallel()
	elsewhere := sandboxtest.NewReceiver(t, nil)
	for name, c := range map[string]struct {
		respond http.HandlerFunc
		text    string
		status  any
	}{
		"fails":      {respondWith(500), "answered 500 Internal Server Error", json.Number("500")},
		"is gone":    {respondWith(410), "answered 410 Gone", json.Number("410")},
		"redirects":  {http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP, "redirects are not followed", json.Number("307")},
		"never ends": {hang, "no response within 1s", nil},
		"is slow": {func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(3 * time.Second):
			case <-r.Context().Done():
			}
		}, "no response within 1s", nil},
		"echoes": {func(w http.ResponseWriter, r *http.Request) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = connection.Write([]byte("HTTP/1.1 200 OK\r\n" + r.Header.Get("X-Webhook-Id") + "\r\n\r\n"))
			_ = connection.Close()
		}, "not an HTTP response", nil},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed before there was a response", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := sandboxtest.NewReceiver(t, c.respond), sandboxtest.NewReceiver(t, nil)
			s := start(t, stopped, bad.Trusted, func(o *sandboxtest.Options) {
				if strings.Contains(c.text, "within") {
					o.WebhookTimeout = time.Second
				}
			})
			hook := s.subscribe(bad.URL, `"*"`).Text("id")
			s.subscribe(good.URL, `"*"`)
			const events = 16
			id := s.Issue("50")
			begun := time.Now()
			for range events - 1 {
				s.Post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).OK(200)
			}
			// One after the other, the bad endpoint's timeouts alone would take 16 s.
			if took := time.Since(begun); took > 14*time.Second {
				t.Errorf("%d calls took %v", events, took)
			}
			good.Wait(events)

			for _, d := range s.tried(hook, 1) {
				try := tries(d)[0].(map[string]any)
				if text, _ := try["error"].(string); !strings.Contains(text, c.text) || try["status"] != c.status {
					t.Fatalf("the try is shown as %v, want %q", try, c.text)
				}
				if shown := fmt.Sprint(try["error"]); strings.Contains(shown, bad.URL) || strings.Contains(shown, "evt_") {
					t.Errorf("the error shows the URL, or the event: %v", try)
				}
			}
			bad.Respond(nil)
			sandboxtest.Eventually(t, func() bool { // a busy machine may need a third try
				s.Post("/_sandbox/clock", `{"advance":"5s"}`).OK(200)
				return !slices.ContainsFunc(s.deliveries(hook), func(d map[string]any) bool { return d["state"] != "delivered" })
			})
			if b, g := distinct(bad), distinct(good); b != events || g != events {
				t.Errorf("the bad endpoint got %d events, the good one %d, want %d", b, g, events)
			}
		})
	}
	t.Cleanup(func() {
		if n := len(elsewhere.Events()); n != 0 {
			t.Errorf("a redirect was followed %d times", n)
		}
	})
}

// Any success is a delivery; why there is none is told without the secrets of the URL.
func TestFirstTry(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		w.WriteHeader(status)
	})
	at := inbox.URL
	for s, failures := range map[*service]map[string]string{
		start(t, stopped, inbox.Trusted): {at + "/200": "", at + "/201": "", at + "/202": "", at + "/204": "", at + "/299": ""},
		start(t, stopped): {
			at + "/203": "--webhook-ca", "https://127.0.0.1:1/?token=t0k3n": "connection refused",
			"https://t0k3n.invalid/": "the address of its host could not be found",
		},
	} {
		of := map[any]string{}
		for url, failure := range failures {
			of[s.subscribe(url, `"*"`).Text("id")] = failure
		}
		s.Issue("50")
		for _, d := range s.tried("", 1) {
			failure, try := of[d["webhook_id"]], tries(d)[0].(map[string]any)
			shown, want := fmt.Sprintf("%v %v %v", d["state"], d["next_try_at"] != nil, try["status"] != nil), "delivered false true"
			if failure != "" {
				want = "retrying true false"
			}
			text, failed := try["error"].(string)
			if shown != want || failed != (failure != "") || !strings.Contains(text, failure) || strings.Contains(text, "t0k3n") {
				t.Errorf("shown as %v, want the failure %q", d, failure)
			}
		}
	}
	if n := len(inbox.Events()); n != 5 {
		t.Errorf("%d events arrived, want 5 where the endpoint is trusted", n)
	}
}
