package ratelimit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

// Dates have no fractions of a second, so RetryAfter adds a second to the wait until a date.
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
		"without a Date header":     {date(40 * time.Second), "", 40*time.Second + 900*time.Millisecond},
		"as a past date":            {date(-time.Minute), date(0), 0},
		"invalid":                   {"soon", date(0), 0},
		"negative":                  {"-17", "", 0},
		"in a day":                  {"86400", "", 24 * time.Hour},
		"in more than a day":        {"86401", "", 0},
		"out of range":              {"99999999999999999999", "", 0},
		"as a date in a day":        {date(24 * time.Hour), date(0), 24*time.Hour + time.Second},
		"as a date after a day":     {date(24*time.Hour + time.Second), date(0), 0},
		"as a date far ahead":       {"Fri, 31 Dec 9999 23:59:59 GMT", date(0), 0},
		"missing":                   {"", date(0), 0},
	} {
		header := http.Header{"Retry-After": {test.header}, "Date": {test.date}}
		if got := ratelimit.RetryAfter(header, now); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for n, maximum := range map[int]time.Duration{
		1:   time.Second,
		2:   2 * time.Second,
		6:   32 * time.Second,
		7:   time.Minute,
		15:  time.Minute,
		100: time.Minute,
	} {
		shortest := maximum
		longest := time.Duration(0)
		for range 50 {
			got := ratelimit.Backoff(time.Second, time.Minute, n)
			shortest = min(shortest, got)
			longest = max(longest, got)
		}
		if shortest < maximum/2 || longest > maximum {
			t.Errorf("delay %d is %s to %s, want %s to %s", n, shortest, longest, maximum/2, maximum)
		}
		// So many random delays almost certainly come close to both ends of the range.
		if shortest > maximum*13/20 || longest < maximum*17/20 {
			t.Errorf("delay %d is only %s to %s, want about %s to %s", n, shortest, longest, maximum/2, maximum)
		}
	}
}
