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
