package dashboard

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// functions are those of the templates, most of which make what a shared template takes.
func functions() template.FuncMap {
	return template.FuncMap{
		"ago":      newMoment,
		"category": card.CategoryOf,
		"asset":    assetPath,
		"bar":      newBar,
		"exact":    exact,
		"in":       func(f *frame, it any) part { return part{f, it} },
		"label":    label,
		"list":     func(values ...string) []string { return values },
		"selection": func(f *frame, action, name, first string, values []string) *choices { // a field of an action's form
			return &choices{Name: name, Chosen: f.Value(action, name, first), Values: values}
		},
		"clock":   clock,
		"count":   func(n any) string { return grouped(fmt.Sprint(n)) },
		"copy":    func(what string, text any) copyable { return copyable{what, fmt.Sprint(text)} },
		"follow":  newFollowUp,
		"paid":    func(a usd.Amount) string { return signed(-a) }, // from the wallet's point of view
		"signed":  signed,
		"subject": subject,
		"took":    took,
		"usd":     func(a usd.Amount) string { return grouped(a.String()) },
		"month":   func(m string) string { t, _ := time.Parse("2006-01", m); return t.Format("January") }, // of our own making
		"words":   words,
	}
}

// clock writes a time of the service for people. It is UTC, which pages say once.
func clock(t time.Time) string { return t.UTC().Format(time.DateTime) }

// exact is newMoment with milliseconds.
func exact(f *frame, when interface{ UTC() time.Time }) moment {
	m := newMoment(f, when)
	m.Clock = when.UTC().Format("2006-01-02 15:04:05.000")
	return m
}

// moment is a time as it is shown: itself, and how long ago it was.
type moment struct{ Ago, Clock, Machine string }

// newMoment takes a time, or one of the file.
func newMoment(f *frame, when interface{ UTC() time.Time }) moment {
	t := when.UTC()
	m := moment{Clock: clock(t), Machine: t.Format(time.RFC3339)}
	ago := f.Now.Sub(t)
	in := func(unit time.Duration, name string) string {
		if ago < 0 {
			return fmt.Sprintf("in %d %s", (-ago+unit/2)/unit, name)
		}
		return fmt.Sprintf("%d %s ago", ago/unit, name)
	}
	const day = 24 * time.Hour
	switch {
	case ago.Abs() < 10*time.Second:
		m.Ago = "now"
	case ago.Abs() < time.Minute:
		m.Ago = in(time.Second, "s")
	case ago.Abs() < time.Hour:
		m.Ago = in(time.Minute, "min")
	case ago.Abs() < day:
		m.Ago = in(time.Hour, "h")
	case ago.Abs() < 31*day:
		m.Ago = in(day, "d")
	}
	return m
}

// grouped writes a number in groups of three digits.
func grouped(number string) string {
	whole, fraction, _ := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}

// counted says how many of something there are; nothing when there is none.
func counted(n int, one, many string) []string {
	switch {
	case n <= 0:
		return nil
	case n == 1:
		return []string{"1 " + one}
	}
	return []string{grouped(fmt.Sprint(n)) + " " + many}
}

// signed writes an amount with its sign.
func signed(a usd.Amount) string {
	if a > 0 {
		return "+" + grouped(a.String())
	}
	return grouped(a.String())
}

// subject is the path of the page of what an event is about.
func subject(id string) string {
	kind, _, _ := strings.Cut(id, "_")
	return map[string]string{"card": "/cards/" + id, "txn": "/transactions/" + id, "3ds": "/3ds#" + id, "dep": "/deposits#" + id}[kind]
}

// words makes a name of the API readable: card_frozen is "card frozen".
func words(name any) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return ' '
		}
		return r
	}, fmt.Sprint(name))
}

// label is words as the name of a field.
func label(name string) string {
	text := words(name)
	return strings.ToUpper(text[:1]) + text[1:]
}

// bar is a part of a whole as a picture. The figures stand beside it.
type bar struct {
	Percent int64
	Full    bool // the whole, or more
}

// newBar takes amounts or other integers.
func newBar(part, whole any) bar {
	p, w := reflect.ValueOf(part).Int(), reflect.ValueOf(whole).Int()
	if w <= 0 || p <= 0 {
		return bar{}
	}
	return bar{Percent: max(1, min(100, p*100/w)), Full: p >= w}
}

// part is what a template shows that needs the frame too.
type part struct {
	Frame *frame
	It    any
}

// copyable is a text with a button that copies it.
type copyable struct{ What, Text string }

// choices is a field, of a filter or of a form, that may have a few values.
type choices struct {
	Name, Label, Type string
	Any               string // what choosing none of them is called; empty: one is chosen
	Chosen            string
	Values            []string
	Texts             map[string]string // of values that do not speak for themselves
}

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

// firstPage is as many rows as a part of a page shows.
func firstPage(rows int64) wire.Page { return wire.Page{Number: 1, Size: rows} }

// list reads the filter and the page that a query asks for, the first one by default.
func (v *view) list(fields ...*choices) *list {
	v.listed = v.listOf("page", fields...)
	return v.listed
}

// listOf is list for a page with several of them, whose numbers have other names.
func (v *view) listOf(param string, fields ...*choices) *list {
	l := &list{Fields: fields, Backward: "Newer", Forward: "Older", query: v.Query, param: param, page: firstPage(pageSize)}
	if number, err := strconv.Atoi(v.Query.Get(param)); err == nil && number > 0 && number < math.MaxInt32 {
		l.page.Number = int64(number)
	}
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
		l.Newer = with(l.query, l.param, fmt.Sprint(l.page.Number-1))
	}
	if more {
		l.Older = with(l.query, l.param, fmt.Sprint(l.page.Number+1))
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
