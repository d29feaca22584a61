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

	"github.com/vcard/terraform-provider-vcard/internal/display"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// functions returns the functions of the templates. Some of them return the argument of a shared template.
func functions() template.FuncMap {
	return template.FuncMap{
		"ago":      newMoment,
		"category": card.CategoryOf,
		"asset":    assetPath,
		"bar":      newBar,
		"exact":    newExactMoment,
		"in":       func(f *frame, item any) part { return part{Frame: f, Item: item} },
		"label":    label,
		"list":     func(values ...string) []string { return values },
		// selection is a field of an action's form.
		"selection": func(f *frame, action, name, defaultValue string, values []string) *inputField {
			return &inputField{Name: name, Chosen: f.Value(action, name, defaultValue), Values: values}
		},
		"clock":   clock,
		"count":   func(n any) string { return display.Thousands(fmt.Sprint(n)) },
		"copy":    func(title string, text any) copyable { return copyable{Title: title, Text: fmt.Sprint(text)} },
		"follow":  newFollowUp,
		"paid":    func(a usd.Amount) string { return display.Thousands((-a).Signed()) }, // from the wallet's point of view
		"signed":  func(a usd.Amount) string { return display.Thousands(a.Signed()) },
		"subject": subjectPath,
		"took":    formatDuration,
		"usd":     formatAmount,
		"month":   monthName,
		"words":   words,
	}
}

// formatAmount formats an amount with its thousands separated by commas.
func formatAmount(a usd.Amount) string { return display.Thousands(a.String()) }

// monthName returns the name of a month such as 2026-03.
func monthName(month string) string {
	t, _ := time.Parse("2006-01", month) // months are stored in this form
	return t.Format("January")
}

// clock formats a time for readers, in UTC.
func clock(t time.Time) string { return t.UTC().Format(time.DateTime) }

// newExactMoment is like newMoment, but the clock shows milliseconds.
func newExactMoment(f *frame, when interface{ UTC() time.Time }) moment {
	m := newMoment(f, when)
	m.Clock = when.UTC().Format("2006-01-02 15:04:05.000")
	return m
}

// moment is a time as templates show it.
type moment struct {
	Ago     string // such as "5 min ago"; empty for a time that is 31 days away or more
	Clock   string // the date and the time of day, in UTC
	Machine string // for the attribute datetime
}

// newMoment returns a time as templates show it. It accepts, for example, a time.Time or a wire.Time.
func newMoment(f *frame, when interface{ UTC() time.Time }) moment {
	t := when.UTC()
	m := moment{Clock: clock(t), Machine: t.Format(time.RFC3339)}
	ago := f.Now.Sub(t)
	const day = 24 * time.Hour
	switch {
	case ago.Abs() < 10*time.Second:
		m.Ago = "now"
	case ago.Abs() < time.Minute:
		m.Ago = formatAgo(ago, time.Second, "s")
	case ago.Abs() < time.Hour:
		m.Ago = formatAgo(ago, time.Minute, "min")
	case ago.Abs() < day:
		m.Ago = formatAgo(ago, time.Hour, "h")
	case ago.Abs() < 31*day:
		m.Ago = formatAgo(ago, day, "d")
	}
	return m
}

// formatAgo formats a time as a number of units before now, or after now if ago is negative. It rounds down in the past,
// and to the nearest unit in the future, so that a retry in 5 minutes is not shown as "in 4 min" a second later.
func formatAgo(ago, unit time.Duration, name string) string {
	if ago < 0 {
		return fmt.Sprintf("in %d %s", (-ago+unit/2)/unit, name)
	}
	return fmt.Sprintf("%d %s ago", ago/unit, name)
}

// appendCount appends a text such as "2 faults", unless the count is 0.
func appendCount(texts []string, n int, singular, plural string) []string {
	if n == 0 {
		return texts
	}
	if n == 1 {
		return append(texts, "1 "+singular)
	}
	count := display.Thousands(fmt.Sprint(n))
	return append(texts, count+" "+plural)
}

// subjectPath returns the path of the page for the object of an event, by the object's id. It returns "" if there is no
// page for objects of that kind.
func subjectPath(id string) string {
	kind, _, _ := strings.Cut(id, "_")
	switch kind {
	case "card":
		return "/cards/" + id
	case "txn":
		return "/transactions/" + id
	case "3ds":
		return "/3ds#" + id
	case "dep":
		return "/deposits#" + id
	default:
		return ""
	}
}

// words makes a name of the API readable: card_frozen becomes "card frozen".
func words(name any) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return ' '
		}
		return r
	}, fmt.Sprint(name))
}

// label returns the words with a capital letter, as the label of a field.
func label(name string) string {
	text := words(name)
	return strings.ToUpper(text[:1]) + text[1:]
}

// bar shows a part of a whole.
type bar struct {
	Percent int64
	Full    bool // whether the part is the whole or more
}

// newBar returns the bar of a part of a whole. Both must have a signed integer type, such as usd.Amount. The bar is
// empty unless both are above zero.
func newBar(part, whole any) bar {
	p := reflect.ValueOf(part).Int()
	w := reflect.ValueOf(whole).Int()
	if w <= 0 || p <= 0 {
		return bar{}
	}
	percent := min(100, p*100/w)
	return bar{Percent: max(1, percent), Full: p >= w} // at least 1 percent, so that it is visible
}

// part is the argument of a template that needs both the frame and the item to show.
type part struct {
	Frame *frame
	Item  any
}

// copyable is a text with a button that copies it.
type copyable struct{ Title, Text string }

// inputField is a field of a filter or a form.
type inputField struct {
	Name, Label string
	Type        string // of the HTML input; empty for a choice of Values
	Any         string // the text of the option for no value; empty if there is none
	Chosen      string
	Values      []string
	Texts       map[string]string // the texts of values that need one
}

// listPage is a page of a list, with the list's filter. The rows are in the Data of the frame.
type listPage struct {
	Fields      []*inputField // of the filter
	First, Last int64         // the numbers, from 1, of the page's first and last row; Last < First if it is empty
	Total       int64         // of the rows on all pages; 0 if unknown
	Previous    string        // the query of the previous page; empty if there is none
	Next        string        // the query of the next page; empty if there is none

	PreviousText string // of the link to the previous page
	NextText     string // of the link to the next page

	query url.Values
	param string // the query parameter with the number of the page
	page  wire.Page
}

// pageSize is the default maximum number of rows on a page of a list.
const pageSize = 50

// firstPage returns the first page of a list. The page has at most maxRows rows.
func firstPage(maxRows int64) wire.Page { return wire.Page{Number: 1, Size: maxRows} }

// readList returns the page's main list, which becomes the List of the frame. It reads the page number and the filter
// from the query, and sets the chosen values in the fields. The default is the first page.
func (v *view) readList(fields ...*inputField) *listPage {
	v.shownList = v.readListOf("page", fields...)
	return v.shownList
}

// readListOf is like readList, for another list of the page. Its page number is in the query parameter param.
func (v *view) readListOf(param string, fields ...*inputField) *listPage {
	l := &listPage{
		Fields:       fields,
		PreviousText: "Newer",
		NextText:     "Older",
		query:        v.Query,
		param:        param,
		page:         firstPage(pageSize),
	}
	number, err := strconv.Atoi(v.Query.Get(param))
	if err == nil && number > 0 && number < math.MaxInt32 { // no list has so many pages
		l.page.Number = int64(number)
	}
	for _, f := range fields {
		f.Chosen = v.Query.Get(f.Name)
	}
	return l
}

// search returns a field for a text in a filter.
func search(name, label string) *inputField {
	return &inputField{Name: name, Label: label, Type: "search"}
}

// pickDay returns a field for a date in a filter.
func pickDay(name, label string) *inputField {
	return &inputField{Name: name, Label: label, Type: "date"}
}

// pick returns a field of a filter with a choice of values.
func pick(name string, values ...string) *inputField {
	return &inputField{Name: name, Label: label(name), Any: "any", Values: values}
}

// text returns the value of a field of the filter.
func (l *listPage) text(name string) string { return strings.TrimSpace(l.query.Get(name)) }

// IsNarrowed reports whether the user has chosen a filter, or a page after the first. If such a list is empty, other
// rows may exist.
func (l *listPage) IsNarrowed() bool {
	if l.page.Number > 1 {
		return true
	}
	return slices.ContainsFunc(l.Fields, func(f *inputField) bool { return f.Chosen != "" })
}

// setRows sets First and Last from the number of rows on the page, and the links to the previous and the next page. more
// says whether there is a next page.
func (l *listPage) setRows(rows int, more bool) {
	l.First = l.page.Offset() + 1
	l.Last = l.page.Offset() + int64(rows)
	if l.page.Number > 1 {
		l.Previous = withValue(l.query, l.param, fmt.Sprint(l.page.Number-1))
	}
	if more {
		l.Next = withValue(l.query, l.param, fmt.Sprint(l.page.Number+1))
	}
}

// setRowsOfTotal is like setRows, for a list whose total number of rows is known.
func (l *listPage) setRowsOfTotal(rows int, total int64) {
	l.Total = total
	last := l.page.Offset() + int64(rows)
	l.setRows(rows, last < total)
}

// withValue returns a query with one value changed, starting with a question mark.
func withValue(query url.Values, name, value string) string {
	changed := maps.Clone(query)
	changed.Set(name, value)
	return "?" + changed.Encode()
}

// days returns the period that the fields from and to select, both inclusive. If a field is empty, its time is zero and
// the period has no limit on that side. It fails if the period is invalid.
func (l *listPage) days() (from, to time.Time, err error) {
	filled := url.Values{} // without empty fields, which the reader would refuse
	for _, name := range []string{"from", "to"} {
		date := l.query.Get(name)
		if date != "" {
			filled.Set(name, date)
		}
	}
	reader := wire.ReadQuery(filled.Encode())
	reader.CheckDate("from")
	reader.CheckDate("to")
	const restOfDay = 24*time.Hour - time.Millisecond // times are stored in milliseconds
	from, to = reader.Period(restOfDay)
	return from, to, reader.Done()
}
