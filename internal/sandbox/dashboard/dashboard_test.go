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

// browser speaks to the dashboard as a browser does, without showing anything.
type browser struct {
	t      testing.TB
	client *http.Client
	root   string
	header http.Header // of each request, beside a browser's own
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
	return seen{response, b.t, string(sandboxtest.Must(io.ReadAll(response.Body)))}
}

func (b *browser) get(path string) seen { b.t.Helper(); return b.send(http.MethodGet, path, nil) }

var pageField = regexp.MustCompile(`name="page" value="([A-Z2-7]+)"`)

// form is a form of a page, which can be sent more than once.
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

// post presses a button of a page.
func (b *browser) post(path, action string, fields ...string) seen {
	b.t.Helper()
	return b.send(http.MethodPost, path, b.form(path, append([]string{"action", action}, fields...)...))
}

// logIn opens the overview of an account.
func (b *browser) logIn(key string) *browser {
	b.t.Helper()
	if page := b.post("/login", "", "key", key); page.StatusCode != http.StatusOK || page.Request.URL.Path != "/" {
		b.t.Fatalf("logging in ended at %s: %d %s", page.Request.URL, page.StatusCode, page.text)
	}
	return b
}

// seen is a page as it was answered.
type seen struct {
	*http.Response

	t    testing.TB
	text string
}

func (p seen) is(status int) seen {
	p.t.Helper()
	if p.StatusCode != status {
		p.t.Errorf("%s %s was answered %d, want %d: %s", p.Request.Method, p.Request.URL, p.StatusCode, status, p.text)
	}
	return p
}

func (p seen) has(texts ...string) seen {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			p.t.Errorf("%s (%d) lacks %q:\n%s", p.Request.URL, p.StatusCode, text, p.text)
		}
	}
	return p
}

func (p seen) lacks(texts ...string) seen {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.text, text) {
			p.t.Errorf("%s has %q:\n%s", p.Request.URL, text, p.text)
		}
	}
	return p
}

func (p seen) matches(pattern string) seen {
	p.t.Helper()
	if !regexp.MustCompile(pattern).MatchString(p.text) {
		p.t.Errorf("%s does not match %s:\n%s", p.Request.URL, pattern, p.text)
	}
	return p
}

// find is the first match of a pattern, or of its group.
func (p seen) find(pattern string) string {
	found := append(regexp.MustCompile(pattern).FindStringSubmatch(p.text), "")
	return html.UnescapeString(found[max(0, len(found)-2)])
}

// counts fails the test unless the page has a text so many times.
func (p seen) counts(text string, want int) seen {
	p.t.Helper()
	sandboxtest.Equal(p.t, p.Request.URL.Path+": "+text, strings.Count(p.text, text), want)
	return p
}

// newKey is the key of a second account of the file.
func newKey(s *sandboxtest.Server, fields string) string {
	s.T.Helper()
	return s.Post("/_sandbox/accounts", `{"state":"ready"`+fields+`}`).OK(201).Text("api_key")
}

// execute runs statements on the file of a sandbox, until close.
func execute(t testing.TB, s *sandboxtest.Server) (run func(string)) {
	t.Helper()
	db := sandboxtest.Must(sql.Open("sqlite", s.Path))
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	run = func(statements string) { sandboxtest.Must(db.ExecContext(t.Context(), statements)) }
	run("PRAGMA busy_timeout = 10000")
	return run
}

// day is noon of a day of March 2026.
func day(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }

// wall is a clock on the wall that a test moves.
type wall struct{ passed atomic.Int64 }

func (w *wall) now() time.Time           { return day(1).Add(time.Duration(w.passed.Load())) }
func (w *wall) advance(by time.Duration) { w.passed.Add(int64(by)) }
