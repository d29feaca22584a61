package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// action is what a button does: one call of the API or of /_sandbox.
type action struct {
	name  string // the value of the button
	route string // of the call
	// texts and numbers are the names of the call's fields, with spaces between them. The form
	// has them, or the page's path. Those that the route's path names are its parameters.
	texts, numbers string
	// body is for a call with other fields than texts and numbers can say.
	body func(form) map[string]any
	// done says what was done, in which $name is a field of the response, and report does where
	// that takes more. With neither the page shows the response itself, once, by view.response.
	done   string
	report func(wire.Response) notice
	// row names the field that is the id of the row to come back to.
	row string
}

// operation is the call that a form asks for.
func (a *action) operation(f form) server.Operation {
	o, fields := server.Operation{Route: a.route, Path: map[string]string{}}, map[string]any{}
	if a.body != nil {
		fields = a.body(f)
	}
	for name := range strings.FieldsSeq(a.texts) {
		if strings.Contains(a.route, "{"+name+"}") {
			o.Path[name] = f.text(name)
		} else {
			fields[name] = f.text(name)
		}
	}
	for name := range strings.FieldsSeq(a.numbers) {
		if number := f.number(name); number != nil {
			fields[name] = number
		}
	}
	o.Body = wire.Encode(fields)
	return o
}

// form is what was filled in on a page.
type form struct{ request *http.Request }

// text returns a field without the spaces around it, or a parameter of the page's path.
func (f form) text(name string) string {
	return cmp.Or(f.request.PathValue(name), strings.TrimSpace(f.request.PostForm.Get(name)))
}

// number returns a field for the body of a call, nil when it is empty. What is no
// number stays a text, which the call refuses in its own words.
func (f form) number(name string) any {
	text := f.text(name)
	switch {
	case text == "":
		return nil
	case (text[0] == '-' || '0' <= text[0] && text[0] <= '9') && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return text
}

// notice says what a form has done. Bad is what nobody hopes for, such as a decline.
type notice struct {
	Text string
	Bad  bool
}

// posted is a form that was sent, for the page that its sender is led to.
type posted struct {
	path     string // of that page, with its query
	expires  time.Time
	action   string
	values   url.Values
	notice   notice
	refused  *wire.Error // nil: it was done
	response wire.Response
}

// post does what a form of a page asks for.
func (d *Dashboard) post(w http.ResponseWriter, r *http.Request, p *page) {
	id, found := d.sessions.account(cookie(r))
	if !found {
		d.sendToLogin(w, r)
		return
	}
	if !d.parseForm(w, r) {
		return
	}
	i := slices.IndexFunc(p.actions, func(a action) bool { return a.name == r.PostForm.Get("action") })
	if i < 0 {
		d.showError(w, r, wire.Invalid("unknown action; nothing was done"))
		return
	}
	a := &p.actions[i]
	sent := &posted{path: r.URL.RequestURI(), action: a.name, values: r.PostForm}
	o, repeated := a.operation(form{r}), false
	if o.Reads() {
		sent.response, sent.refused = d.do(r.Context(), id, o)
	} else {
		sent.response, sent.refused, repeated = d.sessions.once(cookie(r), r.URL.Path+"?"+r.PostForm.Encode(), func() (wire.Response, *wire.Error) {
			return d.do(context.WithoutCancel(r.Context()), id, o) // a second click gives the first one up
		})
	}
	if sent.refused == nil {
		sent.notice = a.notice(sent.response, repeated)
	}
	d.sessions.leave(cookie(r), sent, repeated)
	there := url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}
	if a.row != "" {
		there.Fragment = form{r}.text(a.row)
	}
	http.Redirect(w, r, there.String(), http.StatusSeeOther)
}

// notice says what the action has done, unless the page shows the response itself.
func (a *action) notice(res wire.Response, repeated bool) notice {
	switch {
	case repeated && (a.done != "" || a.report != nil):
		return notice{Text: "This form was already submitted. Nothing was done again."}
	case a.report != nil:
		return a.report(res)
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(res.Body, &fields) // our own; a list has none
	return notice{Text: os.Expand(a.done, func(name string) string { return string(fields[name]) })}
}

func (d *Dashboard) do(ctx context.Context, accountID int64, o server.Operation) (wire.Response, *wire.Error) {
	var by account.Account
	refused := d.Server.Read(ctx, func(tx *store.Tx) error {
		var err error
		if by, err = account.ByID(tx, accountID); err == nil && by.ID == 0 {
			return wire.Invalid("the account no longer exists after a reset; nothing was done")
		}
		return err
	})
	if refused != nil {
		return wire.Response{}, refused
	}
	return d.Server.Do(ctx, by, o)
}
