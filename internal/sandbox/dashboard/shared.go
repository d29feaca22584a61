package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/activity"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// functions are those of the templates, most of which make what a shared template takes.
func functions() template.FuncMap {
	return template.FuncMap{
		"at":        at,
		"bar":       newBar,
		"field":     newField,
		"label":     label,
		"list":      func(values ...string) []string { return values },
		"selection": newSelection,
		"choices":   newChoices,
		"clock":     clock,
		"copy":      func(what, text string) copyable { return copyable{what, text} },
		"follow":    newFollowUp,
		"rfc3339":   func(t time.Time) string { return t.Format(time.RFC3339) },
		"what":      newWhat,
		"words":     words,
	}
}

// at reads a time as the API writes it.
func at(timestamp string) (time.Time, error) { return time.Parse(time.RFC3339, timestamp) }

// clock writes a time of the service for people. It is UTC, which pages say once.
func clock(t time.Time) string { return t.UTC().Format(time.DateTime) }

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

// what says in words what happened.
type what struct{ Text, Reason string }

func newWhat(r *activity.Record) what {
	w := what{Text: r.Merchant}
	switch r.Kind {
	case activity.Decline:
		w.Reason = cmp.Or(words(r.Reason), "reason not kept") // by an earlier version
	case activity.Challenge:
		w.Reason = "3D Secure " + r.Reason
	case activity.DepositPending:
		w.Text += " on their way"
	case activity.Opened:
		w.Text = "The account's opening balance"
	case activity.Issued:
		w.Text = "Loaded from the wallet"
	case activity.Funded:
		w.Text = "Funded from the wallet"
	case activity.Withdrawn:
		w.Text = "Withdrawn to the wallet"
	case activity.Returned:
		w.Text = "Returned to the wallet"
	case activity.Active:
		w.Text = "Transactions are enabled again"
	case activity.Frozen:
		w.Text = "Transactions are suspended"
	case activity.AutoFrozen:
		w.Text = "The balance fell below the threshold"
	case activity.Terminated:
		w.Text = "Closed permanently"
	case activity.DepositConfirmed:
		w.Text = "Into the wallet"
	}
	return w
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

// copyable is a text with a button that copies it.
type copyable struct{ What, Text string }

// choices is a field with a few values.
type choices struct {
	Name   string
	Any    string // what choosing none of them is called; empty: one is chosen
	Chosen string
	Values []string
}

// newChoices is a field of which the query chooses a value.
func newChoices(query url.Values, name, anyOf string, values ...string) *choices {
	return &choices{name, anyOf, query.Get(name), values}
}

// newSelection is a field of an action's form.
func newSelection(f *frame, action, name, first string, values []string) *choices {
	return &choices{Name: name, Chosen: f.Value(action, name, first), Values: values}
}

// paging says which part of a list is shown, and links to its neighbours.
type paging struct {
	First, Last int64
	Total       int64  // 0: unknown
	Newer       string // a query; empty: there is none
	Older       string
}

// pageSize is how many rows a page shows.
const pageSize = 50

// readPage reads which part of a list is asked for; anything that is no number is
// the first.
func readPage(query url.Values) wire.Page { return readPageOf(query, "page") }

// readPageOf is readPage for a page with several lists.
func readPageOf(query url.Values, name string) wire.Page {
	const last = 1_000_000
	number, err := strconv.ParseInt(query.Get(name), 10, 64)
	if err != nil || number < 1 {
		number = 1
	}
	return wire.Page{Number: min(number, last), Size: pageSize}
}

// newPaging describes a page of which so many rows were found.
func newPaging(query url.Values, p wire.Page, rows int, more bool) paging {
	return newPagingOf(query, "page", p, rows, more)
}

// newPagingOf is newPaging for a page with several lists.
func newPagingOf(query url.Values, name string, p wire.Page, rows int, more bool) paging {
	s := paging{First: p.Offset() + 1, Last: p.Offset() + int64(rows)}
	if p.Number > 1 {
		s.Newer = withPage(query, name, p.Number-1)
	}
	if more {
		s.Older = withPage(query, name, p.Number+1)
	}
	return s
}

func withPage(query url.Values, name string, number int64) string {
	next := maps.Clone(query)
	next.Set(name, strconv.FormatInt(number, 10))
	return "?" + next.Encode()
}
