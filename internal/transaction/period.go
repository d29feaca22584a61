package transaction

import (
	"fmt"
	"regexp"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

func instant(text string) (title, wrong string) {
	if _, _, err := span(text); err == nil {
		return "", ""
	}
	title, why := complaint(text)
	return title, fmt.Sprintf("must be a date like 2026-03-31, or a time with its zone like 2026-03-31T18:00:00Z, got %q, %s.",
		text, why)
}

func complaint(text string) (summary, why string) {
	for _, zoneless := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05"} {
		if _, err := time.Parse(zoneless, text); err == nil {
			return "A time without a zone", "which has no zone: add Z for UTC, or an offset like +02:00"
		}
	}
	if regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?)?$`).MatchString(text) {
		return "Date or time out of range", "which the calendar or the clock does not have"
	}
	return "Not a date or time", "which is neither"
}

// span returns the first and the last moment that a time or a whole UTC day has.
func span(text string) (first, last time.Time, err error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, day.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, at, err
}

func checkPeriod(m model, diags *diag.Diagnostics) {
	first, _, err := span(m.From.ValueString())
	if err != nil {
		return // not set, not known, or refused by its own validator
	}
	if _, last, err := span(m.To.ValueString()); err == nil && first.After(last) {
		diags.AddAttributeError(path.Root("from"), "The period ends before it begins",
			fmt.Sprintf("from must not be after to, got from %q to %q. Both are inclusive, and a bare date is that whole day in UTC.", m.From.ValueString(), m.To.ValueString()))
	}
}
