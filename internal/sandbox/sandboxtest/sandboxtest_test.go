package sandboxtest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// recorder is a test that only records that it failed.
type recorder struct {
	testing.TB

	failed bool
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestSignaturesAreOfOneSecret(t *testing.T) {
	t.Parallel()
	signed := http.Header{"X-Webhook-Signature": {"sha256=d3c76ce0cfad906c9264ae29bc7f82363b6ed5e63bd647437bc41aa6e46c1b49"}}
	for text, want := range map[string]bool{"key Message": true, "key! Message": false, "key Message ": false} {
		secret, body, _ := strings.Cut(text, " ")
		sandboxtest.Equal(t, body+" signed with "+secret, (sandboxtest.Event{Header: signed, Body: []byte(body)}).SignedWith(secret), want)
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
	if lost := s.WithoutRetries().Send(t.Context(), http.MethodGet, "/bins", nil); lost.Err == nil || lost.Status != 0 {
		t.Errorf("a lost response is %d %s", lost.Status, lost.Raw)
	}
}
