package transfer_test

import (
	"errors"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
)

// A stop for a key that the service refused is also that refusal. Any other stop is no
// response of the service.
func TestStoppedErrorIsItsRefusal(t *testing.T) {
	t.Parallel()
	refusal := &transport.Error{Status: 409, Code: "duplicate_request"}
	got, ok := errors.AsType[*transport.Error](error(&transfer.StoppedError{Refusal: refusal}))
	if !ok || got != refusal {
		t.Errorf("the refusal is %v", got)
	}
	got, ok = errors.AsType[*transport.Error](error(&transfer.StoppedError{}))
	if ok {
		t.Errorf("without a refusal, it is %v", got)
	}
}
