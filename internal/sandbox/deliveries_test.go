package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// What arrives is signed and what it says it is, whatever characters are in it; what
// the list of deliveries shows of it is no secret. Events are for modeltest.
func TestDelivery(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, stopped, inbox.Trusted)
	url := inbox.URL + "/in?token=t0k3n&x=1"
	hook := s.Post("/webhooks", `{"url":"`+url+`","events":["card.created","card.frozen"],"secret":"ключ & key"}`).OK(201)
	if hook.Text("url") != url || hook.Text("secret") != "ключ & key" {
		t.Errorf("registered as %s", hook.Raw)
	}
	id := s.Issue("50", `"label":"<ads> & more"`)
	s.Post("/cards/"+id+"/fund", `{"amount":1}`).OK(200) // not subscribed
	s.Freeze(id)
	for _, a := range inbox.Wait(2) {
		payload := a.Payload()
		if !a.SignedWith("ключ & key") || a.ID() != payload["id"] || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v do not go with %s", a.Header, a.Body)
		}
		if data := payload["data"].(map[string]any); data["id"] != id || data["label"] != "<ads> & more" {
			t.Errorf("data is %v", data)
		}
	}
	for i, d := range s.tried(hook.Text("id"), 1) {
		if d["state"] != "delivered" || d["next_try_at"] != nil || d["url"] != inbox.URL+"/in?…" {
			t.Errorf("delivery %d is %v", i, d)
		}
		try := tries(d)[0].(map[string]any)
		shown := fmt.Sprint(slices.Sorted(maps.Keys(d)), slices.Sorted(maps.Keys(try)))
		if shown != "[created_at event_id id next_try_at state tries type url webhook_id] [duration_ms error status time]" {
			t.Errorf("a delivery and its try show %s", shown)
		}
		if try["status"] != json.Number("200") || try["error"] != nil || try["time"] != "2026-03-15T12:00:00.000Z" {
			t.Errorf("try %v", try)
		}
	}
}

// An event is sent as soon as its change is committed, without waiting for the worker's
// next poll. Every endpoint is refused here, which needs no network; time in the bubble
// stands still while synctest waits.
func TestDeliveryIsPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withoutNetwork, func(o *sandboxtest.Options) { o.PublicWebhooks = true })
		s.subscribe("https://127.0.0.1:1/", `"*"`)
		card := s.Issue("50")
		for events := range 5 {
			synctest.Wait()
			all := s.deliveries("")
			sandboxtest.Equal(t, "deliveries", len(all), events+1)
			for _, delivery := range all {
				sandboxtest.Equal(t, "tries of a delivery", len(tries(delivery)), 1)
			}
			s.Post("/api/v1/cards/"+card+"/fund", `{"amount":1}`).OK(200)
		}
	})
}

func TestRetrySchedule(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, respondWith(500))
	s := start(t, stopped, inbox.Trusted)
	hook := s.subscribe(inbox.URL, `"*"`).Text("id")
	s.Issue("50")
	for i, c := range [][2]string{
		{"5s", "15T12:00:05"},
		{"5m", "15T12:05:05"},
		{"30m", "15T12:35:05"},
		{"2h", "15T14:35:05"},
		{"5h", "15T19:35:05"},
		{"10h", "16T05:35:05"},
		{"10h", "16T15:35:05"},
	} {
		if d := s.tried(hook, i+1)[0]; d["next_try_at"] != "2026-03-"+c[1]+".000Z" || d["state"] != "retrying" {
			t.Errorf("after %d tries: %v, want the next one at %s", i+1, d, c[1])
		}
		s.Advance(c[0])
	}
	d := s.tried(hook, 8)[0]
	if d["state"] != "failed" || d["next_try_at"] != nil {
		t.Errorf("after the last try: %v", d)
	}
	arrived := inbox.Events()
	for _, a := range arrived {
		if string(a.Body) != string(arrived[0].Body) || a.Header.Get("X-Webhook-Id") != arrived[0].Header.Get("X-Webhook-Id") {
			t.Error("a later try brings something else")
		}
	}

	s.Advance("8000h")
	redelivery := "/_sandbox/deliveries/" + d["id"].(string) + "/redeliver"
	again := s.Post(redelivery, "").OK(200)
	if again.Text("state") != "pending" || again.Text("id") != d["id"] || len(tries(again.Body)) != 8 {
		t.Errorf("asked to deliver again: %s", again.Raw)
	}
	d = s.tried(hook, 9)[0]
	if d["state"] != "retrying" || d["next_try_at"] == nil {
		t.Errorf("the schedule did not begin again: %v", d)
	}
	inbox.Respond(nil)
	s.Advance("5s")
	if d = s.tried(hook, 10)[0]; d["state"] != "delivered" {
		t.Errorf("%v", d)
	}
	s.Post(redelivery, "").OK(200) // also what has arrived
	if d = s.tried(hook, 11)[0]; d["state"] != "delivered" || len(inbox.Events()) != 11 {
		t.Errorf("%d arrivals, and %v", len(inbox.Events()), d)
	}
}

// What is done while an event is on its way holds, and the way ends quietly.
func TestAmidADelivery(t *testing.T) {
	t.Parallel()
	for call, tries := range map[string]int{
		"POST /_sandbox/deliveries/DELIVERY/redeliver": 2,
		"DELETE /_sandbox/webhooks/HOOK":               1,
		"POST /_sandbox/reset":                         1,
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			let := make(chan struct{})
			inbox := sandboxtest.NewReceiver(t, func(http.ResponseWriter, *http.Request) { <-let })
			s := start(t, stopped, inbox.Trusted)
			hook := s.subscribe(inbox.URL, `"*"`).Text("id")
			s.Issue("50")
			inbox.Wait(1)
			id, _ := s.deliveries(hook)[0]["id"].(string)
			method, path, _ := strings.Cut(strings.NewReplacer("DELIVERY", id, "HOOK", hook).Replace(call), " ")
			s.Call(method, path, "").OK(200)
			if tries == 1 { // the endpoint is gone
				hook = s.subscribe(inbox.URL, `"*"`).Text("id")
				s.Issue("50")
				inbox.Wait(2)
			}
			close(let)
			if all := s.tried(hook, tries); len(all) != 1 || all[0]["state"] != "delivered" || len(inbox.Events()) != 2 {
				t.Errorf("%d arrived, of %v", len(inbox.Events()), all)
			}
		})
	}
}

// An endpoint that is removed is told nothing any more, and what others are told
// of the same events stays.
func TestEndpointIsRemoved(t *testing.T) {
	t.Parallel()
	ends, stays := sandboxtest.NewReceiver(t, nil), sandboxtest.NewReceiver(t, nil)
	s := start(t, func(o *sandboxtest.Options) { o.WebhookCA = append(ends.CA(), stays.CA()...) })
	removed, kept := s.subscribe(ends.URL, `"*"`).Text("id"), s.subscribe(stays.URL, `"*"`).Text("id")
	card := s.Issue("50")
	s.tried("", 1)

	words := strings.NewReplacer("REMOVED", removed, "DELIVERY", s.deliveries(removed)[0]["id"].(string))
	s.checkCalls(words, []call{
		{method: "POST", path: "/_sandbox/deliveries/DELIVERY/redeliver", body: `{"now":true}`, status: 400, has: []string{`"invalid_request"`, "now"}},
		{method: "POST", path: "/_sandbox/deliveries/dlv_none/redeliver", status: 404, has: []string{`"not_found"`, "dlv_none"}},
		{method: "DELETE", path: "/_sandbox/webhooks/wh_none", status: 404, has: []string{`"not_found"`}},
		{method: "DELETE", path: "/_sandbox/webhooks/REMOVED", body: `{"x":1}`, status: 400, has: []string{`"invalid_request"`}},
		{method: "DELETE", path: "/_sandbox/webhooks/REMOVED", status: 200, has: []string{`{"id":"REMOVED"}`}},
		{method: "DELETE", path: "/_sandbox/webhooks/REMOVED", status: 404, has: []string{`"not_found"`}},
	})

	s.Freeze(card)
	stays.Wait(2)
	sandboxtest.Equal(t, "events that the removed endpoint was told", len(ends.Events()), 1)
	if got := len(s.deliveries("")); got != 2 || len(s.deliveries(kept)) != 2 {
		t.Errorf("%d deliveries are left", got)
	}
}

// Two workers on one file share the work: nothing is sent twice.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, func(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) })
	one := open(t, inbox.Trusted)
	two := open(t, on(one.path), inbox.Trusted)
	hook := one.subscribe(inbox.URL, `"*"`).Text("id")
	id := one.Issue("50")
	const funds = 100
	for i := range funds {
		[]*service{one, two}[i%2].Post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).OK(200)
	}
	one.tried(hook, 1)
	sandboxtest.Equal(t, "requests", len(inbox.Events()), funds+1)
}

// When the process that delivers is killed or stopped, another one that has the file open
// delivers, also what was on its way.
func TestAnotherTakesOver(t *testing.T) {
	t.Parallel()
	for end, is := range map[string]func(*sandboxtest.Process) error{
		"killed":  func(p *sandboxtest.Process) error { p.Kill(); return nil },
		"stopped": (*sandboxtest.Process).Interrupt,
	} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			inbox := sandboxtest.NewReceiver(t, hang)
			file := filepath.Join(t.TempDir(), "s.db")
			first := sandboxtest.StartProcess(t, io.Discard, "--data", file, "--webhook-ca", inbox.CAFile())
			hook := first.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["*"]}`).OK(201)
			first.Issue("50")
			inbox.Wait(1)
			second := open(t, on(file), inbox.Trusted)
			second.Issue("50")
			inbox.Wait(2) // brought by the first one, which does not wait for the one before
			inbox.Respond(nil)
			sandboxtest.Must(0, is(first))
			for _, d := range second.tried(hook.Text("id"), 1) {
				if d["state"] != "delivered" || len(tries(d)) != 1 {
					t.Errorf("%v", d)
				}
			}
			if all := inbox.Events(); len(all) != 4 || !all[3].SignedWith(hook.Text("secret")) {
				t.Errorf("%d requests, want 4 that are signed", len(all))
			}
		})
	}
}

// What was to be sent when the outbox could not be read to its end is sent when it can.
func TestOutboxThatFailsMeanwhile(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := open(t, inbox.Trusted)
	s.subscribe(inbox.URL, `"*"`)
	broken := s.subscribe("https://127.0.0.1:1", `"*"`).Text("id")
	s.Issue("50")
	inbox.Wait(1)
	s.tried(broken, 1)
	execSQL(t, s.path, `UPDATE deliveries SET round = 'x', due_at = 0 WHERE state = 'pending'`)
	s.Issue("50")
	time.Sleep(time.Second) // a few polls
	execSQL(t, s.path, `UPDATE deliveries SET round = 1 WHERE round = 'x'`)
	inbox.Wait(2)
}

// Endpoints that never answer take a bounded number of connections together, and another
// one gets its event all the same.
func TestSilentEndpoints(t *testing.T) {
	t.Parallel()
	good := sandboxtest.NewReceiver(t, nil)
	s := start(t, good.Trusted, func(o *sandboxtest.Options) { o.WebhookTimeout = time.Hour }) // so that each connects once
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
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		_ = listener.Close()
	}
	for _, host := range hosts {
		if err != nil && strings.HasPrefix(host, "[") {
			continue // the system has no IPv6
		}
		hook := s.subscribe("https://"+host+port+"/", `"*"`).Text("id")
		s.Issue("50")
		try := tries(s.tried(hook, 1)[0])[0].(map[string]any)
		if failure, _ := try["error"].(string); !strings.Contains(failure, "--allow-private-webhooks") {
			t.Errorf("%s: %v", host, try)
		}
	}
	sandboxtest.Equal(t, "events that arrived", len(inbox.Events()), 0)
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
		sandboxtest.Equal(t, table+" that are left", query[int](t, s.path, "SELECT COUNT(*) FROM "+table), want)
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
		"never ends": {hang, "no response within 3s", nil},
		"is slow": {func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
		}, "no response within 3s", nil},
		"echoes": {func(w http.ResponseWriter, r *http.Request) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = connection.Write([]byte("HTTP/1.1 200 OK\r\n" + r.Header.Get("X-Webhook-Id") + "\r\n\r\n"))
			_ = connection.Close()
		}, "malformed HTTP response", nil},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed before there was a response", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := sandboxtest.NewReceiver(t, c.respond), sandboxtest.NewReceiver(t, nil)
			s := start(t, stopped, bad.Trusted, func(o *sandboxtest.Options) {
				if strings.Contains(c.text, "within") {
					o.WebhookTimeout = 3 * time.Second
				}
			})
			hook := s.subscribe(bad.URL, `"*"`).Text("id")
			s.subscribe(good.URL, `"*"`)
			const events = 16
			id := s.Issue("50")
			for range events - 1 {
				s.Post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).OK(200)
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
		sandboxtest.Equal(t, "redirects that were followed", len(elsewhere.Events()), 0)
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
			"https://t0k3n.invalid/": "the address of the endpoint's host could not be found",
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
	sandboxtest.Equal(t, "events that arrived where the endpoint is trusted", len(inbox.Events()), 5)
}
