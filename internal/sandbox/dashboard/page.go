package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// page is what can be seen at a path, and done there.
type page struct {
	Path  string // as an http.ServeMux takes it
	Title string
	In    string // the path of the page in the navigation that it belongs to; empty: it is there itself

	template string                   // the name of its file, without .html
	read     func(*view) (any, error) // returns the template's Data
	actions  []action                 // by forms with method="post" and a button with name="action"
}

// view is what a page is read with: one snapshot for one account.
type view struct {
	Tx      *store.Tx
	Server  *server.Server
	Account account.Account
	Query   url.Values
	request *http.Request
	posted  *posted
}

// PathValue returns a parameter of the page's path.
func (v *view) PathValue(name string) string { return v.request.PathValue(name) }

// action is what a form does: one call of the API or of /_sandbox.
type action struct {
	name      string // the value of the form's button
	firstOnly bool   // for the file's first account alone
	operation func(form) server.Operation
	// done says what was done. Nil: the page shows the response instead, once,
	// by view.Response.
	done func(form, wire.Response) string
	// next is where to go then; nil is the same page.
	next func(form) string
}

// form is what was filled in.
type form struct{ request *http.Request }

// Text returns a field without the spaces around it.
func (f form) Text(name string) string { return strings.TrimSpace(f.request.PostForm.Get(name)) }

// PathValue returns a parameter of the page's path.
func (f form) PathValue(name string) string { return f.request.PathValue(name) }

// jsonNumber is the syntax of numbers in JSON.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$`)

// Number returns a field for the body of a call, nil when it is empty. What is no
// number stays a text, which the call refuses in its own words.
func (f form) Number(name string) any {
	text := f.Text(name)
	switch {
	case text == "":
		return nil
	case jsonNumber.MatchString(text):
		return json.RawMessage(text)
	}
	return text
}

// posted is a form that was sent, when its page is shown in response.
type posted struct {
	action   string
	values   url.Values
	refused  *wire.Error // nil: it was done
	response wire.Response
}

// Response decodes what an action returned that the page is to show, and tells
// whether there is any.
func (v *view) Response(action string, into any) bool {
	return v.posted != nil && v.posted.action == action && v.posted.refused == nil && json.Unmarshal(v.posted.response.Body, into) == nil
}

func (d *Dashboard) get(w http.ResponseWriter, r *http.Request, p *page) {
	if id, found := d.sessions.account(cookie(r)); found {
		d.show(w, r, p, id, nil)
		return
	}
	d.sendToLogin(w, r)
}

func (d *Dashboard) sendToLogin(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/login?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
}

// show reads a page and writes it.
func (d *Dashboard) show(w http.ResponseWriter, r *http.Request, p *page, accountID int64, sent *posted) {
	f := frame{Title: p.Title, Page: p, Pages: d.pages, Token: d.token(cookie(r)), Query: r.URL.Query(), posted: sent}
	found := false
	refused := d.server.Read(r.Context(), func(tx *store.Tx) (err error) {
		if f.Account, found, err = account.ByID(tx, accountID); err != nil || !found {
			return err
		}
		if f.Now, err = tx.Now(); err != nil {
			return err
		}
		if f.Version, err = liveVersion(tx); err != nil {
			return err
		}
		f.Data, err = p.read(&view{Tx: tx, Server: d.server, Account: f.Account, Query: f.Query, request: r, posted: sent})
		return err
	})
	switch {
	case refused != nil:
		d.showError(w, refused)
		return
	case !found: // since a reset
		d.sessions.end(cookie(r))
		d.sendToLogin(w, r)
		return
	}
	status := http.StatusOK
	if sent != nil && sent.refused != nil {
		f.Problem, status = sentence(sent.refused.Message), sent.refused.Status
	}
	if r.Header.Get(liveHeader) == "" {
		f.Notice = d.sessions.take(cookie(r))
	}
	d.render(w, p.template, status, f)
}

// post does what a form of a page asks for.
func (d *Dashboard) post(w http.ResponseWriter, r *http.Request, p *page) {
	id, found := d.sessions.account(cookie(r))
	if !found {
		d.sendToLogin(w, r)
		return
	}
	if !d.parseForm(w, r, maxForm) {
		return
	}
	if !d.isOurs(r) {
		d.showError(w, &wire.Error{Status: http.StatusForbidden, Code: wire.CodeUnauthorized, Message: "the form was not sent from this session; nothing was done"})
		return
	}
	f := form{r}
	i := slices.IndexFunc(p.actions, func(a action) bool { return a.name == r.PostForm.Get("action") })
	if i < 0 {
		d.showError(w, wire.Invalid("the form has no such action; nothing was done"))
		return
	}
	a := p.actions[i]
	sent := &posted{action: a.name, values: r.PostForm}
	o, repeated := a.operation(f), false
	if o.Reads() {
		sent.response, sent.refused = d.do(r.Context(), id, a, o)
	} else {
		sent.response, sent.refused, repeated = d.sessions.once(cookie(r), r.URL.Path+"?"+r.PostForm.Encode(), func() (wire.Response, *wire.Error) {
			return d.do(context.WithoutCancel(r.Context()), id, a, o) // a second click gives the first one up
		})
	}
	if sent.refused != nil || a.done == nil {
		d.show(w, r, p, id, sent)
		return
	}
	notice := a.done(f, sent.response)
	if repeated {
		notice = "This form was sent before. It was not done again."
	}
	d.sessions.leave(cookie(r), notice, repeated)
	next := r.URL.RequestURI()
	if a.next != nil {
		next = a.next(f)
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // a path of a page
}

func (d *Dashboard) do(ctx context.Context, accountID int64, a action, o server.Operation) (wire.Response, *wire.Error) {
	var (
		by    account.Account
		found bool
	)
	refused := d.server.Read(ctx, func(tx *store.Tx) (err error) {
		by, found, err = account.ByID(tx, accountID)
		return err
	})
	switch {
	case refused != nil:
		return wire.Response{}, refused
	case !found || a.firstOnly && !by.First():
		return wire.Response{}, &wire.Error{
			Status: http.StatusForbidden, Code: wire.CodeFirstAccountOnly, Message: "only the file's first account does this",
		}
	}
	return d.server.Do(ctx, by, o)
}

// liveHeader marks the request of a page that is shown already.
const liveHeader = "X-Dashboard-Live"

// refreshInterval is how often a page is brought up to date because of the time alone.
const refreshInterval = 10 * time.Second

// liveVersion changes when a page may have.
func liveVersion(tx *store.Tx) (string, error) {
	now, err := tx.Now()
	if err != nil {
		return "", err
	}
	version, err := tx.Version()
	return version + "." + strconv.FormatInt(now.UnixMilli()/refreshInterval.Milliseconds(), 36), err
}

// live tells a page that is shown whether it is up to date.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	var state struct {
		Version string `json:"version"`
		Now     string `json:"now"`
		Ended   bool   `json:"ended"` // the session
	}
	_, found := d.sessions.account(cookie(r))
	state.Ended = !found
	if found {
		refused := d.server.Read(r.Context(), func(tx *store.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			state.Now = clock(now)
			state.Version, err = liveVersion(tx)
			return err
		})
		if refused != nil {
			http.Error(w, refused.Message, refused.Status)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(wire.Encode(state)) // nobody to tell when the page was closed
}
