package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Endpoints are told apart by their paths and say how they do. Deliveries are filtered,
// show what was sent and what the receiver said, and are sent again, one or all.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("<b>no such campaign</b>" + strings.Repeat("x", 2_000)))
	})
	s, b := start(t, inbox.Trusted)
	b.get("/webhooks").has("There is no endpoint", "vcard_webhook", "nobody has asked")
	hook := s.Post("/webhooks", `{"url":"`+inbox.URL+`/team-a/v2/xoxB9z8y7x6w5/in?token=t0k3n","events":["card.created","3ds.challenge"],"secret":"whsec_chosen"}`).OK(201).Text("id")
	b.get("/webhooks").has("Nothing was delivered yet", inbox.URL+"/team-a/v2/…/in?…", "card.created, 3ds.challenge", hook, `<option value="`+hook+`"`)
	card := s.Post("/cards", map[string]any{"bin_id": sandboxtest.BIN, "amount": 50, "label": script}).OK(201).Text("id")
	sent := inbox.Wait(1)[0]
	id := s.Get("/_sandbox/deliveries").Data()[0]["id"].(string)
	s.Issue("50")
	sandboxtest.Eventually(t, func() bool { return strings.Count(b.get("/webhooks").text, "418 I&#39;m a teapot</td>") == 2 })

	secrets := []string{"t0k3n", "whsec_chosen", "xoxB9", script}
	b.get("/webhooks").has("0 of 2 delivered", "retrying, 2 of 8", "last: answered 418", `class="badge pending"`).lacks(secrets...)
	page := b.get("/webhooks/"+id).has(sent.Header.Get("X-Webhook-Signature"), sent.ID(), card, "418", "&lt;b&gt;no such campaign&lt;/b&gt;x").
		lacks(strings.Repeat("x", 1_024)).lacks(secrets...)
	page.text = html.UnescapeString(page.text)
	page.has(string(sent.Body))
	b.get("/webhooks?state=pending&endpoint="+hook).counts(`<tr id="dlv_`, 2)
	b.get("/webhooks?state=delivered").has("No deliveries match")
	b.get("/webhooks?endpoint=wh_none").has("No deliveries match")
	b.get("/webhooks/" + id + "?signature=" + url.QueryEscape(" "+sent.Header.Get("X-Webhook-Signature"))).has("Genuine: ")
	b.get("/webhooks/"+id+"?signature=sha256%3D00%3Cscript%3E").has("Not the signature", "&lt;script&gt;").lacks("Genuine: ", "<script>0")

	inbox.Respond(nil)
	b.post("/webhooks/"+id, "redeliver").has("The event is sent again.")
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/webhooks").text, "1 of 2 delivered") })
	b.get("/webhooks/"+id).has("418", ">200<")
	b.post("/webhooks", "redeliver-failed").has("All that failed is sent again.")
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/webhooks").text, "2 of 2 delivered") })
	b.get("/webhooks").lacks("retrying", "last: ")
	b.get("/webhooks?state=delivered").counts(`<tr id="dlv_`, 2)
	b.post("/webhooks", "redeliver", "delivery_id", id).has("The event is sent again.")
	inbox.Wait(5)
	b.get("/webhooks").matches(`(?s)<details class="confirm">\s*<summary[^>]*>Remove…</summary>\s*<form[^>]*>[^/]*value="` + hook + `"`) // no single press removes it
	b.post("/webhooks", "remove", "webhook_id", hook).has("The endpoint is removed.", "There is no endpoint", "nobody has asked")
	b.get("/webhooks/" + id).is(404)
}
