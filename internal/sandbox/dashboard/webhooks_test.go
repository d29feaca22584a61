package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	s, b := start(t, inbox.Trusted)
	b.get("/webhooks").has(t, "There is no endpoint", "vcard_webhook", "nobody has asked")
	hook := s.Post("/webhooks", `{"url":"`+inbox.URL+`/in?token=t0k3n","events":["card.created","3ds.challenge"],"secret":"whsec_chosen"}`).OK(201)
	b.get("/webhooks").has(t, "Nothing was delivered yet", inbox.URL+"/in?…", "card.created, 3ds.challenge", hook.Text("id"))
	card := s.Post("/cards", map[string]any{"bin_id": sandboxtest.BIN, "amount": 50, "label": script}).OK(201).Text("id")
	sent := inbox.Wait(1)[0]
	sandboxtest.Eventually(t, func() bool { return len(s.Get("/_sandbox/deliveries").Data()[0]["tries"].([]any)) == 1 })

	list := b.get("/webhooks").has(t, "418 I&#39;m a teapot", `class="badge pending"`).lacks(t, "t0k3n", "whsec_chosen")
	id := regexp.MustCompile(`dlv_\w+`).FindString(list.text)
	page := b.get("/webhooks/"+id).has(t, sent.Header.Get("X-Webhook-Signature"), sent.ID(), card, "418").lacks(t, "t0k3n", "whsec_chosen", script)
	if !strings.Contains(html.UnescapeString(page.text), string(sent.Body)) {
		t.Errorf("the page lacks the body %s:\n%s", sent.Body, page.text)
	}

	b.get("/webhooks/"+id+"?signature="+url.QueryEscape(" "+sent.Header.Get("X-Webhook-Signature"))).has(t, "Genuine: ")
	b.get("/webhooks/"+id+"?signature=sha256%3D00%3Cscript%3E").has(t, "Not the signature", "&lt;script&gt;").lacks(t, "Genuine: ", "<script>0")

	inbox.Respond(nil)
	b.post("/webhooks/"+id, "redeliver").has(t, "The event is sent again.")
	inbox.Wait(2)
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/webhooks").text, `class="badge delivered"`) })
	b.get("/webhooks/"+id).has(t, "418", ">200<")
	b.post("/webhooks", "redeliver", "delivery_id", id).has(t, "The event is sent again.")
	inbox.Wait(3)

	other := another(t, s)
	other.get("/webhooks").has(t, "There is no endpoint").lacks(t, inbox.URL)
	for _, refused := range []seen{
		other.get("/webhooks/" + id), other.post("/webhooks", "redeliver", "delivery_id", id), other.post("/webhooks", "remove", "webhook_id", hook.Text("id")),
	} {
		if refused.StatusCode != http.StatusNotFound {
			t.Errorf("another account was answered %d: %s", refused.StatusCode, refused.text)
		}
		refused.lacks(t, card, inbox.URL)
	}

	b.post("/webhooks", "remove", "webhook_id", hook.Text("id")).has(t, "The endpoint is removed.", "There is no endpoint", "nobody has asked")
	if gone := b.get("/webhooks/" + id); gone.StatusCode != http.StatusNotFound {
		t.Errorf("a delivery to it was answered %d", gone.StatusCode)
	}
}

// Endpoints and deliveries have pages of their own.
func TestWebhooksInPages(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s, b := start(t, inbox.Trusted)
	const endpoints = 60
	for range endpoints {
		s.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["card.created"]}`).OK(201)
	}
	s.Issue("50")
	count := func(page seen, what string) int { return strings.Count(page.text, `<tr id="`+what) }
	first := b.get("/webhooks")
	second := b.get("/webhooks?endpoints=2")
	last := b.get("/webhooks?endpoints=2&page=2")
	for page, want := range map[*seen][2]int{&first: {50, 50}, &second: {10, 50}, &last: {10, 10}} {
		if got := [2]int{count(*page, "wh_"), count(*page, "dlv_")}; got != want {
			t.Errorf("%s has %v, want %v", page.Request.URL, got, want)
		}
	}
	last.has(t, "endpoints=1&amp;page=2", "endpoints=2&amp;page=1")
}

// Endpoints are told apart by their paths and say how they do; deliveries are filtered,
// show what the receiver said, and are sent again together.
func TestWebhooksToWorkWith(t *testing.T) {
	t.Parallel()
	broken := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("<b>no such campaign</b>" + strings.Repeat("x", 2_000)))
	})
	s, b := start(t, broken.Trusted)
	first := s.Post("/webhooks", `{"url":"`+broken.URL+`/team-a/v2/xoxB9z8y7x6w5/in","events":["card.created"]}`).OK(201).Text("id")
	s.Issue("50")
	s.Issue("50")
	sandboxtest.Eventually(t, func() bool { return strings.Count(b.get("/webhooks").text, "418 I&#39;m a teapot</td>") == 2 })
	b.get("/webhooks").has(t, broken.URL+"/team-a/v2/…/in", "0 of 2 delivered", "retrying, 2 of 8", "last: answered 418", `<option value="`+first+`"`).lacks(t, "xoxB9")
	b.get("/webhooks?state=delivered").has(t, "No deliveries match")
	b.get("/webhooks?state=pending&endpoint="+first).has(t, `<tr id="dlv_`)
	b.get("/webhooks?endpoint=wh_none").has(t, "No deliveries match")
	id := regexp.MustCompile(`dlv_\w+`).FindString(b.get("/webhooks").text)
	b.get("/webhooks/"+id).has(t, "&lt;b&gt;no such campaign&lt;/b&gt;x").lacks(t, strings.Repeat("x", 1_024))
	broken.Respond(nil)
	b.post("/webhooks", "redeliver-failed").has(t, "All that failed is sent again.")
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/webhooks").text, "2 of 2 delivered") })
	b.get("/webhooks?state=delivered").has(t, `<tr id="dlv_`)
	b.get("/webhooks").lacks(t, "retrying", "last: ")
}
