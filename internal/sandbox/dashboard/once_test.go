package dashboard_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// A form that is sent again does nothing again, whatever sends it: a second click, a
// reload, or the way back to its page.
func TestAFormIsDoneOnce(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	path := "/cards/" + s.Issue("500")
	buy := b.form(path, "action", "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311")
	b.send(http.MethodPost, path, buy).has(t, "Authorized: 40.00 USD")
	b.send(http.MethodPost, path, buy).has(t, "It was not done again.").lacks(t, "Authorized: 40.00 USD")
	if got := len(s.Get("/transactions").Data()); got != 1 {
		t.Errorf("%d transactions", got)
	}
	buy.Set("amount", "41") // other forms of the same page are theirs
	b.send(http.MethodPost, path, buy).has(t, "Authorized: 41.00 USD")
	b.post(path, "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311").has(t, "Authorized: 40.00 USD")
	b.send(http.MethodPost, "/cards/"+s.Issue("500"), buy).has(t, "Authorized: 41.00 USD") // and so are those of other pages
	buy.Set("amount", "40")
	b.send(http.MethodPost, path, buy).has(t, "It was not done again.") // whatever was sent since
	if got := len(s.Get("/transactions").Data()); got != 4 {
		t.Errorf("%d transactions", got)
	}

	refused := b.form(path, "action", "buy", "amount", "1000", "merchant", "", "mcc", "7311")
	for range 2 {
		if got := b.send(http.MethodPost, path, refused); got.StatusCode != http.StatusBadRequest {
			t.Errorf("answered %d", got.StatusCode)
		}
	}
}

// A page that a form has shown, and that is loaded again, makes no second account.
func TestAReloadCreatesNoSecondAccount(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	create := b.form("/world", "action", "create-account", "state", "ready", "initial_balance", "7")
	key := regexp.MustCompile(`sk_live_\w+`)
	first := key.FindString(b.send(http.MethodPost, "/world", create).text)
	if again := key.FindString(b.send(http.MethodPost, "/world", create).text); again == "" || again != first {
		t.Errorf("the reload shows %q", again)
	}
	if got := s.Get("/_sandbox/accounts").OK(200).Text("total"); got != "2" {
		t.Errorf("%s accounts", got)
	}
}

func TestASecondClickJoinsTheFirst(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	path := "/cards/" + s.Issue("500")
	buy := b.form(path, "action", "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311")
	var clicks sync.WaitGroup
	for range 8 {
		clicks.Go(func() {
			if got := b.send(http.MethodPost, path, buy); got.StatusCode != http.StatusOK {
				t.Errorf("answered %d: %s", got.StatusCode, got.text)
			}
		})
	}
	clicks.Wait()
	if got := len(s.Get("/transactions").Data()); got != 1 {
		t.Errorf("%d transactions", got)
	}
}

// What is remembered of forms is bounded.
func TestFormsAreForgotten(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	path := "/cards/" + s.Issue("500")
	buy := b.form(path, "action", "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311")
	b.send(http.MethodPost, path, buy)
	others := b.form("/requests", "action", "forget")
	for i := range 32 {
		others.Set("other", strconv.Itoa(i))
		b.send(http.MethodPost, "/requests", others).has(t, "The requests are forgotten.")
	}
	b.send(http.MethodPost, path, buy).has(t, "Authorized: 40.00 USD")
}

// A press that is given up by a second one is done all the same, once, and the second
// one waits for it.
func TestAPressThatWasGivenUp(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	path := "/cards/" + s.Issue("500")
	buy := b.form(path, "action", "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311")
	file := must(sql.Open("sqlite", s.Path))
	defer func() { _ = file.Close() }()
	file.SetMaxOpenConns(1)
	must(file.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE")) // nothing is written meanwhile
	ctx, giveUp := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer giveUp()
	first := must(http.NewRequestWithContext(ctx, http.MethodPost, b.root+path, strings.NewReader(buy.Encode())))
	first.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {b.root}}
	if response, err := b.client.Do(first); err == nil {
		_ = response.Body.Close()
		t.Fatalf("answered %d", response.StatusCode)
	}
	second := make(chan seen, 1)
	go func() { second <- b.send(http.MethodPost, path, buy) }()
	select {
	case got := <-second:
		t.Fatalf("answered %d while nothing can be written", got.StatusCode)
	case <-time.After(200 * time.Millisecond):
	}
	must(file.ExecContext(t.Context(), "ROLLBACK"))
	if got := (<-second).has(t, "460.00"); got.StatusCode != http.StatusOK {
		t.Errorf("answered %d", got.StatusCode)
	}
	if got := len(s.Get("/transactions").Data()); got != 1 {
		t.Errorf("%d transactions", got)
	}
}

// What the first press has done is said to who only sees the response to the second,
// on the very part of the page.
func TestTheFirstNoticeStays(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	path := "/cards/" + s.Issue("500") + "?page=1"
	buy := b.form(path, "action", "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311")
	follow := b.client.CheckRedirect
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.send(http.MethodPost, path, buy)
	b.client.CheckRedirect = follow
	if got := b.send(http.MethodPost, path, buy).has(t, "Authorized: 40.00 USD").lacks(t, "not done again"); got.Request.URL.RequestURI() != path {
		t.Errorf("it led to %s", got.Request.URL)
	}
}

// An account that is made after a reset is another one than those before it.
func TestASessionIsOfOneAccountOnly(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard, sandboxtest.Stopped(day(1)))
	account := func() string {
		return s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":7}`).OK(201).Text("api_key")
	}
	b, posting := newBrowser(t, s).logIn(account()), newBrowser(t, s).logIn(account())
	advance := posting.form("/world", "action", "advance", "advance", "720h")
	before := s.Post("/_sandbox/reset", nil).OK(200).Text("now")
	account()
	b.get("/").has(t, "<h1>Log in</h1>").lacks(t, "7.00")
	posting.send(http.MethodPost, "/world", advance).has(t, "<h1>Log in</h1>")
	if now := s.Get("/_sandbox/clock").Text("now"); now != before {
		t.Errorf("it was %s, and is %s", before, now)
	}
}

// Somebody who logs in again and again logs only the own account out.
func TestAccountsHaveTheirOwnSessions(t *testing.T) {
	t.Parallel()
	s, first := start(t)
	key := s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key")
	other := newBrowser(t, s).logIn(key)
	for range 100 {
		newBrowser(t, s).logIn(key)
	}
	other.get("/").has(t, "<h1>Log in</h1>")
	first.get("/").has(t, "<h1>Overview</h1>")
}

// form is a form of a page, which can be sent more than once.
func (b *browser) form(path string, fields ...string) url.Values {
	b.t.Helper()
	form := url.Values{"token": {tokenField.FindStringSubmatch(b.get(path).text)[1]}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}
