package dashboard

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/vcard/terraform-provider-vcard/internal/display"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// page is one of the dashboard's pages, with its actions.
type page struct {
	Path   string // a pattern of http.ServeMux
	Title  string
	Parent string // the path of the page above it; empty if the navigation has a link to the page

	html    string                   // the file of its template
	read    func(*view) (any, error) // returns the Data of the template
	actions []action                 // the calls of its forms; a form sends the name of one as the field "action"
}

// Link returns the path of a page in the navigation. The suffix {$} of a pattern is not a part of the path.
func (p *page) Link() string { return strings.TrimSuffix(p.Path, "{$}") }

// view gives a page access to one snapshot of the data, for one account.
type view struct {
	Tx      *store.Tx
	Server  *server.Server
	Account account.Account
	Address string // of the API
	Query   url.Values
	request *http.Request
	outcome *formOutcome // of the form that led to the page; nil if there is none

	shownList *listPage // the main list; nil if the page has none
	filterErr error     // why the filter is invalid; the page shows the filter again
}

// decodeResponse decodes the response to a form with an action, if such a form led to the page and its call succeeded.
// It reports whether it has decoded a response. A response that cannot be decoded counts as none, so that the page is
// still shown; into may then be partly filled.
func (v *view) decodeResponse(action string, into any) bool {
	if v.outcome == nil || v.outcome.action != action {
		return false
	}
	if v.outcome.refused != nil {
		return false
	}
	err := json.Unmarshal(v.outcome.response.Body, into)
	return err == nil
}

// sendToLogin redirects to the login page, with the requested page as the one to show after the login.
func (d *Dashboard) sendToLogin(w http.ResponseWriter, r *http.Request) {
	query := url.Values{"next": {r.URL.RequestURI()}}
	http.Redirect(w, r, "/login?"+query.Encode(), http.StatusSeeOther)
}

// get shows a page to the signed-in user.
func (d *Dashboard) get(w http.ResponseWriter, r *http.Request, p *page) {
	accountID, found := d.sessions.accountID(cookieValue(r))
	if !found {
		d.sendToLogin(w, r)
		return
	}
	// A live update does not show notices, so it must not take the outcome.
	var outcome *formOutcome
	if r.Header.Get(liveHeader) == "" {
		outcome = d.sessions.take(cookieValue(r), r.URL.RequestURI())
	}
	f, refused := d.read(r, p, accountID, outcome)
	if refused != nil {
		d.showError(w, r, refused)
		return
	}
	if f == nil { // the account does not exist
		d.sendToLogin(w, r)
		return
	}
	titled, ok := f.Data.(interface{ Title() string })
	if ok {
		f.Title = titled.Title()
	}
	status := http.StatusOK
	if f.Problem != "" {
		status = http.StatusBadRequest
	}
	if outcome != nil {
		f.Notice = outcome.notice
		if outcome.refused != nil {
			f.Problem = display.Sentence(outcome.refused.Message)
			status = outcome.refused.Status
		}
	}
	d.render(w, p.html, status, f)
}

// read reads a page and its frame in one snapshot. If the account does not exist, it ends the session and returns nil.
func (d *Dashboard) read(r *http.Request, p *page, accountID int64, outcome *formOutcome) (*frame, *wire.Error) {
	// The version is read before the page, so that the page is at least as new as its version says.
	fileVersion, _, refused := d.options.Server.Version(r.Context())
	if refused != nil {
		return nil, refused
	}
	f := &frame{
		Title:   p.Title,
		Page:    p,
		Pages:   d.pages,
		ID:      rand.Text(),
		Query:   r.URL.Query(),
		outcome: outcome,
	}
	refused = d.options.Server.Read(r.Context(), func(tx *store.Tx) error {
		err := d.readFrame(tx, f, accountID, fileVersion)
		if err != nil {
			return err
		}
		if f.Account.ID == 0 || p.read == nil {
			return nil
		}
		v := &view{
			Tx:      tx,
			Server:  d.options.Server,
			Account: f.Account,
			Address: d.address.JoinPath(server.API).String(),
			Query:   f.Query,
			request: r,
			outcome: outcome,
		}
		f.Data, err = p.read(v)
		if err != nil {
			return err
		}
		f.List = v.shownList
		invalidFilter, ok := errors.AsType[*wire.Error](v.filterErr)
		if ok {
			f.Problem = display.Sentence(invalidFilter.Message)
		}
		return nil
	})
	if refused != nil {
		return nil, refused
	}
	if f.Account.ID == 0 {
		d.sessions.end(cookieValue(r))
		return nil, nil
	}
	return f, nil
}

// readFrame reads the data that pages have in common. If the account does not exist, f.Account stays empty.
func (d *Dashboard) readFrame(tx *store.Tx, f *frame, accountID int64, fileVersion string) error {
	found, err := account.ByID(tx, accountID)
	if err != nil {
		return err
	}
	if found.ID == 0 { // there is no such account
		return nil
	}
	f.Account = found
	f.Now = tx.Now()
	f.Version = liveVersion(fileVersion, f.Now)
	ahead := f.Now.Sub(d.options.Now())
	f.Unusual, err = describeUnusual(tx, ahead)
	if err != nil {
		return err
	}
	f.Waiting, err = countWaiting(tx, accountID)
	return err
}

// pages returns all pages, in the order of the navigation.
func pages() []*page {
	showKey := action{name: "show-key", route: "GET " + server.Control + "/api-key"}
	forget := action{name: "forget", route: "DELETE " + server.Control + "/requests", done: "The request log is cleared."}
	audit := action{name: "audit", route: "GET " + server.Control + "/ledger"}
	return []*page{
		{Path: "/{$}", Title: "Overview", html: "overview.html", read: readOverview, actions: []action{showKey}},
		{Path: "/cards", Title: "Cards", html: "cards.html", read: readCards},
		{Path: "/cards/{card_id}", Title: "Card", Parent: "/cards", html: "card.html", read: readCard, actions: cardActions()},
		{Path: "/transactions", Title: "Transactions", html: "transactions.html", read: readTransactions},
		{Path: "/transactions/{id}", Title: "Transaction", Parent: "/transactions", html: "transaction.html", read: readTransaction, actions: followUpActions()},
		{Path: "/requests", Title: "Requests", html: "requests.html", read: readRequests, actions: []action{forget}},
		{Path: "/runs/{run}", Title: "Run", Parent: "/requests", html: "run.html", read: readRun},
		{Path: "/3ds", Title: "3D Secure", html: "challenges.html", read: readChallenges, actions: challengeActions()},
		{Path: "/deposits", Title: "Deposits", html: "deposits.html", read: readDeposits, actions: depositActions()},
		{Path: "/webhooks", Title: "Webhooks", html: "webhooks.html", read: readWebhooks, actions: webhookActions()},
		{Path: "/webhooks/{delivery_id}", Title: "Delivery", Parent: "/webhooks", html: "delivery.html", read: readDelivery, actions: []action{redeliverAction()}},
		{Path: "/ledger", Title: "Ledger", html: "ledger.html", read: readLedger, actions: []action{audit}},
		{Path: "/world", Title: "World", html: "world.html", read: readWorld, actions: worldActions()},
	}
}

// describeUnusual describes what differs from a new sandbox: faults, changed settings, and a clock that is ahead of the
// real time.
func describeUnusual(tx *store.Tx, ahead time.Duration) ([]string, error) {
	b, err := readBehaviors(tx)
	if err != nil {
		return nil, err
	}
	var texts []string
	texts = appendCount(texts, len(b.Faults), "fault", "faults")
	texts = appendCount(texts, countChanged(b.Quirks), "quirk", "quirks")
	texts = appendCount(texts, countChanged(b.Limits), "limit", "limits")
	const day = 24 * time.Hour
	rounded := ahead.Round(time.Minute)
	if rounded >= 2*day {
		texts = append(texts, fmt.Sprintf("clock +%d days", rounded/day))
	} else if rounded > 0 {
		hoursAndMinutes := strings.TrimSuffix(rounded.String(), "0s")
		texts = append(texts, "clock +"+hoursAndMinutes)
	}
	return texts, nil
}

// countWaiting returns the numbers of pending challenges and of endpoints with a delivery that will be retried.
// The keys are the paths of the pages that show them.
func countWaiting(tx *store.Tx, accountID int64) (map[string]int64, error) {
	pending, err := threeds.CountPending(tx, accountID)
	if err != nil {
		return nil, err
	}
	retrying, err := webhook.CountRetrying(tx, accountID)
	if err != nil {
		return nil, err
	}
	return map[string]int64{"/3ds": pending, "/webhooks": retrying}, nil
}

// frame is the data of the template of a whole page, such as a page of the navigation or the login page.
type frame struct {
	Title   string
	Page    *page // nil on a page without the navigation, such as the login page
	Pages   []*page
	Account account.Account
	Now     time.Time        // by the service's clock
	Unusual []string         // from describeUnusual
	Waiting map[string]int64 // from countWaiting
	Version string           // from liveVersion
	ID      string           // of this response; a field of its forms distinguishes them from those of other responses
	Query   url.Values
	Notice  notice    // of the last form
	Problem string    // why something was refused, such as the last form or the filter
	Data    any       // of the page, as its read function returns it; the message on the error page
	List    *listPage // the main list; nil if the page has none

	outcome *formOutcome // of the form that led to the page; nil if there is none
}

// IsIn reports whether the frame shows the page p of the navigation, or a page below p.
func (f *frame) IsIn(p *page) bool { return f.Page.Path == p.Path || f.Page.Parent == p.Path }

// Value returns the content of a field of an action's form: the input if the form was refused, or else the
// default.
func (f *frame) Value(action, field, defaultValue string) string {
	if f.outcome == nil || f.outcome.refused == nil {
		return defaultValue
	}
	if f.outcome.action != action {
		return defaultValue
	}
	return f.outcome.values.Get(field)
}

// render writes a page. A template that fails is a bug, so render then panics and writes nothing.
func (d *Dashboard) render(w http.ResponseWriter, name string, status int, f *frame) {
	var b bytes.Buffer
	err := d.templates.ExecuteTemplate(&b, name, f)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	// An error cannot be reported to the client.
	_, _ = io.WriteString(w, withoutControls(b.String()))
}

// withoutControls replaces characters that are neither graphic nor white space, such as those that change the direction
// of the text.
func withoutControls(page string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			return unicode.ReplacementChar
		}
		return r
	}, page)
}

// showError shows an error. If a user is signed in and the frame can be read, the page also has the navigation.
func (d *Dashboard) showError(w http.ResponseWriter, r *http.Request, e *wire.Error) {
	f := &frame{}
	accountID, found := d.sessions.accountID(cookieValue(r))
	if found {
		noPage := &page{} // so that read reads only the frame
		var noOutcome *formOutcome
		signedIn, refused := d.read(r, noPage, accountID, noOutcome)
		if refused == nil && signedIn != nil {
			f = signedIn
		}
	}
	f.Title = http.StatusText(e.Status)
	f.Data = display.Sentence(e.Message)
	d.render(w, "error", e.Status, f)
}

func (d *Dashboard) notFound(w http.ResponseWriter, r *http.Request) {
	d.showError(w, r, wire.NewError(http.StatusNotFound, wire.CodeNotFound, "this page does not exist"))
}
