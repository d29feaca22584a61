package ratelimit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

// Dates have no fractions of a second: the moment that a service means may be almost a
// second after the date that it gives, by its own clock.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 100_000_000, time.UTC)
	date := func(after time.Duration) string { return now.Add(after).Format(http.TimeFormat) }
	for name, test := range map[string]struct {
		header, date string
		want         time.Duration
	}{
		"in seconds":                {"17", "", 17 * time.Second},
		"between spaces":            {" 17 ", "", 17 * time.Second},
		"as a date":                 {date(40 * time.Second), date(0), 41 * time.Second},
		"by a clock that is ahead":  {date(time.Hour + 40*time.Second), date(time.Hour), 41 * time.Second},
		"by a clock that is behind": {date(40*time.Second - time.Hour), date(-time.Hour), 41 * time.Second},
		"by no clock but ours":      {date(40 * time.Second), "", 40*time.Second + 900*time.Millisecond},
		"as a date of before":       {date(-time.Minute), date(0), 0},
		"in nonsense":               {"soon", date(0), 0},
		"below zero":                {"-17", "", 0},
		"in a day":                  {"86400", "", 24 * time.Hour},
		"in more than a day":        {"86401", "", 0},
		"beyond all integers":       {"99999999999999999999", "", 0},
		"as a date in a day":        {date(24 * time.Hour), date(0), 24*time.Hour + time.Second},
		"as a date after a day":     {date(24*time.Hour + time.Second), date(0), 0},
		"as a date far ahead":       {"Fri, 31 Dec 9999 23:59:59 GMT", date(0), 0},
		"not at all":                {"", date(0), 0},
	} {
		header := http.Header{"Retry-After": {test.header}, "Date": {test.date}}
		if got := ratelimit.RetryAfter(header, now); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for n, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 15: time.Minute, 100: time.Minute} {
		shortest, longest := most, time.Duration(0)
		for range 50 {
			got := ratelimit.Backoff(time.Second, time.Minute, n)
			shortest, longest = min(shortest, got), max(longest, got)
		}
		if shortest < most/2 || shortest > most*13/20 || longest > most || longest < most*17/20 {
			t.Errorf("delay %d is %s to %s, want %s to %s", n, shortest, longest, most/2, most)
		}
	}
}
