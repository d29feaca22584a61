package wire

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Query reads a query string. It keeps the first error: read all parameters, then call Done. Use the values only if Done
// returns no error. Parameters that are not read are ignored.
type Query struct {
	firstError

	values url.Values
}

// ReadQuery returns a reader of a query string.
func ReadQuery(raw string) *Query {
	values, err := url.ParseQuery(raw)
	if err != nil {
		malformed := Invalid("the query string is malformed")
		return &Query{firstError: firstError{err: malformed}}
	}
	return &Query{values: values}
}

// Done returns the first error.
func (q *Query) Done() error { return q.err }

// Skip ignores a parameter, as if it were absent.
func (q *Query) Skip(name string) { delete(q.values, name) }

// RefuseParameter refuses a parameter as unknown if it is present.
func (q *Query) RefuseParameter(name string) {
	if len(q.values[name]) > 0 {
		q.Refuse(Invalid("unknown parameter %s", name))
	}
}

// Text reads a parameter, which must not be empty or given twice. It returns "" if the parameter is absent or invalid. It
// replaces bytes that are not UTF-8.
func (q *Query) Text(name string) string {
	values := q.values[name]
	if len(values) == 0 {
		return ""
	}
	if len(values) > 1 {
		q.Refuse(Invalid("the query string has %s %d times", name, len(values)))
		return ""
	}
	if values[0] == "" {
		q.Refuse(Invalid("%s must not be empty", name))
		return ""
	}
	return strings.ToValidUTF8(values[0], "\uFFFD")
}

// Choice reads a parameter that must be one of the valid values. It returns "" if the parameter is absent.
func (q *Query) Choice(name string, valid ...string) string {
	text := q.Text(name)
	if text != "" {
		q.checkOneOf(name, text, valid)
	}
	return text
}

// Page is one page of a list.
type Page struct {
	Number int64 // from 1
	Size   int64
}

// Offset returns the number of elements before the page. It limits the number of the page to avoid an overflow.
func (p Page) Offset() int64 { return min(p.Number-1, math.MaxInt32) * p.Size }

// Page reads page and per_page.
func (q *Query) Page() Page {
	const (
		defaultSize = 25
		maxSize     = 100
	)
	number := q.integer("page", 1, noMaximum)
	size := q.integer("per_page", defaultSize, maxSize)
	return Page{Number: number, Size: size}
}

// LargePage is like Page, with a larger default and maximum of per_page.
func (q *Query) LargePage() Page {
	const maxSize = 1000 // also the default
	number := q.integer("page", 1, noMaximum)
	size := q.integer("per_page", maxSize, maxSize)
	return Page{Number: number, Size: size}
}

// noMaximum is the maximum of an integer parameter without a limit.
const noMaximum = math.MaxInt64

// integer reads an integer from 1 to maximum. It returns the fallback if the parameter is absent or invalid.
func (q *Query) integer(name string, fallback, maximum int64) int64 {
	text := q.Text(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseInt(text, 10, 64)
	inRange := 1 <= n && n <= maximum
	if err == nil && inRange {
		return n
	}
	if maximum == noMaximum {
		q.Refuse(Invalid("%s must be an integer of at least 1", name))
	} else {
		q.Refuse(Invalid("%s must be an integer from 1 to %d", name, maximum))
	}
	return fallback
}

// Period reads from and to. Each is a time in the format of RFC 3339, or a date, which means midnight UTC. If to is a
// date, Period adds addToDate to it. An absent parameter becomes a zero time.
func (q *Query) Period(addToDate time.Duration) (from, to time.Time) {
	from = q.instant("from")
	to = q.instant("to")
	if hasDateLength(q.Text("to")) {
		to = to.Add(addToDate)
	}
	hasBoth := !from.IsZero() && !to.IsZero()
	if hasBoth && from.After(to) {
		q.Refuse(Invalid("from is after to"))
	}
	return from, to
}

// CheckDate refuses a parameter that is longer than a date. It leaves the format to Period.
func (q *Query) CheckDate(name string) {
	if len(q.Text(name)) > len(time.DateOnly) {
		q.Refuse(Invalid("%s must be a date (2006-01-02)", name))
	}
}

// hasDateLength reports whether a text is as long as a date. A time with a zone is longer.
func hasDateLength(text string) bool { return len(text) == len(time.DateOnly) }

// instant reads a time or a date. It returns the zero time if the parameter is absent or invalid.
func (q *Query) instant(name string) time.Time {
	text := q.Text(name)
	if text == "" {
		return time.Time{}
	}
	layout := time.RFC3339
	if hasDateLength(text) {
		layout = time.DateOnly
	}
	at, err := time.Parse(layout, text)
	if err != nil {
		q.Refuse(Invalid("%s must be a date (2006-01-02) or a time with a zone (2006-01-02T15:04:05Z)", name))
		return time.Time{}
	}
	return at
}
