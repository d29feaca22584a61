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
	for name, call := range map[string]func(context.Context, *api.Client) error{
		"a card":   func(ctx context.Context, c *api.Client) error { _, err := c.GetCard(ctx, "card_1"); return err },
		"details":  func(ctx context.Context, c *api.Client) error { _, err := c.CardDetails(ctx, "card_1"); return err },
		"a freeze": func(ctx context.Context, c *api.Client) error { _, err := c.FreezeCard(ctx, "card_1"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, http.NotFoundHandler(), func(c *api.Config) {
				c.MaxRetries = 0
				c.Observe = func(context.Context, api.Exchange) { panic(value{planted}) }
			})
			err := call(t.Context(), client)
			if _, ok := errors.AsType[*crash.Error](err); !ok || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), planted) ||
				!strings.Contains(err.Error(), "api_test.value") || !strings.Contains(err.Error(), "panic_test.go:") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
