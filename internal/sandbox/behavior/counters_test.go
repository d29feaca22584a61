package behavior_test

import (
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
)

// Each documented limit lets through so many calls in its window, and says how long
// it takes until the next one.
func TestDocumentedLimits(t *testing.T) {
	t.Parallel()
	only := func(set func(to, documented *behavior.Limits)) (l behavior.Limits) {
		documented := behavior.DocumentedLimits()
		set(&l, &documented)
		return l
	}
	for name, c := range map[string]struct {
		limits behavior.Limits
		class  behavior.Class
		calls  int
		window time.Duration
	}{
		"requests in a minute": {only(func(l, d *behavior.Limits) { l.RequestsPerMinute = d.RequestsPerMinute }), behavior.Details, 1000, time.Minute},
		"requests in an hour":  {only(func(l, d *behavior.Limits) { l.RequestsPerHour = d.RequestsPerHour }), behavior.Create, 10_000, time.Hour},
		"creates":              {only(func(l, d *behavior.Limits) { l.CreatesPerMinute = d.CreatesPerMinute }), behavior.Create, 50, time.Minute},
		"details":              {only(func(l, d *behavior.Limits) { l.DetailsPerMinute = d.DetailsPerMinute }), behavior.Details, 30, time.Minute},
	} {
		counters, now := behavior.NewCounters(), time.Unix(1_800_000_000, 0)
		admit := func(account int64) time.Duration { return counters.Admit(c.limits, account, c.class, now) }
		for i := range c.calls {
			if wait := admit(1); wait != 0 {
				t.Fatalf("%s: call %d has to wait for %v", name, i, wait)
			}
		}
		now = now.Add(c.window / 3)
		if wait := admit(1); wait != c.window-c.window/3 {
			t.Errorf("%s: one too many has to wait for %v", name, wait)
		}
		if wait := admit(2); wait != 0 {
			t.Errorf("%s: another account has to wait for %v", name, wait)
		}
		now = now.Add(c.window - c.window/3)
		if wait := admit(1); wait != 0 {
			t.Errorf("%s: when the window is over, it has to wait for %v", name, wait)
		}
	}
}
