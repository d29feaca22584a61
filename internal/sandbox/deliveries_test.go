package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
			s.play(strings.NewReplacer("DELIVERY", id, "HOOK", hook).Replace, call+" → 200")
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
// of the same events stays. Nobody else removes it, or has anything delivered again.
func TestEndpointIsRemoved(t *testing.T) {
	t.Parallel()
	ends, stays := sandboxtest.NewReceiver(t, nil), sandboxtest.NewReceiver(t, nil)
	s := start(t, func(o *sandboxtest.Options) { o.WebhookCA = append(ends.CA(), stays.CA()...) })
	removed, kept := s.subscribe(ends.URL, `"*"`).Text("id"), s.subscribe(stays.URL, `"*"`).Text("id")
	card := s.Issue("50")
	s.tried("", 1)

	fill := strings.NewReplacer("REMOVED", removed, "DELIVERY", s.deliveries(removed)[0]["id"].(string)).Replace
	s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key")).play(fill, `
		GET /_sandbox/deliveries → 200 "data":[]
		POST /_sandbox/deliveries/DELIVERY/redeliver → 404 "not_found" & no delivery
		DELETE /_sandbox/webhooks/REMOVED → 404 "not_found"`)
	s.play(fill, `
		POST /_sandbox/deliveries/DELIVERY/redeliver {"now":true} → 400 "invalid_request" & now
		POST /_sandbox/deliveries/dlv_none/redeliver → 404 "not_found" & dlv_none
		DELETE /_sandbox/webhooks/wh_none → 404 "not_found"
		DELETE /_sandbox/webhooks/REMOVED {"x":1} → 400 "invalid_request"
		DELETE /_sandbox/webhooks/REMOVED → 200 {"id":"REMOVED"}
		DELETE /_sandbox/webhooks/REMOVED → 404 "not_found"`)

	s.Freeze(card)
	stays.Wait(2)
	if n := len(ends.Events()); n != 1 {
		t.Errorf("the removed endpoint was told %d events", n)
	}
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
	if n := len(inbox.Events()); n != funds+1 {
		t.Errorf("%d requests for %d events", n, funds+1)
	}
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
			if err := is(first); err != nil {
				t.Error(err)
			}
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
