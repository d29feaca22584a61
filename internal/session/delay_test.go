package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// Terraform shows one of many warnings with the same title.
func TestDelayWarning(t *testing.T) {
	t.Parallel()
	const slow = 90 * time.Second
	titles := map[string]bool{}
	for _, test := range []struct {
		what  string
		delay api.Delay
		says  string
	}{
		{"fund card card_1", api.Delay{Took: slow, Attempts: 3}, "To fund card card_1 took 1m30s and 3 attempts."},
		{"fund card card_1", api.Delay{Took: slow, Attempts: 3, LostResponse: true}, "To fund card card_1 took 1m30s and 3 attempts."},
		// A run of many creations waits for its own pace, and nobody refused anything.
		{"issue card card_1", api.Delay{Took: 61 * time.Second, Attempts: 1}, "To issue card card_1 took 1m1s. This run needs more than they allow at once"},
	} {
		diags := session.DelayWarning(test.what, &test.delay)
		if len(diags) != 1 || !strings.HasPrefix(diags[0].Detail(), test.says) {
			t.Fatalf("says %v, want %s", diags, test.says)
		}
		titles[diags[0].Summary()] = true
	}
	if diags := session.DelayWarning("fund card card_1", nil); diags != nil || len(titles) != 2 {
		t.Errorf("no delay says %v, and there are the titles %v", diags, titles)
	}
}
