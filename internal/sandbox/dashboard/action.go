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

// action is a call of the API or of /_sandbox that a form makes.
type action struct {
	name  string // the value of the form's field "action"
	route string // of the call
	// texts and numbers are the names of the call's fields. Their values come from the form or from the page's path.
	// A name in texts that the route contains is a path parameter of the call.
	texts, numbers []string
	// body returns the fields that texts and numbers cannot express.
	body func(form) map[string]any
	// done is the notice after the call, in which $x stands for the value of the response's field x. The field should be a
	// number, because the notice shows the value as in JSON.
	done string
	// report returns a notice that depends on the response. An action with neither done nor report has no notice.
	report func(wire.Response) notice
	// row names the form field that has the id of the row to scroll to afterwards.
	row string
}

// operation returns the call that a form makes.
func (a *action) operation(f form) server.Operation {
	call := server.Operation{Route: a.route, Path: map[string]string{}}
	fields := map[string]any{}
	if a.body != nil {
		fields = a.body(f)
	}
	for _, name := range a.texts {
		if strings.Contains(a.route, "{"+name+"}") {
			call.Path[name] = f.text(name)
		} else {
			fields[name] = f.text(name)
		}
	}
	for _, name := range a.numbers {
		number := f.number(name)
		if number != nil {
			fields[name] = number
		}
	}
	call.Body = wire.Encode(fields)
	return call
}

// form is a form of a page, as filled in.
type form struct{ request *http.Request }

// text returns a parameter of the page's path, or else a field of the form without surrounding spaces.
func (f form) text(name string) string {
	field := strings.TrimSpace(f.request.PostForm.Get(name))
	return cmp.Or(f.request.PathValue(name), field)
}

// number returns a field as a number for the body of a call, or nil if the field is empty. A text that is not a number
// in JSON stays a text.
func (f form) number(name string) any {
	text := f.text(name)
	if text == "" {
		return nil
	}
	startsLikeNumber := strings.ContainsRune("-0123456789", rune(text[0]))
	if startsLikeNumber && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// notice is the outcome of a form in words.
type notice struct {
	Text string
	Bad  bool // whether the outcome is bad, such as a decline
}

// formOutcome is the outcome of a form that was sent, for the page that shows it.
type formOutcome struct {
	path     string    // of the page that shows it, with its query
	expires  time.Time // when it is forgotten, if no page has shown it; set by sessions.keep
	action   string
	values   url.Values
	notice   notice
	refused  *wire.Error // nil if the call succeeded
	response wire.Response
}

// post makes the call of a form and redirects to the page that shows the outcome. If the session remembers that the
// same form was sent before, post does not repeat a call for a change, but uses the outcome of the first call.
func (d *Dashboard) post(w http.ResponseWriter, r *http.Request, p *page) {
	accountID, found := d.sessions.accountID(cookieValue(r))
	if !found {
		d.sendToLogin(w, r)
		return
	}
	if !d.parseForm(w, r) {
		return
	}
	i := slices.IndexFunc(p.actions, func(a action) bool { return a.name == r.PostForm.Get("action") })
	if i < 0 {
		d.showError(w, r, wire.Invalid("this page has no such action, so nothing was done; reload the page and try again"))
		return
	}
	a := &p.actions[i]
	outcome := &formOutcome{path: r.URL.RequestURI(), action: a.name, values: r.PostForm}
	call := a.operation(form{r})
	repeated := false
	if call.IsRead() { // a repeated read is harmless
		outcome.response, outcome.refused = d.do(r.Context(), accountID, call)
	} else {
		content := r.URL.Path + "?" + r.PostForm.Encode()
		var remembered *sentForm
		remembered, repeated = d.sessions.remember(cookieValue(r), content)
		remembered.callOnce(func() (wire.Response, *wire.Error) {
			// At a second click, browsers may cancel the first request. The call must continue.
			return d.do(context.WithoutCancel(r.Context()), accountID, call)
		})
		outcome.response = remembered.response
		outcome.refused = remembered.refused
	}
	if outcome.refused == nil {
		outcome.notice = a.notice(outcome.response, repeated)
	}
	d.sessions.keep(cookieValue(r), outcome, repeated)
	target := url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}
	if a.row != "" {
		target.Fragment = form{r}.text(a.row)
	}
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

// notice describes the outcome of a call that succeeded. It is empty for an action with neither done nor report.
func (a *action) notice(res wire.Response, repeated bool) notice {
	if a.done == "" && a.report == nil {
		return notice{}
	}
	if repeated {
		return notice{Text: "This form was already submitted. Its action was not repeated."}
	}
	if a.report != nil {
		return a.report(res)
	}
	var fields map[string]json.RawMessage // if the response is not a JSON object, the names in done become empty
	_ = json.Unmarshal(res.Body, &fields)
	return notice{Text: os.Expand(a.done, func(name string) string { return string(fields[name]) })}
}

// do makes a call for an account. It fails if the account no longer exists.
func (d *Dashboard) do(ctx context.Context, accountID int64, call server.Operation) (wire.Response, *wire.Error) {
	var user account.Account
	refused := d.options.Server.Read(ctx, func(tx *store.Tx) error {
		var err error
		user, err = account.ByID(tx, accountID)
		return err
	})
	if refused != nil {
		return wire.Response{}, refused
	}
	if user.ID == 0 {
		return wire.Response{}, wire.Invalid("a reset has removed this account, so nothing was done; log in again")
	}
	return d.options.Server.Do(ctx, user, call)
}
