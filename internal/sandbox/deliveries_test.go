package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestDelivery(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, stopped, inbox.Trusted)
	hook := s.subscribe(inbox.URL+"/in?token=t0k3n", `"card.created","card.frozen"`)
	id := s.Issue("50", `"label":"<ads> & more"`)
	s.Post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).OK(200) // not subscribed
	s.Post("/api/v1/cards/"+id+"/freeze", "").OK(200)

	types := map[string]bool{}
	for _, a := range inbox.Wait(2) {
		payload := a.Payload()
		fields(t, payload, "id", "type", "created_at", "data")
		types[payload["type"].(string)] = true
		if !a.SignedWith(hook.Text("secret")) {
			t.Errorf("%s is not the signature of %s", a.Header.Get("X-Webhook-Signature"), a.Body)
		}
		if a.Header.Get("X-Webhook-Id") != payload["id"] || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v do not go with event %v", a.Header, payload["id"])
		}
		if data := payload["data"].(map[string]any); data["id"] != id || data["label"] != "<ads> & more" {
			t.Errorf("data is %v", data)
		}
	}
	if !types["card.created"] || !types["card.frozen"] {
		t.Errorf("got %v", types)
	}

	s.tried(hook.Text("id"), 1)
	list := s.Get("/_sandbox/deliveries").OK(200)
	for i, d := range list.Data() {
		fields(t, d, "id", "event_id", "type", "webhook_id", "url", "state", "created_at", "next_try_at", "tries")
		if d["state"] != "delivered" || d["next_try_at"] != nil || d["webhook_id"] != hook.Text("id") || d["url"] != inbox.URL+"/in?…" {
			t.Errorf("delivery %d is %v", i, d)
		}
		try := tries(d)[0].(map[string]any)
		fields(t, try, "time", "status", "error", "duration_ms")
		if try["status"] != json.Number("200") || try["error"] != nil || try["time"] != "2026-03-15T12:00:00.000Z" {
			t.Errorf("try %v", try)
		}
	}
	if strings.Contains(list.Raw, hook.Text("secret")) || strings.Contains(list.Raw, "t0k3n") {
		t.Errorf("the list shows a secret: %s", list.Raw)
	}
}

func TestDeliveryWithChosenSecret(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, inbox.Trusted)
	s.Post("/api/v1/webhooks", `{"url":"`+inbox.URL+`","events":["*"],"secret":"ключ & key"}`).OK(201)
	s.Issue("50")
	if a := inbox.Wait(1)[0]; !a.SignedWith("ключ & key") {
		t.Errorf("%s is not the signature of %s", a.Header.Get("X-Webhook-Signature"), a.Body)
	}
}

func TestAnySuccessIsADelivery(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 201, 202, 204, 299} {
		inbox := sandboxtest.NewReceiver(t, respondWith(code))
		s := start(t, stopped, inbox.Trusted)
		hook := s.subscribe(inbox.URL, `"*"`).Text("id")
		s.Issue("50")
		if d := s.tried(hook, 1)[0]; d["state"] != "delivered" || d["next_try_at"] != nil {
			t.Errorf("after %d: %v", code, d)
		}
	}
}

// Events do not wait for a worker to look.
func TestDeliveryIsPrompt(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, inbox.Trusted)
	s.subscribe(inbox.URL, `"*"`)
	id := s.Issue("50")
	var took []time.Duration
	for i := range 20 {
		inbox.Wait(1 + i)
		begun := time.Now()
		s.Post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).OK(200)
		inbox.Wait(2 + i)
		took = append(took, time.Since(begun))
	}
	// What waits for a poll is caused just after one, and waits for 250 ms.
	if slices.Sort(took); took[len(took)/4] > 150*time.Millisecond {
		t.Errorf("events, each after the one before, took %v", took)
	}
}

func TestOneSlowDeliveryDoesNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	var later atomic.Bool
	inbox := sandboxtest.NewReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		if !later.Swap(true) {
			<-r.Context().Done()
		}
	})
	s := start(t, inbox.Trusted)
	hook := s.subscribe(inbox.URL, `"*"`).Text("id")
	id := s.Issue("50")
	inbox.Wait(1)
	for range 20 {
		s.Post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).OK(200)
	}
	inbox.Wait(21)
	if d := s.deliveries(hook)[0]; len(tries(d)) != 0 || d["state"] != "pending" {
		t.Errorf("the slow one has ended: %v", d)
	}
}

func TestRetrySchedule(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, respondWith(500))
	s := start(t, stopped, inbox.Trusted)
	hook := s.subscribe(inbox.URL, `"*"`).Text("id")
	s.Issue("50")
	schedule := []string{"5s", "5m", "30m", "2h", "5h", "10h", "10h"}
	for i, delay := range schedule {
		d := s.tried(hook, i+1)[0]
		now, err := time.Parse(time.RFC3339, s.Get("/_sandbox/clock").Text("now"))
		if err != nil {
			t.Fatal(err)
		}
		next, err := time.Parse(time.RFC3339, d["next_try_at"].(string))
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := time.ParseDuration(delay); next.Sub(now) != want || d["state"] != "pending" {
			t.Errorf("after %d tries the next comes in %v, want %s: %v", i+1, next.Sub(now), delay, d)
		}
		s.Post("/_sandbox/clock", `{"advance":"`+delay+`"}`).OK(200)
	}
	d := s.tried(hook, len(schedule)+1)[0]
	if d["state"] != "failed" || d["next_try_at"] != nil {
		t.Errorf("after the last try: %v", d)
	}
	arrived := inbox.Events()
	for _, a := range arrived {
		if string(a.Body) != string(arrived[0].Body) || a.Header.Get("X-Webhook-Id") != arrived[0].Header.Get("X-Webhook-Id") {
			t.Error("a later try brings something else")
		}
	}

	s.Post("/_sandbox/clock", `{"advance":"8000h"}`).OK(200)
	redelivery := "/_sandbox/deliveries/" + d["id"].(string) + "/redeliver"
	again := s.Post(redelivery, "").OK(200)
	if again.Text("state") != "pending" || again.Text("id") != d["id"] || len(tries(again.Body)) != 8 {
		t.Errorf("asked to deliver again: %s", again.Raw)
	}
	d = s.tried(hook, 9)[0]
	if d["state"] != "pending" || d["next_try_at"] == nil {
		t.Errorf("the schedule did not begin again: %v", d)
	}
	inbox.Respond(nil)
	s.Post("/_sandbox/clock", `{"advance":"5s"}`).OK(200)
	if d = s.tried(hook, 10)[0]; d["state"] != "delivered" {
		t.Errorf("%v", d)
	}
	s.Post(redelivery, "").OK(200) // also what has arrived
	if d = s.tried(hook, 11)[0]; d["state"] != "delivered" || len(inbox.Events()) != 11 {
		t.Errorf("%d arrivals, and %v", len(inbox.Events()), d)
	}
}

func TestRedeliverWhileOnItsWay(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	inbox := sandboxtest.NewReceiver(t, func(http.ResponseWriter, *http.Request) { <-let })
	s := start(t, stopped, inbox.Trusted)
	hook := s.subscribe(inbox.URL, `"*"`).Text("id")
	s.Issue("50")
	inbox.Wait(1)
	s.Post("/_sandbox/deliveries/"+s.deliveries(hook)[0]["id"].(string)+"/redeliver", "").OK(200)
	close(let)
	inbox.Wait(2)
	if d := s.tried(hook, 2)[0]; d["state"] != "delivered" {
		t.Errorf("%v", d)
	}
}

func TestRedeliverRefuses(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s := start(t, inbox.Trusted)
	hook := s.subscribe(inbox.URL, `"*"`).Text("id")
	s.Issue("50")
	path := "/_sandbox/deliveries/" + s.tried(hook, 1)[0]["id"].(string) + "/redeliver"
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
	other.Post(path, "").Refused(404, "not_found", "no delivery")
	if n := len(other.deliveries("")); n != 0 {
		t.Errorf("another account sees %d deliveries", n)
	}
	s.Post("/_sandbox/deliveries/dlv_none/redeliver", "").Refused(404, "not_found", "dlv_none")
	s.Post(path, `{"now":true}`).Refused(400, "invalid_request", "now")
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
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", nil},
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

func TestUnreachableReceivers(t *testing.T) {
	t.Parallel()
	stranger := sandboxtest.NewReceiver(t, nil)
	s := start(t)
	closed := s.subscribe("https://127.0.0.1:1/?token=t0k3n", `"*"`).Text("id")
	unknown := s.subscribe(stranger.URL, `"*"`).Text("id")
	s.Issue("50")
	for hook, text := range map[string]string{closed: "connection refused", unknown: "--webhook-ca"} {
		try := tries(s.tried(hook, 1)[0])[0].(map[string]any)
		if failure, _ := try["error"].(string); !strings.Contains(failure, text) || strings.Contains(failure, "t0k3n") || try["status"] != nil {
			t.Errorf("the try is shown as %v, want %q", try, text)
		}
	}
	if len(stranger.Events()) != 0 {
		t.Error("an endpoint that is not trusted got an event")
	}
}

func TestWebhookCAIsChecked(t *testing.T) {
	t.Parallel()
	box, err := sandbox.Open(t.Context(), sandbox.Options{Path: ":memory:", WebhookCA: []byte("no certificate")})
	if err == nil {
		_ = box.Close()
		t.Fatal("opened")
	}
	if !strings.Contains(err.Error(), "PEM") {
		t.Error(err)
	}
}

func TestDeliverAfterReopening(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, respondWith(503))
	file := on(filepath.Join(t.TempDir(), "s.db"))
	before := open(t, file, wallet(100_000), stopped, inbox.Trusted)
	hook := before.subscribe(inbox.URL, `"*"`)
	before.Issue("50")
	before.tried(hook.Text("id"), 1)
	before.close()
	inbox.Respond(nil)
	after := open(t, file, wallet(100_000), stopped, inbox.Trusted)
	after.Post("/_sandbox/clock", `{"advance":"5s"}`).OK(200)
	if d := after.tried(hook.Text("id"), 2)[0]; d["state"] != "delivered" {
		t.Errorf("%v", d)
	}
	if a := inbox.Events()[1]; !a.SignedWith(hook.Text("secret")) {
		t.Error("the signature changed")
	}
}

// Two workers on one file share the work: nothing is sent twice.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, func(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) })
	file := on(filepath.Join(t.TempDir(), "s.db"))
	one := open(t, file, inbox.Trusted)
	two := open(t, file, inbox.Trusted)
	hook := one.subscribe(inbox.URL, `"*"`).Text("id")
	id := one.Issue("50")
	const funds = 100
	for i := range funds {
		[]*service{one, two}[i%2].Post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).OK(200)
	}
	one.tried(hook, 1)
	if n := len(inbox.Events()); n != funds+1 {
		t.Errorf("%d requests for %d events", n, funds+1)
	}
}

// When the process that delivers is killed, another one that has the file open
// delivers, also what was on its way.
func TestAnotherTakesOver(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, hang)
	file := filepath.Join(t.TempDir(), "s.db")
	first := sandboxtest.StartProcess(t, io.Discard, "--data", file, "--webhook-ca", inbox.CAFile())
	hook := first.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["*"]}`).OK(201).Text("id")
	first.Issue("50")
	inbox.Wait(1)
	second := open(t, on(file), inbox.Trusted)
	second.Issue("50")
	inbox.Wait(2) // brought by the first one
	inbox.Respond(nil)
	first.Kill()
	for _, d := range second.tried(hook, 1) {
		if d["state"] != "delivered" {
			t.Errorf("%v", d)
		}
	}
	if n := len(inbox.Events()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

func TestResetWhileDelivering(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	inbox := sandboxtest.NewReceiver(t, func(http.ResponseWriter, *http.Request) { <-let })
	s := start(t, inbox.Trusted)
	s.subscribe(inbox.URL, `"*"`)
	s.Issue("50")
	inbox.Wait(1)
	s.Post("/_sandbox/reset", "").OK(200)
	hook := s.subscribe(inbox.URL, `"*"`).Text("id")
	s.Issue("50")
	inbox.Wait(2)
	close(let)
	all := s.tried(hook, 1)
	if len(all) != 1 || len(tries(all[0])) != 1 || all[0]["state"] != "delivered" {
		t.Errorf("%v", all)
	}
}

// Close does not wait for a slow endpoint, and what was on its way then is
// delivered by whoever opens the file next.
func TestCloseWhileDelivering(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, hang)
	file := on(filepath.Join(t.TempDir(), "s.db"))
	s := open(t, file, wallet(100_000), inbox.Trusted, func(o *sandboxtest.Options) { o.WebhookTimeout = 2 * time.Minute })
	hook := s.subscribe(inbox.URL, `"*"`).Text("id")
	s.Issue("50")
	inbox.Wait(1)
	begun := time.Now()
	s.close()
	if took := time.Since(begun); took > time.Minute { // the endpoint has two
		t.Errorf("closing took %v", took)
	}
	inbox.Respond(nil)
	s = open(t, file, wallet(100_000), inbox.Trusted)
	inbox.Wait(2)
	if d := s.tried(hook, 1)[0]; d["state"] != "delivered" || len(tries(d)) != 1 {
		t.Errorf("%v", d)
	}
}
