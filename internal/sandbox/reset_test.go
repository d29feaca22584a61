package sandbox_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// The key of a call is looked up before a fault delays it; a reset meanwhile
// must not leave the call with an account that is gone.
func TestResetDuringACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withoutNetwork)
		s.Fault(`{"method":"POST","path":"/cards","times":1,"when":"before","delay_ms":500,"then":"pass"}`)
		issued := make(chan sandboxtest.Response)
		go func() {
			issued <- s.Send(t.Context(), http.MethodPost, "/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`)
		}()
		synctest.Wait()
		s.Post("/_sandbox/reset", "").OK(200)
		if o := <-issued; o.Status != 201 {
			t.Errorf("answered %d %s", o.Status, o.Raw)
		}
		if got := s.Wallet(); got.String() != "9949.00" {
			t.Errorf("the wallet holds %s", got)
		}
		s.Balanced()
	})
}
