package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"testing"

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
	if got := len(s.Get("/transactions").Data()); got != 3 {
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

// An account that is made after a reset is another one than those before it.
func TestASessionIsOfOneAccountOnly(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	account := func() string {
		return s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":7}`).OK(201).Text("api_key")
	}
	b := newBrowser(t, s).logIn(account())
	s.Post("/_sandbox/reset", nil).OK(200)
	account()
	b.get("/").has(t, "<h1>Log in</h1>").lacks(t, "7.00")
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
