package dashboard_test

import (
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// browser speaks to the dashboard as a browser does, without showing anything.
type browser struct {
	t      testing.TB
	client *http.Client
	root   string
	header http.Header // of each request, beside a browser's own
}

func newBrowser(t testing.TB, s *sandboxtest.Server) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, client: &http.Client{Jar: jar, Transport: s.Transport}, root: s.Root(), header: http.Header{}}
}

// seen is a page as it was answered.
type seen struct {
	*http.Response

	text string
}

func (b *browser) send(method, path string, form url.Values) seen {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.root+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", b.root)
	}
	maps.Copy(request.Header, b.header)
	if host := b.header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return seen{response, string(text)}
}

func (b *browser) get(path string) seen { b.t.Helper(); return b.send(http.MethodGet, path, nil) }

var tokenField = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`)

// post sends a form of a page, with the token that the page has.
func (b *browser) post(path, action string, fields ...string) seen {
	b.t.Helper()
	page := b.get(path)
	token := tokenField.FindStringSubmatch(page.text)
	if token == nil {
		b.t.Fatalf("%s has no form: %d %s", path, page.StatusCode, page.text)
	}
	form := url.Values{"token": {token[1]}, "action": {action}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.send(http.MethodPost, path, form)
}

// logIn opens the overview of an account.
func (b *browser) logIn(key string) *browser {
	b.t.Helper()
	if page := b.post("/login", "", "key", key); page.StatusCode != http.StatusOK || page.Request.URL.Path != "/" {
		b.t.Fatalf("logging in ended at %s: %d %s", page.Request.URL, page.StatusCode, page.text)
	}
	return b
}

// start serves a sandbox and logs in to its first account.
func start(t testing.TB, options ...func(*sandboxtest.Options)) (*sandboxtest.Server, *browser) {
	t.Helper()
	s := sandboxtest.Start(t, append(options, sandboxtest.WithDashboard)...)
	return s, newBrowser(t, s).logIn(s.Key)
}

func (p seen) has(t testing.TB, texts ...string) seen {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			t.Errorf("%s (%d) lacks %q:\n%s", p.Request.URL, p.StatusCode, text, p.text)
		}
	}
	return p
}

func (p seen) lacks(t testing.TB, texts ...string) seen {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(p.text, text) {
			t.Errorf("%s has %q:\n%s", p.Request.URL, text, p.text)
		}
	}
	return p
}

// The life of a card, by forms alone.
func TestStoryOfACard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/cards").has(t, "There is no card yet")
	card := s.Issue("100", `"label":"summer"`)
	page := "/cards/" + card
	b.get("/cards?q=umm").has(t, "summer", "100.00")
	b.get("/cards?q=winter").has(t, "No cards match")
	b.post(page, "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311").has(t, "Authorized: 40.00 USD", "60.00", `href="/cards" aria-current="page"`)
	authorization := s.Get("/transactions").Data()[0]["id"].(string)
	b.post(page, "settle", "transaction_id", authorization, "amount", "38.50").has(t, "is settled", "61.50")
	settlement := s.Get("/transactions").Data()[0]["id"].(string)
	b.post(page, "refund", "transaction_id", settlement, "amount", "10").has(t, "71.50")
	b.post(page, "buy", "amount", "1000", "merchant", "Example Ads", "mcc", "7311").has(t, `<p class="notice problem" role="status">Declined: insufficient funds.`)
	b.post(page, "challenge", "amount", "5", "merchant", "Example Ads").has(t, "3D Secure pending")
	b.post(page, "freeze").has(t, `class="badge frozen"`, "unfreeze")
	b.post(page, "unfreeze").has(t, `class="badge unfrozen"`)
	b.post(page, "terminate").has(t, "71.50 USD returned", `class="badge terminated"`).lacks(t, `value="buy"`)
	if got := s.Get("/cards/" + card).Text("status"); got != "terminated" {
		t.Errorf("the card is %s", got)
	}
	b.get("/").has(t, "9,970.50", "38.50", "summer")
	s.Balanced()
}

// A refused form says why, and keeps what was typed.
func TestRefusedForm(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	page := "/cards/" + s.Issue("100")
	refused := b.post(page, "buy", "amount", "4,50", "merchant", "Corner Shop", "mcc", "73")
	if refused.StatusCode != http.StatusBadRequest {
		t.Errorf("answered %d", refused.StatusCode)
	}
	refused.has(t, "Amount must be a number.", `value="4,50"`, `value="Corner Shop"`)
	if n := strings.Count(refused.text, `value="4,50"`); n != 1 {
		t.Errorf("%d forms have what was typed into one", n)
	}
	b.post(page, "buy", "amount", "-1", "merchant", "Corner Shop", "mcc", "7311").has(t, "Amount must be above 0.")
	if n := len(s.Get("/transactions").Data()); n != 0 {
		t.Errorf("%d transactions", n)
	}
	card := strings.TrimPrefix(page, "/cards/")
	first, second := s.Authorize(card, "10", "7311").Transaction(), s.Authorize(card, "20", "7311").Transaction()
	again := b.post(page, "settle", "transaction_id", first, "amount", "1,5").has(t, "Amount must be a number.", `value="1,5"`, `value="20.00"`)
	if !regexp.MustCompile(`id="`+first+`".*?<details class="confirm" open>`).MatchString(again.text) || strings.Count(again.text, `"confirm" open`) != 1 {
		t.Errorf("the refused form of %s, not of %s, is to be open: %s", first, second, again.text)
	}
}

// The number and the code are in no page but the response to the press for them,
// which counts against the limit of details, and is in no request log.
func TestDetailsOnlyWhenPressed(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Put("/_sandbox/limits", `{"details_per_minute":2}`).OK(200)
	card := s.Issue("100")
	details := s.Get("/cards/" + card + "/details").OK(200)
	pan, page := details.Text("pan"), "/cards/"+card
	grouped := fmt.Sprint(pan[:4], " ", pan[4:8], " ", pan[8:12], " ", pan[12:])
	b.get(page).lacks(t, pan, grouped)
	const goes = `<meta http-equiv="refresh" content="60">` // the number, with a page that is left alone
	b.get(page).lacks(t, goes)
	shown := b.post(page, "details").has(t, grouped, details.Text("cvv"), goes)
	if got := shown.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	b.get(page).lacks(t, grouped)
	if refused := b.post(page, "details").lacks(t, grouped); refused.StatusCode != http.StatusTooManyRequests {
		t.Errorf("answered %d", refused.StatusCode)
	}
	if used := s.Get("/_sandbox/limits/used").OK(200).Text("details_per_minute"); used != "2" {
		t.Errorf("%s details used", used)
	}
	if got := s.Get("/_sandbox/requests").OK(200); len(got.Data()) != 2 {
		t.Errorf("the request log is %s", got.Raw)
	}
}

// The page that shows the number reads it anew when it is loaded again: no session
// keeps it.
func TestDetailsAreNotKept(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	page := "/cards/" + s.Issue("100")
	details := b.form(page, "action", "details")
	for range 2 {
		b.send(http.MethodPost, page, details).has(t, "<dt>Number</dt>")
	}
	if used := s.Get("/_sandbox/limits/used").OK(200).Text("details_per_minute"); used != "2" {
		t.Errorf("%s details used", used)
	}
}

// What was done is said on the page that follows, and not to one that only looks
// for news.
func TestNoticeIsSaidOnce(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	page := "/cards/" + s.Issue("100")
	token := tokenField.FindStringSubmatch(b.get(page).text)[1]
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if done := b.send(http.MethodPost, page, url.Values{"token": {token}, "action": {"freeze"}}); done.StatusCode != http.StatusSeeOther || done.Header.Get("Location") != page {
		t.Errorf("answered %d, to %s", done.StatusCode, done.Header.Get("Location"))
	}
	b.header = http.Header{"X-Dashboard-Live": {"1"}}
	b.get(page).lacks(t, "The card is frozen.")
	b.header = http.Header{}
	b.get(page).has(t, "The card is frozen.")
	b.get(page).lacks(t, "The card is frozen.")
}

// An account that is not ready may look around, and do nothing that its API would refuse.
func TestAccountIsNotReady(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	file, err := sql.Open("sqlite", s.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.ExecContext(t.Context(), `PRAGMA busy_timeout = 3000; UPDATE accounts SET state = 'api_not_enabled'`); err != nil {
		t.Fatal(err)
	}
	b.get("/").has(t, "refuses this account", "api not enabled")
	for _, action := range []string{"freeze", "details"} {
		if refused := b.post("/cards/"+card, action).has(t, "not switched on", `class="badge active"`); refused.StatusCode != http.StatusForbidden {
			t.Errorf("%s was answered %d", action, refused.StatusCode)
		}
	}
}

// What the page reads counts for nothing.
func TestReadsDoNotCount(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	for range 5 {
		b.get("/").has(t, "<h1>Overview</h1>")
		b.get("/cards")
	}
	if used := s.Get("/_sandbox/limits/used").OK(200).Text("requests_per_minute"); used != "0" {
		t.Errorf("%s requests used", used)
	}
	if got := s.Get("/_sandbox/requests").OK(200); len(got.Data()) != 0 {
		t.Errorf("the request log is %s", got.Raw)
	}
}

// An account sees and changes nothing of another one.
func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	card := s.Issue("100", `"label":"only mine"`)
	key := s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":7}`).OK(201).Text("api_key")
	other := newBrowser(t, s).logIn(key)
	other.get("/").has(t, "7.00").lacks(t, "only mine")
	other.get("/cards").lacks(t, "only mine")
	if got := other.get("/cards/"+card).lacks(t, "only mine"); got.StatusCode != http.StatusNotFound {
		t.Errorf("answered %d", got.StatusCode)
	}
}

// The end of a card gives its balance back; what merchants were promised stays theirs.
func TestHeldOnATerminatedCard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	s.Authorize(card, "40", "7311").OK(201)
	s.Terminate(card)
	const held = `<dt>Held by authorizations</dt><dd>40.00 `
	b.get("/").has(t, held)
	b.get("/cards/"+card).has(t, held, "Settle…")
}

// A bar is a part of its whole, seen as soon as there is any of it, and never more.
func TestBars(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	for range 3 {
		s.Get("/cards/" + card + "/details").OK(200)
	}
	for limit, want := range map[string]string{
		"1000": `3 of 1,000</td><td class="share"><svg class="bar" [^>]*><rect [^>]*><rect class="part" width="1"`,
		"4":    `3 of 4</td><td class="share"><svg class="bar" [^>]*><rect [^>]*><rect class="part" width="75"`,
		"3":    `3 of 3</td><td class="share"><svg class="bar full" [^>]*><rect [^>]*><rect class="part" width="100"`,
		"2":    `3 of 2</td><td class="share"><svg class="bar full" [^>]*><rect [^>]*><rect class="part" width="100"`,
		"0":    `no limit</td><td class="share"><svg class="bar" [^>]*><rect [^>]*><rect class="part" width="0"`,
	} {
		s.Put("/_sandbox/limits", `{"details_per_minute":`+limit+`}`).OK(200)
		if page := b.get("/"); !regexp.MustCompile(`Details read, last minute</th><td class="number">` + want).MatchString(page.text) {
			t.Errorf("of %s, the page lacks %s:\n%s", limit, want, page.text)
		}
	}
	if page := b.get("/cards/" + card); !strings.Contains(page.text, `<rect class="part" width="0"`) {
		t.Errorf("there is a bar of nothing:\n%s", page.text)
	}
}
