package sandboxtest_test

import (
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// recorder is a test that only records that it failed.
type recorder struct {
	testing.TB

	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestSignaturesAreOfOneSecret(t *testing.T) {
	t.Parallel()
	receiver := sandboxtest.NewReceiver(t, nil)
	s := sandboxtest.Start(t, receiver.Trusted)
	secret := s.Post("/webhooks", `{"url":"`+receiver.URL+`/in","events":["*"]}`).OK(201).Text("secret")
	card := s.Issue("50")
	event := receiver.Wait(1)[0]
	if data, _ := event.Payload()["data"].(map[string]any); data["id"] != card || event.Path != "/in" || event.ID() != event.Payload()["id"] {
		t.Errorf("%s got %s", event.Path, event.Body)
	}
	if !event.SignedWith(secret) || event.SignedWith(secret+"x") {
		t.Error("the signature is not that of the secret alone")
	}
	event.Body = append(event.Body, ' ')
	if event.SignedWith(secret) {
		t.Error("the signature is also that of another body")
	}
}

func TestFailuresAreSeen(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t)
	refused := s.Post("/cards", map[string]any{"bin_id": "none", "amount": 50})
	for name, check := range map[string]func(sandboxtest.Response){
		"status":  func(r sandboxtest.Response) { r.Refused(409, "bin_not_found", "") },
		"code":    func(r sandboxtest.Response) { r.Refused(400, "not_found", "") },
		"message": func(r sandboxtest.Response) { r.Refused(400, "bin_not_found", "nothing of the kind") },
	} {
		seen := &recorder{TB: t}
		refused.T = seen
		if check(refused); !seen.failed {
			t.Errorf("another %s passes for the one that is wanted", name)
		}
	}
	refused.T = t
	refused.Refused(400, "bin_not_found", "none")
	s.Fault(`{"method":"GET","path":"/bins","then":"drop"}`)
	if lost := s.Unrepeated().Send(t.Context(), http.MethodGet, "/bins", nil); lost.Err == nil || lost.Status != 0 {
		t.Errorf("a lost response is %d %s", lost.Status, lost.Raw)
	}
}

func TestDirectCallsNeedNoNetwork(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, func(o *sandboxtest.Options) { o.Direct = true })
	s.Terminate(s.Issue("50"))
	s.Balanced()
}
