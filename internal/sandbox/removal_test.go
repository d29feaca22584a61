package sandbox_test

import (
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// An endpoint that is removed is told nothing any more, and what others are told
// of the same events stays.
func TestEndpointIsRemoved(t *testing.T) {
	t.Parallel()
	ends, stays := sandboxtest.NewReceiver(t, nil), sandboxtest.NewReceiver(t, nil)
	s := start(t, func(o *sandboxtest.Options) { o.WebhookCA = append(ends.CA(), stays.CA()...) })
	removed, kept := s.subscribe(ends.URL, `"*"`).Text("id"), s.subscribe(stays.URL, `"*"`).Text("id")
	card := s.Issue("50")
	s.tried("", 1)

	const path = "/_sandbox/webhooks/"
	s.Call(http.MethodDelete, path+"wh_none", "").Refused(404, "not_found", "")
	s.Call(http.MethodDelete, path+removed, `{"x":1}`).Refused(400, "invalid_request", "")
	s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key")).Call(http.MethodDelete, path+removed, "").Refused(404, "not_found", "")
	fields(t, s.Call(http.MethodDelete, path+removed, "").OK(200).Body, "id")
	s.Call(http.MethodDelete, path+removed, "").Refused(404, "not_found", "")

	s.Freeze(card)
	stays.Wait(2)
	if n := len(ends.Events()); n != 1 {
		t.Errorf("the removed endpoint was told %d events", n)
	}
	if got := len(s.deliveries("")); got != 2 || len(s.deliveries(kept)) != 2 {
		t.Errorf("%d deliveries are left", got)
	}
}

// What is on its way to an endpoint while it is removed ends quietly.
func TestEndpointIsRemovedAmidADelivery(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	inbox := sandboxtest.NewReceiver(t, func(http.ResponseWriter, *http.Request) { <-release })
	s := start(t, inbox.Trusted)
	hook := s.subscribe(inbox.URL, `"*"`).Text("id")
	card := s.Issue("50")
	inbox.Wait(1)
	s.Call(http.MethodDelete, "/_sandbox/webhooks/"+hook, "").OK(200)
	close(release)
	again := s.subscribe(inbox.URL, `"*"`).Text("id")
	s.Freeze(card)
	if got := s.tried(again, 1); len(got) != 1 || got[0]["state"] != "delivered" {
		t.Errorf("the endpoint registered anew has %v", got)
	}
}
