package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// A bug in this program, met anywhere on the way of a call, is an error of that call,
// which says where it is and repeats no value. What changes something may have been done.
func TestPanicIsAnErrorWithoutItsValue(t *testing.T) {
	t.Parallel()
	type value struct{ pan string }
	for _, call := range []string{"read", "details", "freeze"} {
		client := newClient(t, http.NotFoundHandler(), onlyOneTry, func(c *api.Config) {
			c.Observe = func(context.Context, api.Exchange) { panic(value{planted}) }
		})
		err := try(t.Context(), client, call)
		if _, ok := errors.AsType[*crash.Error](err); !ok || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), planted) ||
			!strings.Contains(err.Error(), "api_test.value") || !strings.Contains(err.Error(), "panic_test.go:") {
			t.Errorf("%s: the error is %v", call, err)
		}
	}
}
