package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

func TestDelivery(t *testing.T) {
	t.Parallel()
	inbox := receive(t, nil)
	s := start(t, stopped, inbox.trusted)
	hook := s.subscribe(inbox.url+"/in?token=t0k3n", `"card.created","card.frozen"`)
	id := s.issue("50", `"label":"<ads> & more"`)
	s.post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).ok(200) // not subscribed
	s.post("/api/v1/cards/"+id+"/freeze", "").ok(200)

	types := map[string]bool{}
	for _, a := range inbox.gets(2) {
		payload := a.payload(t)
		fields(t, payload, "id", "type", "created_at", "data")
		types[payload["type"].(string)] = true
		if !a.signedWith(hook.text("secret")) {
			t.Errorf("%s is not the signature of %s", a.header.Get("X-Webhook-Signature"), a.body)
		}
		if a.header.Get("X-Webhook-Id") != payload["id"] || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v do not go with event %v", a.header, payload["id"])
		}
		if data := payload["data"].(map[string]any); data["id"] != id || data["label"] != "<ads> & more" {
			t.Errorf("data is %v", data)
		}
	}
	if !types["card.created"] || !types["card.frozen"] {
		t.Errorf("got %v", types)
	}

	s.tried(hook.text("id"), 1)
	list := s.get("/_sandbox/deliveries").ok(200)
	for i, d := range list.data() {
		fields(t, d, "id", "event_id", "type", "webhook_id", "url", "state", "created_at", "next_try_at", "tries")
		if d["state"] != "delivered" || d["next_try_at"] != nil || d["webhook_id"] != hook.text("id") || d["url"] != inbox.url+"/in" {
			t.Errorf("delivery %d is %v", i, d)
		}
		try := tries(d)[0].(map[string]any)
		fields(t, try, "time", "status", "error", "duration_ms")
		if try["status"] != json.Number("200") || try["error"] != nil || try["time"] != "2026-03-15T12:00:00.000Z" {
			t.Errorf("try %v", try)
		}
	}
	if strings.Contains(list.raw, hook.text("secret")) || strings.Contains(list.raw, "t0k3n") {
		t.Errorf("the list shows a secret: %s", list.raw)
	}
}

func TestDeliveryWithChosenSecret(t *testing.T) {
	t.Parallel()
	inbox := receive(t, nil)
	s := start(t, inbox.trusted)
	s.post("/api/v1/webhooks", `{"url":"`+inbox.url+`","events":["*"],"secret":"ключ & key"}`).ok(201)
	s.issue("50")
	if a := inbox.gets(1)[0]; !a.signedWith("ключ & key") {
		t.Errorf("%s is not the signature of %s", a.header.Get("X-Webhook-Signature"), a.body)
	}
}

func TestAnySuccessIsADelivery(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 201, 202, 204, 299} {
		inbox := receive(t, status(code))
		s := start(t, stopped, inbox.trusted)
		hook := s.subscribe(inbox.url, `"*"`).text("id")
		s.issue("50")
		if d := s.tried(hook, 1)[0]; d["state"] != "delivered" || d["next_try_at"] != nil {
			t.Errorf("after %d: %v", code, d)
		}
	}
}

// Events do not wait for a worker to look.
func TestDeliveryIsPrompt(t *testing.T) {
	t.Parallel()
	inbox := receive(t, nil)
	s := start(t, inbox.trusted)
	s.subscribe(inbox.url, `"*"`)
	id := s.issue("50")
	begun := time.Now()
	for i := range 20 {
		inbox.gets(1 + i)
		s.post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).ok(200)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("20 events, each after the one before, took %v", took)
	}
}

func TestOneSlowDeliveryDoesNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	var later atomic.Bool
	inbox := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		if !later.Swap(true) {
			<-r.Context().Done()
		}
	})
	s := start(t, inbox.trusted)
	hook := s.subscribe(inbox.url, `"*"`).text("id")
	id := s.issue("50")
	inbox.gets(1)
	for range 20 {
		s.post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).ok(200)
	}
	inbox.gets(21)
	if d := s.deliveries(hook)[0]; len(tries(d)) != 0 || d["state"] != "pending" {
		t.Errorf("the slow one has ended: %v", d)
	}
}

func TestRetrySchedule(t *testing.T) {
	t.Parallel()
	inbox := receive(t, status(500))
	s := start(t, stopped, inbox.trusted)
	hook := s.subscribe(inbox.url, `"*"`).text("id")
	s.issue("50")
	schedule := []string{"5s", "5m", "30m", "2h", "5h", "10h", "10h"}
	for i, delay := range schedule {
		d := s.tried(hook, i+1)[0]
		now, err := time.Parse(time.RFC3339, s.get("/_sandbox/clock").text("now"))
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
		s.post("/_sandbox/clock", `{"advance":"`+delay+`"}`).ok(200)
	}
	d := s.tried(hook, len(schedule)+1)[0]
	if d["state"] != "failed" || d["next_try_at"] != nil {
		t.Errorf("after the last try: %v", d)
	}
	arrived := inbox.arrivals()
	for _, a := range arrived {
		if string(a.body) != string(arrived[0].body) || a.header.Get("X-Webhook-Id") != arrived[0].header.Get("X-Webhook-Id") {
			t.Error("a later try brings something else")
		}
	}

	s.post("/_sandbox/clock", `{"advance":"8000h"}`).ok(200)
	redelivery := "/_sandbox/deliveries/" + d["id"].(string) + "/redeliver"
	again := s.post(redelivery, "").ok(200)
	if again.text("state") != "pending" || again.text("id") != d["id"] || len(tries(again.body)) != 8 {
		t.Errorf("asked to deliver again: %s", again.raw)
	}
	d = s.tried(hook, 9)[0]
	if d["state"] != "pending" || d["next_try_at"] == nil {
		t.Errorf("the schedule did not begin again: %v", d)
	}
	inbox.answers(nil)
	s.post("/_sandbox/clock", `{"advance":"5s"}`).ok(200)
	if d = s.tried(hook, 10)[0]; d["state"] != "delivered" {
		t.Errorf("%v", d)
	}
	s.post(redelivery, "").ok(200) // also what has arrived
	if d = s.tried(hook, 11)[0]; d["state"] != "delivered" || len(inbox.arrivals()) != 11 {
		t.Errorf("%d arrivals, and %v", len(inbox.arrivals()), d)
	}
}

func TestRedeliverWhileOnItsWay(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	inbox := receive(t, func(http.ResponseWriter, *http.Request) { <-let })
	s := start(t, stopped, inbox.trusted)
	hook := s.subscribe(inbox.url, `"*"`).text("id")
	s.issue("50")
	inbox.gets(1)
	s.post("/_sandbox/deliveries/"+s.deliveries(hook)[0]["id"].(string)+"/redeliver", "").ok(200)
	close(let)
	inbox.gets(2)
	if d := s.tried(hook, 2)[0]; d["state"] != "delivered" {
		t.Errorf("%v", d)
	}
}

func TestRedeliverRefuses(t *testing.T) {
	t.Parallel()
	inbox := receive(t, nil)
	s := start(t, inbox.trusted)
	hook := s.subscribe(inbox.url, `"*"`).text("id")
	s.issue("50")
	path := "/_sandbox/deliveries/" + s.tried(hook, 1)[0]["id"].(string) + "/redeliver"
	other := s.as(s.post("/_sandbox/accounts", `{"state":"ready"}`).text("api_key"))
	other.post(path, "").refused(404, "not_found", "no delivery")
	if n := len(other.deliveries("")); n != 0 {
		t.Errorf("another account sees %d deliveries", n)
	}
	s.post("/_sandbox/deliveries/dlv_none/redeliver", "").refused(404, "not_found", "dlv_none")
	s.post(path, `{"now":true}`).refused(400, "invalid_request", "now")
}

// Whatever an endpoint does, calls are answered at once, other endpoints get
// their events at once, and the endpoint itself gets them later.
func TestBadReceivers(t *testing.T) {
	t.Parallel()
	elsewhere := receive(t, nil)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		text   string
		status any
	}{
		"fails":      {status(500), "answered 500 Internal Server Error", json.Number("500")},
		"is gone":    {status(410), "answered 410 Gone", json.Number("410")},
		"redirects":  {http.RedirectHandler(elsewhere.url, http.StatusTemporaryRedirect).ServeHTTP, "redirects are not followed", json.Number("307")},
		"never ends": {hang, "no response within 1s", nil},
		"is slow": {func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(3 * time.Second):
			case <-r.Context().Done():
			}
		}, "no response within 1s", nil},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := receive(t, c.answer), receive(t, nil)
			s := start(t, stopped, bad.trusted, func(o *sandbox.Options) {
				if strings.Contains(c.text, "within") {
					o.WebhookTimeout = time.Second
				}
			})
			hook := s.subscribe(bad.url, `"*"`).text("id")
			s.subscribe(good.url, `"*"`)
			const events = 16
			id := s.issue("50")
			begun := time.Now()
			for range events - 1 {
				s.post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).ok(200)
			}
			// One after the other, the bad endpoint's timeouts alone would take 16 s.
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("%d calls took %v", events, took)
			}
			good.gets(events)

			for _, d := range s.tried(hook, 1) {
				try := tries(d)[0].(map[string]any)
				if text, _ := try["error"].(string); !strings.Contains(text, c.text) || try["status"] != c.status {
					t.Fatalf("the try is shown as %v, want %q", try, c.text)
				}
				if strings.Contains(fmt.Sprint(try["error"]), bad.url) {
					t.Errorf("the error shows the URL: %v", try)
				}
			}
			bad.answers(nil)
			eventually(t, func() bool { // a busy machine may need a third try
				s.post("/_sandbox/clock", `{"advance":"5s"}`).ok(200)
				return !slices.ContainsFunc(s.deliveries(hook), func(d map[string]any) bool { return d["state"] != "delivered" })
			})
			if b, g := bad.events(), good.events(); b != events || g != events {
				t.Errorf("the bad endpoint got %d events, the good one %d, want %d", b, g, events)
			}
		})
	}
	t.Cleanup(func() {
		if n := len(elsewhere.arrivals()); n != 0 {
			t.Errorf("a redirect was followed %d times", n)
		}
	})
}

func TestUnreachableReceivers(t *testing.T) {
	t.Parallel()
	stranger := receive(t, nil)
	s := start(t)
	closed := s.subscribe("https://127.0.0.1:1/?token=t0k3n", `"*"`).text("id")
	unknown := s.subscribe(stranger.url, `"*"`).text("id")
	s.issue("50")
	for hook, text := range map[string]string{closed: "connection refused", unknown: "--webhook-ca"} {
		try := tries(s.tried(hook, 1)[0])[0].(map[string]any)
		if failure, _ := try["error"].(string); !strings.Contains(failure, text) || strings.Contains(failure, "t0k3n") || try["status"] != nil {
			t.Errorf("the try is shown as %v, want %q", try, text)
		}
	}
	if len(stranger.arrivals()) != 0 {
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
	inbox := receive(t, status(503))
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: 100_000}
	stopped(&o)
	inbox.trusted(&o)
	before, stop := serveFile(t, o)
	hook := before.subscribe(inbox.url, `"*"`)
	before.issue("50")
	before.tried(hook.text("id"), 1)
	stop()
	inbox.answers(nil)
	after, stop := serveFile(t, o)
	defer stop()
	after.post("/_sandbox/clock", `{"advance":"5s"}`).ok(200)
	if d := after.tried(hook.text("id"), 2)[0]; d["state"] != "delivered" {
		t.Errorf("%v", d)
	}
	if a := inbox.arrivals()[1]; !a.signedWith(hook.text("secret")) {
		t.Error("the signature changed")
	}
}

// Two workers on one file share the work: nothing is sent twice.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	inbox := receive(t, func(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) })
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: sandbox.DefaultInitialBalance}
	inbox.trusted(&o)
	one, stopOne := serveFile(t, o)
	defer stopOne()
	two, stopTwo := serveFile(t, o)
	defer stopTwo()
	hook := one.subscribe(inbox.url, `"*"`).text("id")
	id := one.issue("50")
	const funds = 100
	for i := range funds {
		[]*service{one, two}[i%2].post("/api/v1/cards/"+id+"/fund", `{"amount":1}`).ok(200)
	}
	one.tried(hook, 1)
	if n := len(inbox.arrivals()); n != funds+1 {
		t.Errorf("%d requests for %d events", n, funds+1)
	}
}

// What a killed process had leased is delivered when the lease has run out.
func TestLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	inbox := receive(t, func(http.ResponseWriter, *http.Request) { <-let })
	s := start(t, stopped, inbox.trusted)
	hook := s.subscribe(inbox.url, `"card.created"`).text("id")
	s.issue("50")
	inbox.gets(1)
	until := time.Now().Add(time.Second)
	run(t, s.path, fmt.Sprintf(`INSERT INTO deliveries (public_id, event_id, webhook_id, due_at, leased_by, leased_until)
		SELECT 'dlv_orphan', event_id, webhook_id, due_at, 'lease_dead', %d FROM deliveries`, until.UnixMilli()))
	inbox.gets(2)
	if early := time.Until(until); early > 0 {
		t.Errorf("delivered %v before the lease ran out", early)
	}
	close(let)
	s.tried(hook, 1)
	if n := len(inbox.arrivals()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// A lease lasts as long as the worker lives, however slow the endpoint is.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes the time of a lease")
	}
	let := make(chan struct{})
	inbox := receive(t, func(http.ResponseWriter, *http.Request) { <-let })
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: 100_000}
	inbox.trusted(&o)
	one, stopOne := serveFile(t, o)
	defer stopOne()
	_, stopTwo := serveFile(t, o)
	defer stopTwo()
	hook := one.subscribe(inbox.url, `"*"`).text("id")
	one.issue("50")
	time.Sleep(7 * time.Second)
	close(let)
	one.tried(hook, 1)
	if n := len(inbox.arrivals()); n != 1 {
		t.Errorf("%d requests for one event", n)
	}
}

func TestResetWhileDelivering(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	inbox := receive(t, func(http.ResponseWriter, *http.Request) { <-let })
	s := start(t, inbox.trusted)
	s.subscribe(inbox.url, `"*"`)
	s.issue("50")
	inbox.gets(1)
	s.post("/_sandbox/reset", "").ok(200)
	hook := s.subscribe(inbox.url, `"*"`).text("id")
	s.issue("50")
	inbox.gets(2)
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
	inbox := receive(t, hang)
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: 100_000}
	inbox.trusted(&o)
	s, stop := serveFile(t, o)
	hook := s.subscribe(inbox.url, `"*"`).text("id")
	s.issue("50")
	inbox.gets(1)
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("closing took %v", took)
	}
	inbox.answers(nil)
	begun = time.Now()
	s, stop = serveFile(t, o)
	defer stop()
	inbox.gets(2)
	if d := s.tried(hook, 1)[0]; d["state"] != "delivered" || len(tries(d)) != 1 {
		t.Errorf("%v", d)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("the lease was not given back: the next try came after %v", took)
	}
}
