package dashboard

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// frame is what every template gets.
type frame struct {
	Title   string
	Page    *page // nil: nobody is logged in
	Pages   []*page
	Account account.Account
	Now     time.Time        // the service's
	Unusual []string         // about the world
	Waiting map[string]int64 // by the paths of pages
	Version string
	ID      string // which no other page has, nor the same one at another time
	Query   url.Values
	Notice  notice // of the last form
	Problem string // why the last form was refused
	Data    any
	List    *list // nil: the page shows none

	posted *posted
}

// IsIn tells whether the frame is that of a page in the navigation, or below it.
func (f *frame) IsIn(p *page) bool { return f.Page.Path == p.Path || f.Page.In == p.Path }

// Value is what a field of an action's form shows: what was sent when it was
// refused, else a first choice.
func (f *frame) Value(action, field, first string) string {
	if f.posted != nil && f.posted.action == action && f.posted.refused != nil {
		return f.posted.values.Get(field)
	}
	return first
}

// render writes a page as a whole, or an error.
func (d *Dashboard) render(w http.ResponseWriter, name string, status int, f *frame) {
	var b bytes.Buffer
	if err := d.template(&b, name, f); err != nil {
		d.server.Logger.Error("a page could not be shown", "page", name, "error", err)
		http.Error(w, "The page could not be shown; the server's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, shown(b.String())) // nobody to tell when the reader went away
}

// shown keeps what turns the direction of writing, and what cannot be seen, out of a page.
func shown(page string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			return unicode.ReplacementChar
		}
		return r
	}, page)
}

// showError says what went wrong, below the navigation for who is logged in.
func (d *Dashboard) showError(w http.ResponseWriter, r *http.Request, e *wire.Error) {
	f := &frame{}
	if id, found := d.sessions.account(cookie(r)); found {
		if around, refused := d.read(r, &page{}, id, nil, func(*frame, *view) error { return nil }); refused == nil && around != nil {
			f = around
		}
	}
	f.Title, f.Data = http.StatusText(e.Status), sentence(e.Message)
	d.render(w, "error", e.Status, f)
}

func (d *Dashboard) notFound(w http.ResponseWriter, r *http.Request) {
	d.showError(w, r, wire.NewError(http.StatusNotFound, wire.CodeNotFound, "there is no such page"))
}

// sentence makes one of a message of the service.
func sentence(message string) string {
	return strings.ToUpper(message[:1]) + message[1:] + "."
}
