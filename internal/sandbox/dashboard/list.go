package dashboard

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// list is what a list has beside its rows: a filter and a page.
type list struct {
	Fields      []*choices // of the filter
	First, Last int64      // the rows that are shown
	Total       int64      // 0: unknown
	Newer       string     // a query, as is the next; empty: there is none
	Older       string
	// What going on is called.
	Backward, Forward string

	query url.Values
	param string // that has the number of the page
	page  wire.Page
}

// pageSize is how many rows a page shows.
const pageSize = 50

// list reads the filter and the page that a query asks for. The first page is shown
// in place of one that is not a number.
func (v *view) list(fields ...*choices) *list {
	v.listed = v.listOf("page", fields...)
	return v.listed
}

// listOf is list for a page with several of them, whose numbers have other names.
func (v *view) listOf(param string, fields ...*choices) *list {
	const last = 1_000_000
	number, err := strconv.ParseInt(v.Query.Get(param), 10, 64)
	if err != nil || number < 1 {
		number = 1
	}
	l := &list{Fields: fields, Backward: "Newer", Forward: "Older", query: v.Query, param: param, page: wire.Page{Number: min(number, last), Size: pageSize}}
	for _, f := range fields {
		f.Chosen = v.Query.Get(f.Name)
	}
	return l
}

// The fields of filters.
func search(name, label string) *choices { return &choices{Name: name, Label: label, Type: "search"} }
func day(name, label string) *choices    { return &choices{Name: name, Label: label, Type: "date"} }
func pick(name string, values ...string) *choices {
	return &choices{Name: name, Label: label(name), Any: "any", Values: values}
}

// text is what a field of the filter has.
func (l *list) text(name string) string { return strings.TrimSpace(l.query.Get(name)) }

// Filtered tells whether it is not simply the newest rows that are shown.
func (l *list) Filtered() bool {
	return l.page.Number > 1 || slices.ContainsFunc(l.Fields, func(f *choices) bool { return f.Chosen != "" })
}

// shows says how many rows were found, and whether there are more.
func (l *list) shows(rows int, more bool) {
	l.First, l.Last = l.page.Offset()+1, l.page.Offset()+int64(rows)
	if l.page.Number > 1 {
		l.Newer = with(l.query, l.param, strconv.FormatInt(l.page.Number-1, 10))
	}
	if more {
		l.Older = with(l.query, l.param, strconv.FormatInt(l.page.Number+1, 10))
	}
}

// showsOf is shows where the number of all rows is known.
func (l *list) showsOf(rows int, total int64) {
	l.Total = total
	l.shows(rows, l.page.Offset()+int64(rows) < total)
}

// with is a query with another value.
func with(query url.Values, name, value string) string {
	next := maps.Clone(query)
	next.Set(name, value)
	return "?" + next.Encode()
}

// days reads from and to, of which an empty one is open.
func (l *list) days() (from, to time.Time, err error) {
	days := url.Values{}
	for _, name := range []string{"from", "to"} {
		if day := l.query.Get(name); day != "" {
			days.Set(name, day)
		}
	}
	reader := wire.ReadQuery(days.Encode())
	from, to = reader.Period(24*time.Hour - time.Millisecond)
	return from, to, reader.Done()
}
