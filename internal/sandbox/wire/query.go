package wire

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Query reads a query string. The first mistake is kept: read all, then ask
// Done. Parameters that nobody asks for are ignored.
type Query struct {
	mistake

	values url.Values
}

// ReadQuery returns a reader of a query string.
func ReadQuery(raw string) *Query {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return &Query{mistake: mistake{Invalid("the query string is malformed")}}
	}
	return &Query{values: values}
}

// Done returns the first mistake.
func (q *Query) Done() error { return q.err }

// Skip makes a parameter count as absent.
func (q *Query) Skip(name string) { delete(q.values, name) }

// Unknown refuses a parameter.
func (q *Query) Unknown(name string) {
	if len(q.values[name]) > 0 {
		q.Refuse(Invalid("unknown parameter %s", name))
	}
}

// Text reads a parameter, "" when it is absent.
func (q *Query) Text(name string) string {
	values := q.values[name]
	switch len(values) {
	case 0:
		return ""
	case 1:
		if values[0] == "" {
			q.Refuse(Invalid("%s must not be empty", name))
		}
		return strings.ToValidUTF8(values[0], "\uFFFD")
	}
	q.Refuse(Invalid("%s is there %d times", name, len(values)))
	return ""
}

// Choice reads a parameter that is one of a few words, "" when it is absent.
func (q *Query) Choice(name string, words ...string) string {
	text := q.Text(name)
	if text != "" {
		q.oneOf(name, text, words)
	}
	return text
}

// Page is a part of a list.
type Page struct {
	Number int64 // from 1
	Size   int64
}

// Offset is how many elements come before the page; no list has as many pages as the most here.
func (p Page) Offset() int64 { return min(p.Number-1, math.MaxInt32) * p.Size }

// Page reads page and per_page.
func (q *Query) Page() Page {
	return Page{Number: q.integer("page", 1, math.MaxInt64), Size: q.integer("per_page", 25, 100)}
}

// LargePage is Page for lists that no API has.
func (q *Query) LargePage() Page {
	return Page{Number: q.integer("page", 1, math.MaxInt64), Size: q.integer("per_page", 1000, 1000)}
}

func (q *Query) integer(name string, fallback, maximum int64) int64 {
	text := q.Text(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maximum {
		if maximum == math.MaxInt64 {
			q.Refuse(Invalid("%s must be an integer of at least 1", name))
		}
		q.Refuse(Invalid("%s must be an integer from 1 to %d", name, maximum))
		return fallback
	}
	return n
}

// Period reads from and to, both inclusive: RFC 3339 times, or dates that stand
// for their midnight in UTC; lasting says how much longer a to that is a date
// lasts. A missing end is open.
func (q *Query) Period(lasting time.Duration) (from, to time.Time) {
	from, _ = q.instant("from")
	to, isDate := q.instant("to")
	if isDate {
		to = to.Add(lasting)
	}
	if !from.IsZero() && !to.IsZero() && from.After(to) {
		q.Refuse(Invalid("from is after to"))
	}
	return from, to
}

// Date refuses a parameter that is a time.
func (q *Query) Date(name string) {
	if text := q.Text(name); len(text) > len(time.DateOnly) {
		q.Refuse(Invalid("%s must be a date (2006-01-02)", name))
	}
}

func (q *Query) instant(name string) (at time.Time, isDate bool) {
	text := q.Text(name)
	if text == "" {
		return time.Time{}, false
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		q.Refuse(Invalid("%s must be a date (2006-01-02) or a time with a zone (2006-01-02T15:04:05Z)", name))
	}
	return at, false
}
