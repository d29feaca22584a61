package dashboard_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/dashboard"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

// The response depends on the session, the site that sends the request, and the host name. Pages have headers that make
// browsers isolate them from other sites.
func TestRequestsAreGuarded(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100", `"label":"hidden"`)
	page := "/cards/" + card
	owner := b.client.Jar
	apiClient := http.Header{"Authorization": {"Bearer " + s.Key}, "Origin": {""}}
	expand := strings.NewReplacer("PAGE", page, "ESCAPED", url.QueryEscape(page), "KEY", s.Key).Replace
	for _, cells := range sandboxtest.Table(t, "testdata/guarded.txt", 7) {
		name := cells[0]
		loggedIn := cells[1] == "owner"
		wantText := expand(cells[6]) // in the text or the Location
		method, path, _ := strings.Cut(expand(cells[2]), " ")
		b := newBrowser(t, s)
		if cells[3] == "client" {
			b.header = apiClient
		} else {
			for header := range strings.FieldsSeq(cells[3]) {
				key, value, _ := strings.Cut(header, "=")
				b.header.Set(key, value)
			}
		}
		if loggedIn {
			b.client.Jar = owner
		}
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		got := b.send(method, path, sandboxtest.Must(url.ParseQuery(expand(cells[4])))).lacks("hidden</a>", "<h1>hidden")
		sandboxtest.Equal(t, name+": the status", fmt.Sprint(got.StatusCode), cells[5])
		if !strings.Contains(got.text+got.Header.Get("Location"), wantText) {
			t.Errorf("%s: lacks %q: %s", name, wantText, got.text)
		}
		wantJSON := strings.HasPrefix(wantText, "{")
		isJSON := strings.HasPrefix(got.text, "{") && got.Header.Get("Content-Type") == "application/json"
		sandboxtest.Equal(t, name+": is a response of the API", isJSON, wantJSON)
		if wantJSON {
			continue
		}
		isPage := strings.Contains(got.text, "<main")
		if isPage {
			navigation := strings.Contains(got.text, `aria-label="Pages"`) && strings.Contains(got.text, "Log out")
			sandboxtest.Equal(t, name+": has the navigation", navigation, loggedIn)
		}
		policy := got.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			sandboxtest.Equal(t, name+": the policy has "+part, strings.Contains(policy, part), true)
		}
		sandboxtest.Equal(t, name+": the policy contains unsafe", strings.Contains(policy, "unsafe"), false)
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			sandboxtest.Equal(t, name+": "+header, got.Header.Get(header), want)
		}
	}
	sandboxtest.Equal(t, "the card", s.Get("/cards/"+card).Text("status"), "active")
	b.header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {}} // one of the two headers is enough
	b.send(http.MethodPost, page, url.Values{"action": {"freeze"}}).has("The card is frozen.")
}

// A login leads to the requested page, if that is on this server. The name of its cookie has the port, and browsers do
// not send the cookie from other sites.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	host := strings.TrimPrefix(s.Root(), "http://")
	wanted := map[string]string{"/cards?q=hidden": "/cards?q=hidden", "": "/"}
	for _, next := range []string{
		"https://evil.example/", "//evil.example", `/\evil.example`, "/a/..//evil.example", "javascript:alert(1)", "/api/v1/cards", "\x00",
		"/%2Fevil.example", "/%2F", "/%2f%2fevil.example", "/%5Cevil.example", "/\t/evil.example", "/.%2e//evil.example", "///evil.example", "cards",
	} {
		wanted[next] = "/"
	}
	for next, want := range wanted {
		got := newBrowser(t, s).post("/login?next=%2F3ds", "", "key", " "+s.Key+" ", "next", next).Request.URL
		if next == "" {
			want = "/3ds"
		}
		sandboxtest.Equal(t, next, got.Host+got.RequestURI(), host+want)
	}
	b := newBrowser(t, s)
	b.post("/login", "", "key", s.Key+"x").is(403).has("No account has this API key").lacks(s.Key)
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cookies := b.post("/login", "", "key", s.Key).Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Name != "vcard_dashboard_"+host[strings.Index(host, ":")+1:] {
		t.Errorf("the cookies are %v", cookies)
	}
}

// The login link works once. A prefetch or another token does not use it up.
func TestLinkWorksOnce(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	path := strings.TrimPrefix(s.Link, s.Root())
	prefetching := newBrowser(t, s)
	prefetching.send(http.MethodHead, path, nil)
	for name, value := range map[string]string{"Sec-Purpose": "prefetch", "Purpose": "prefetch", "X-Purpose": "preview"} {
		prefetching.header = http.Header{name: {value}}
		prefetching.get(path)
	}
	newBrowser(t, s).get("/login?token=" + strings.Repeat("A", 26)).has("expired or was already used")
	b := newBrowser(t, s)
	b.get(path).has("Logged in")
	b.get("/").has("<h1>Overview</h1>")
	late := newBrowser(t, s)
	late.get(path).is(403).has("already used")
	late.get("/").has("<h1>Log in</h1>")
}

// The paths of assets contain a hash of their content, so that browsers may cache them.
func TestAssetsAreCached(t *testing.T) {
	t.Parallel()
	_, b := start(t)
	page := b.get("/")
	for _, extension := range []string{"css", "js", "svg"} {
		path := page.find(`/assets/[0-9a-f]{16}\.\w+\.` + extension)
		got := b.get(path).is(200)
		if !strings.Contains(got.Header.Get("Cache-Control"), "immutable") || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has the headers %v", path, got.Header)
		}
		for _, other := range []string{strings.Replace(path, "/assets/", "/assets/0", 1), "/assets/dashboard.css", "/assets/", "/assets/../templates/card.html"} {
			missing := b.get(other).is(404)
			if strings.Contains(missing.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("browsers may cache %s", other)
			}
		}
	}
}

// If a table of the file is missing, each page either shows the same rows as before or an error. A form that fails on a
// damaged file shows an error too.
func TestLostTables(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	s.Post("/webhooks", `{"url":"https://127.0.0.1:1","events":["card.created"]}`).OK(http.StatusCreated)
	card := s.Issue("100")
	settled := s.Settle(s.Authorize(card, "10", "7311").Transaction(), "").Transaction()
	s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Ads", "amount": 5}).OK(201)
	s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201)
	var delivery string
	sandboxtest.Eventually(t, func() bool { // after the first attempt, no other one follows while the clock is stopped
		first := s.Get("/_sandbox/deliveries").Data()[0]
		delivery, _ = first["id"].(string)
		return len(first["tries"].([]any)) > 0
	})
	s.Get("/_sandbox/requests").OK(200) // writes the recorded requests to the file
	pages := []string{"/webhooks/" + delivery, "/", "/cards", "/cards/" + card, "/transactions", "/transactions/" + settled, "/3ds", "/deposits", "/webhooks", "/ledger", "/world", "/requests", "/runs/1"}
	rows := func() (counts []string) {
		for _, page := range pages {
			seen := b.get(page)
			counts = append(counts, fmt.Sprint(seen.StatusCode, " with ", strings.Count(seen.text, "<tr"), " rows"))
		}
		return counts
	}
	sound := rows()
	run := execute(t, s)
	run("PRAGMA legacy_alter_table = ON")
	type damage struct{ name, do, undo string } // do and undo are SQL statements
	damages := []damage{{"the facts of declines", "UPDATE transactions SET decline_facts = 'x'", "UPDATE transactions SET decline_facts = ''"}}
	for _, table := range []string{
		"accounts", "cards", "challenges", "deliveries", "delivery_tries", "deposits", "events",
		"faults", "ledger_accounts", "ledger_entries", "ledger_postings", "request_log", "runs", "settings", "status_changes", "transactions", "webhooks",
	} {
		damages = append(damages, damage{table, "ALTER TABLE " + table + " RENAME TO lost", "ALTER TABLE lost RENAME TO " + table})
	}
	for _, test := range damages {
		run(test.do)
		failed := 0
		for i, got := range rows() {
			if strings.HasPrefix(got, fmt.Sprint(http.StatusInternalServerError)) {
				failed++
			} else if got != sound[i] {
				t.Errorf("without %s: %s has the status %s, want %s", test.name, pages[i], got, sound[i])
			}
		}
		if failed == 0 {
			t.Errorf("no page needs %s", test.name)
		}
		run(test.undo)
	}
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for page, test := range map[string]damage{ // the name is that of the form's action
		"/cards/" + card: {"details", "INSERT INTO settings VALUES ('limits', 'x')", "DELETE FROM settings"},
		"/requests":      {"forget", "ALTER TABLE request_log RENAME path TO gone", "ALTER TABLE request_log RENAME gone TO path"},
	} {
		form := b.form(page, "action", test.name)
		run(test.do)
		s.Get("/bins") // a request to record
		b.send(http.MethodPost, page, form)
		run(test.undo)
		b.get(page).is(http.StatusInternalServerError)
	}
	s.Balanced()
}

// A panic is logged without its value, which may be a secret. The panic with which a handler breaks off a connection is
// passed on.
func TestPanicOfAHandler(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := sandboxtest.Must(dashboard.New(dashboard.Options{
		Server:  &server.Server{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		Address: "http://127.0.0.1",
		Now:     time.Now,
		Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/drop" {
				panic(http.ErrAbortHandler)
			}
			panic("whsec_0815")
		}),
	}))
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/bins", nil))
	sandboxtest.Equal(t, "the status", w.Code, http.StatusInternalServerError)
	if strings.Contains(w.Body.String()+log.String(), "0815") {
		t.Errorf("the response or the log has the value of the panic: %s\n%s", w.Body, &log)
	}
	if !strings.Contains(log.String(), "security_test.go") {
		t.Errorf("the log lacks the stack: %s", &log)
	}
	defer func() {
		err, _ := recover().(error)
		if !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("the panic is %v, want http.ErrAbortHandler", err)
		}
	}()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/drop", nil))
}
