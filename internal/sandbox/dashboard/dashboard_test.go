package dashboard_test

import (
	"database/sql"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// browser sends requests to the dashboard like a browser, with cookies, but does not run scripts.
type browser struct {
	t      testing.TB
	client *http.Client
	root   string
	header http.Header // additional headers of each request
}

func newBrowser(t testing.TB, s *sandboxtest.Server) *browser {
	t.Helper()
	client := &http.Client{Jar: sandboxtest.Must(cookiejar.New(nil)), Transport: s.Transport}
	return &browser{t: t, client: client, root: s.Root(), header: http.Header{}}
}

// start serves a sandbox and logs in to its first account.
func start(t testing.TB, options ...func(*sandboxtest.Options)) (*sandboxtest.Server, *browser) {
	t.Helper()
	s := sandboxtest.Start(t, append(options, sandboxtest.WithDashboard)...)
	return s, newBrowser(t, s).logIn(s.Key)
}

// send sends a form, or a request without one if the form is nil. It returns the response after the redirects.
func (b *browser) send(method, path string, form url.Values) seen {
	b.t.Helper()
	request := sandboxtest.Must(http.NewRequestWithContext(b.t.Context(), method, b.root+path, strings.NewReader(form.Encode())))
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
	return seen{Response: response, t: b.t, text: string(sandboxtest.Must(io.ReadAll(response.Body)))}
}

// get opens a page.
func (b *browser) get(path string) seen {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil)
}

// pageField matches the field that distinguishes the forms of a response from those of other responses.
var pageField = regexp.MustCompile(`name="page" value="([A-Z2-7]+)"`)

// form opens a page and returns its form with the given fields, as names and values. The form can be sent more than
// once.
func (b *browser) form(path string, fields ...string) url.Values {
	b.t.Helper()
	page := b.get(path)
	if !strings.Contains(page.text, `<form method="post"`) {
		b.t.Fatalf("%s has no form: %d %s", path, page.StatusCode, page.text)
	}
	form := url.Values{}
	if id := pageField.FindStringSubmatch(page.text); id != nil {
		form.Set("page", id[1])
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// post opens a page and presses the button of an action, with the given fields.
func (b *browser) post(path, action string, fields ...string) seen {
	b.t.Helper()
	return b.send(http.MethodPost, path, b.form(path, append([]string{"action", action}, fields...)...))
}

// logIn logs in to the account of a key.
func (b *browser) logIn(key string) *browser {
	b.t.Helper()
	const noAction = ""
	page := b.post("/login", noAction, "key", key)
	if page.StatusCode != http.StatusOK || page.Request.URL.Path != "/" {
		b.t.Fatalf("logging in ended at %s: %d %s", page.Request.URL, page.StatusCode, page.text)
	}
	return b
}

// seen is a response of the dashboard.
type seen struct {
	*http.Response

	t    testing.TB
	text string
}

// is fails the test unless the response has a status.
func (p seen) is(status int) seen {
	p.t.Helper()
	if p.StatusCode != status {
		p.t.Errorf("%s %s: status %d, want %d: %s", p.Request.Method, p.Request.URL, p.StatusCode, status, p.text)
	}
	return p
}

// has fails the test unless the page contains all texts.
func (p seen) has(texts ...string) seen {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			p.t.Errorf("%s (%d) lacks %q:\n%s", p.Request.URL, p.StatusCode, text, p.text)
		}
	}
	return p
}

// lacks fails the test if the page contains one of the texts.
func (p seen) lacks(texts ...string) seen {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.text, text) {
			p.t.Errorf("%s has %q:\n%s", p.Request.URL, text, p.text)
		}
	}
	return p
}

// matches fails the test unless a regular expression matches a part of the page.
func (p seen) matches(pattern string) seen {
	p.t.Helper()
	if !regexp.MustCompile(pattern).MatchString(p.text) {
		p.t.Errorf("%s does not match %s:\n%s", p.Request.URL, pattern, p.text)
	}
	return p
}

// find returns the first match of a regular expression, or of its last group if it has one. It returns "" if nothing
// matches.
func (p seen) find(pattern string) string {
	groups := regexp.MustCompile(pattern).FindStringSubmatch(p.text)
	if groups == nil {
		return ""
	}
	return html.UnescapeString(groups[len(groups)-1])
}

// counts fails the test unless the page contains a text the given number of times.
func (p seen) counts(text string, want int) seen {
	p.t.Helper()
	sandboxtest.Equal(p.t, p.Request.URL.Path+": "+text, strings.Count(p.text, text), want)
	return p
}

// newKey creates another account in the state ready and returns its key. The fields are more members of the JSON body,
// starting with a comma, or "".
func newKey(s *sandboxtest.Server, fields string) string {
	s.T.Helper()
	return s.Post("/_sandbox/accounts", `{"state":"ready"`+fields+`}`).OK(201).Text("api_key")
}

// execute opens the file of a sandbox and returns a function that runs SQL statements on it until the test ends.
func execute(t testing.TB, s *sandboxtest.Server) func(statements string) {
	t.Helper()
	db := sandboxtest.Must(sql.Open("sqlite", s.Path))
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	run := func(statements string) { sandboxtest.Must(db.ExecContext(t.Context(), statements)) }
	run("PRAGMA busy_timeout = 10000")
	return run
}

// day returns noon, in UTC, of the nth day of March 2026.
func day(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }

// wall is a real clock that a test moves. It starts at day(1).
type wall struct{ passed atomic.Int64 }

func (w *wall) now() time.Time           { return day(1).Add(time.Duration(w.passed.Load())) }
func (w *wall) advance(by time.Duration) { w.passed.Add(int64(by)) }
