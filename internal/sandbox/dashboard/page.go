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

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// page is what can be seen at a path, and done there.
type page struct {
	Path  string // as an http.ServeMux takes it
	Title string
	In    string // the path of the page in the navigation that it belongs to; empty: it is there itself

	html    string                   // the file of its template
	read    func(*view) (any, error) // returns the template's Data
	actions []action                 // by forms with method="post" and a button with name="action"
}

// view is what a page is read with: one snapshot for one account.
type view struct {
	Tx      *store.Tx
	Server  *server.Server
	Account account.Account
	Address string // of the API
	Query   url.Values
	request *http.Request
	posted  *posted
	listed  *list // what the page shows; nil: no list
	refused error // what is wrong with the filter, which the page shows once more; nil: nothing
}

// response decodes what an action returned for the page to show, and tells whether it did.
func (v *view) response(action string, into any) bool {
	return v.posted != nil && v.posted.action == action && v.posted.refused == nil && json.Unmarshal(v.posted.response.Body, into) == nil
}

func (d *Dashboard) sendToLogin(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/login?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
}

// get reads a page and writes it, for who is logged in.
func (d *Dashboard) get(w http.ResponseWriter, r *http.Request, p *page) {
	accountID, found := d.sessions.account(cookie(r))
	if !found {
		d.sendToLogin(w, r)
		return
	}
	var sent *posted
	if r.Header.Get(liveHeader) == "" {
		sent = d.sessions.take(cookie(r), r.URL.RequestURI())
	}
	f, refused := d.read(r, p, accountID, sent, func(f *frame, v *view) (err error) {
		f.Data, err = p.read(v)
		f.List = v.listed
		if refused, ok := errors.AsType[*wire.Error](v.refused); ok {
			f.Problem = sentence(refused.Message)
		}
		return err
	})
	switch {
	case refused != nil:
		d.showError(w, r, refused)
		return
	case f == nil:
		d.sendToLogin(w, r)
		return
	}
	if titled, ok := f.Data.(interface{ Title() string }); ok {
		f.Title = titled.Title()
	}
	status := http.StatusOK
	if f.Problem != "" {
		status = http.StatusBadRequest
	}
	if sent != nil {
		f.Notice = sent.notice
		if sent.refused != nil {
			f.Problem, status = sentence(sent.refused.Message), sent.refused.Status
		}
	}
	d.render(w, p.html, status, f)
}

// read calls use with what a page is made from, in one snapshot. It returns no frame
// when the account is gone since a reset, by which the session ends.
func (d *Dashboard) read(r *http.Request, p *page, accountID int64, sent *posted, use func(*frame, *view) error) (f *frame, refused *wire.Error) {
	f = &frame{Title: p.Title, Page: p, Pages: d.pages, ID: rand.Text(), Query: r.URL.Query(), posted: sent}
	// Before the page is read, so that the page is at least as new.
	version, _, refused := d.Server.Version(r.Context())
	if refused != nil {
		return nil, refused
	}
	refused = d.Server.Read(r.Context(), func(tx *store.Tx) (err error) {
		if f.Account, err = account.ByID(tx, accountID); err != nil || f.Account.ID == 0 {
			return err
		}
		f.Now = tx.Now()
		f.Version = liveVersion(version, f.Now)
		if f.Unusual, err = unusual(tx, f.Now.Sub(d.sessions.now())); err != nil {
			return err
		}
		if f.Waiting, err = waiting(tx, accountID); err != nil {
			return err
		}
		return use(f, &view{
			Tx: tx, Server: d.Server, Account: f.Account, Address: d.address.JoinPath(server.API).String(), Query: f.Query, request: r, posted: sent,
		})
	})
	if refused == nil && f.Account.ID == 0 {
		d.sessions.end(cookie(r))
		return nil, nil
	}
	return f, refused
}

// pages are all pages, in the order of the navigation.
func pages() []*page {
	showKey := action{name: "show-key", route: "GET " + server.Control + "/api-key"}
	forget := action{name: "forget", route: "DELETE " + server.Control + "/requests", done: "The request log is cleared."}
	audit := action{name: "audit", route: "GET " + server.Control + "/ledger"}
	resend, follow := []action{redeliver()}, followUps()
	return []*page{
		{Path: "/{$}", Title: "Overview", html: "overview.html", read: readOverview, actions: []action{showKey}},
		{Path: "/cards", Title: "Cards", html: "cards.html", read: readCards},
		{Path: "/cards/{card_id}", Title: "Card", In: "/cards", html: "card.html", read: readCard, actions: cardActions()},
		{Path: "/transactions", Title: "Transactions", html: "transactions.html", read: readTransactions},
		{Path: "/transactions/{id}", Title: "Transaction", In: "/transactions", html: "transaction.html", read: readTransaction, actions: follow},
		{Path: "/requests", Title: "Requests", html: "requests.html", read: readRequests, actions: []action{forget}},
		{Path: "/runs/{run}", Title: "Run", In: "/requests", html: "run.html", read: readRun},
		{Path: "/3ds", Title: "3D Secure", html: "challenges.html", read: readChallenges, actions: challengeActions()},
		{Path: "/deposits", Title: "Deposits", html: "deposits.html", read: readDeposits, actions: depositActions()},
		{Path: "/webhooks", Title: "Webhooks", html: "webhooks.html", read: readWebhooks, actions: webhookActions()},
		{Path: "/webhooks/{delivery_id}", Title: "Delivery", In: "/webhooks", html: "delivery.html", read: readDelivery, actions: resend},
		{Path: "/ledger", Title: "Ledger", html: "ledger.html", read: readLedger, actions: []action{audit}},
		{Path: "/world", Title: "World", html: "world.html", read: readWorld, actions: worldActions()},
	}
}

// unusual says what is not as usual in the world, by how far its clock is ahead.
func unusual(tx *store.Tx, ahead time.Duration) (found []string, err error) {
	b, err := readBehaviors(tx)
	if err != nil {
		return nil, err
	}
	found = append(found, counted(len(b.Faults), "fault", "faults")...)
	found = append(found, counted(changed(b.Quirks...), "quirk", "quirks")...)
	found = append(found, counted(changed(b.Limits...), "limit", "limits")...)
	const day = 24 * time.Hour
	switch ahead = ahead.Round(time.Minute); {
	case ahead >= 2*day:
		found = append(found, fmt.Sprintf("clock +%d days", ahead/day))
	case ahead > 0:
		found = append(found, "clock +"+strings.TrimSuffix(ahead.String(), "0s"))
	}
	return found, nil
}

// waiting is what waits for somebody, by the paths of the pages that show it.
func waiting(tx *store.Tx, accountID int64) (map[string]int64, error) {
	pending, err := threeds.CountPending(tx, accountID)
	if err != nil {
		return nil, err
	}
	failing, err := webhook.CountFailing(tx, accountID)
	return map[string]int64{"/3ds": pending, "/webhooks": failing}, err
}

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

// Value is what a field of an action's form shows: what was refused, else a first choice.
func (f *frame) Value(action, field, first string) string {
	if f.posted != nil && f.posted.action == action && f.posted.refused != nil {
		return f.posted.values.Get(field)
	}
	return first
}

// render writes a page as a whole. A template that fails is a bug.
func (d *Dashboard) render(w http.ResponseWriter, name string, status int, f *frame) {
	var b bytes.Buffer
	if err := d.templates.ExecuteTemplate(&b, name, f); err != nil {
		panic(err)
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
