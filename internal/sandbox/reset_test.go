package sandbox_test

import (
	"net/http"
	"testing"
	"time"
)

// The key of a call is looked up before a fault delays it; a reset meanwhile
// must not leave the call with an account that is gone.
func TestResetDuringACall(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.fault(`{"method":"POST","path":"/cards","times":1,"when":"before","delay_ms":500,"then":"pass"}`)
	issued := make(chan outcome)
	go func() {
		issued <- s.attempt(t.Context(), http.MethodPost, "/api/v1/cards", `{"bin_id":"`+adsBIN+`","amount":50}`)
	}()
	for len(s.get("/_sandbox/faults").data()) > 0 {
		time.Sleep(time.Millisecond)
	}
	s.post("/_sandbox/reset", "").ok(200)
	if o := <-issued; o.status != 201 {
		t.Errorf("answered %d %s", o.status, o.raw)
	}
	if got := s.wallet(); got != "9949.00" {
		t.Errorf("the wallet holds %s", got)
	}
	s.balanced()
}
