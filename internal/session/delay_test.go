package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// Terraform shows one of many warnings with the same title.
func TestDelaysOfManyCallsShareATitle(t *testing.T) {
	t.Parallel()
	titles := map[string]bool{}
	for _, lost := range []bool{false, true} {
		for _, what := range []string{"fund card card_1", "freeze card card_2"} {
			diags := session.DelayWarning(what, &api.Delay{Took: 90 * time.Second, Attempts: 3, LostResponse: lost})
			if len(diags) != 1 || !strings.HasPrefix(diags[0].Detail(), "To "+what+" took 1m30s and 3 attempts.") {
				t.Fatalf("says %v", diags)
			}
			titles[diags[0].Summary()] = true
		}
	}
	if len(titles) != 2 {
		t.Errorf("there are the titles %v", titles)
	}
	if diags := session.DelayWarning("fund card card_1", nil); diags != nil {
		t.Errorf("no delay says %v", diags)
	}
}

// A run of many creations waits for its own pace, and nobody refused anything.
func TestDelayWithoutARefusal(t *testing.T) {
	t.Parallel()
	diags := session.DelayWarning("issue card card_1", &api.Delay{Took: 61 * time.Second, Attempts: 1})
	if len(diags) != 1 || !strings.HasPrefix(diags[0].Detail(), "To issue card card_1 took 1m1s. This run needs more than they allow at once") {
		t.Fatalf("says %v", diags)
	}
}
