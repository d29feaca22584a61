package dashboard_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestPagesWantALogin(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100", `"label":"hidden"`)
	b := newBrowser(t, s)
	for _, path := range []string{"/", "/cards", "/cards/" + card, "/cards?q=hidden"} {
		page := b.get(path).lacks(t, "hidden</a>", "<h1>hidden")
		if page.Request.URL.Path != "/login" || page.Request.URL.Query().Get("next") != path {
			t.Errorf("%s led to %s", path, page.Request.URL)
		}
	}
	b.get("/live").has(t, "event: ended").lacks(t, "now")
	if refused := b.post("/login", "", "key", s.Key+"x"); refused.StatusCode != http.StatusForbidden {
		t.Errorf("another key was answered %d", refused.StatusCode)
	} else {
		refused.has(t, "No account has this API key").lacks(t, s.Key)
	}
	if got := b.post("/login?next=%2Fcards", "", "key", " "+s.Key+" ", "next", "/cards?q=hidden").Request.URL.RequestURI(); got != "/cards?q=hidden" {
		t.Errorf("the login led to %s", got)
	}
	b.get("/login").has(t, "<h1>Overview</h1>")
}

// Keys are not tried by the thousands, and who has the right one is not kept out for long.
func TestFailedLoginsAreSlow(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	var browsers []*browser
	for range 20 {
		b := newBrowser(t, s)
		b.get("/login")
		browsers = append(browsers, b)
	}
	began := time.Now()
	var (
		running sync.WaitGroup
		told    atomic.Int32
	)
	for _, b := range browsers {
		running.Go(func() {
			if b.post("/login", "", "key", s.Key+"x").StatusCode == http.StatusTooManyRequests {
				told.Add(1)
			}
		})
	}
	running.Wait()
	if took := time.Since(began); took < time.Second || told.Load() == 0 {
		t.Errorf("20 wrong keys took %s, %d were told to wait", took, told.Load())
	}
	browsers[0].post("/login", "", "key", s.Key).has(t, "<h1>Overview</h1>")
}

// Somebody who opens the page to log in twice may use either.
func TestTwoPagesToLogIn(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	b := newBrowser(t, s)
	first := b.form("/login", "key", s.Key)
	b.get("/login")
	b.send(http.MethodPost, "/login", first).has(t, "<h1>Overview</h1>")
}

func TestLoginLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	for _, next := range []string{
		"https://evil.example/", "//evil.example", `/\evil.example`, "/a/..//evil.example", "javascript:alert(1)", "/api/v1/cards", "\x00",
		"/%2Fevil.example", "/%2F", "/%2f%2fevil.example", "/%5Cevil.example", "/\t/evil.example", "/.%2e//evil.example", "///evil.example", "cards",
	} {
		b := newBrowser(t, s)
		if got := b.post("/login", "", "key", s.Key, "next", next).Request.URL; got.Path != "/" || got.Host != strings.TrimPrefix(s.Root(), "http://") {
			t.Errorf("%q led to %s", next, got)
		}
	}
}

func TestLinkWorksOnce(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	path := strings.TrimPrefix(s.Link, s.Root())
	ahead := newBrowser(t, s)
	ahead.send(http.MethodHead, path, nil)
	for name, value := range map[string]string{"Sec-Purpose": "prefetch", "Purpose": "prefetch", "X-Purpose": "preview"} {
		ahead.header = http.Header{name: {value}}
		ahead.get(path)
	}
	newBrowser(t, s).get("/login?token="+strings.Repeat("A", 26)).has(t, "used before, or is too old")
	b := newBrowser(t, s)
	b.get(path).has(t, "Logged in")
	b.get("/").has(t, "<h1>Overview</h1>")
	late := newBrowser(t, s)
	if again := late.get(path).has(t, "used before"); again.StatusCode != http.StatusForbidden {
		t.Errorf("again was answered %d", again.StatusCode)
	}
	late.get("/").has(t, "<h1>Log in</h1>")
}

// wall is a clock on the wall that a test moves.
type wall struct {
	mu sync.Mutex
	at time.Time
}

func (w *wall) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *wall) advance(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(by)
}

// A page that is open is told of every change, and of the time alone.
func TestLive(t *testing.T) {
	t.Parallel()
	clock := &wall{at: day(1)}
	s, b := start(t, func(o *sandboxtest.Options) { o.Clock = clock.now })
	request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, b.root+"/live", nil))
	response := must(b.client.Do(request))
	defer func() { _ = response.Body.Close() }()
	events := bufio.NewScanner(response.Body)
	version := func() string {
		for events.Scan() {
			if strings.Contains(events.Text(), `"now":"2026-03-01T12:0`) {
				return regexp.MustCompile(`"version":"[^"]+"`).FindString(events.Text())
			}
		}
		return ""
	}
	first := version()
	s.Issue("100")
	second := version()
	clock.advance(10 * time.Second)
	if third := version(); first == "" || first == second || second == third {
		t.Errorf("the versions are %s, %s and %s", first, second, third)
	}
	clock.advance(13 * time.Hour)
	for events.Scan() && events.Text() != "event: ended" {
		if events.Err() != nil {
			t.Error(events.Err())
		}
	}
}

func TestLogInsEnd(t *testing.T) {
	t.Parallel()
	clock := &wall{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s, b := start(t, func(o *sandboxtest.Options) { o.Clock = clock.now })
	clock.advance(16 * time.Minute)
	newBrowser(t, s).get(strings.TrimPrefix(s.Link, s.Root())).has(t, "is too old")
	s.Advance("720h") // the service's own time is no reason to log anybody out
	b.get("/").has(t, "<h1>Overview</h1>", "2026-03-31")
	clock.advance(12 * time.Hour)
	b.get("/").has(t, "<h1>Log in</h1>")

	b.logIn(s.Key)
	root, jar := must(url.Parse(s.Root())), b.client.Jar
	replaced := jar.Cookies(root)
	b.send(http.MethodPost, "/login", b.form("/", "key", s.Key)).has(t, "<h1>Overview</h1>")
	cookies := jar.Cookies(root)
	b.send(http.MethodPost, "/logout", nil)
	b.get("/").has(t, "<h1>Overview</h1>")
	b.send(http.MethodPost, "/logout", b.form("/"))
	b.get("/").has(t, "<h1>Log in</h1>")
	if jar.Cookies(root)[0].Value == cookies[0].Value {
		t.Error("the cookie is still there")
	}
	for _, ended := range [][]*http.Cookie{replaced, cookies} {
		jar.SetCookies(root, ended)
		b.get("/").has(t, "<h1>Log in</h1>")
	}

	key := s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key")
	other := newBrowser(t, s).logIn(key)
	s.Post("/_sandbox/reset", nil).OK(200)
	other.get("/").has(t, "<h1>Log in</h1>")
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestForeignRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	page := "/cards/" + card
	token := tokenField.FindStringSubmatch(b.get(page).text)[1]
	freeze := url.Values{"action": {"freeze"}, "token": {token}}
	for name, c := range map[string]struct {
		header http.Header
		form   url.Values
		status int
	}{
		"foreign host":      {http.Header{"Host": {"evil.example"}}, freeze, 403},
		"foreign origin":    {http.Header{"Origin": {"http://evil.example"}}, freeze, 403},
		"another port":      {http.Header{"Origin": {"http://127.0.0.1:1"}}, freeze, 403},
		"null origin":       {http.Header{"Origin": {"null"}}, freeze, 403},
		"no origin":         {http.Header{"Origin": {}}, freeze, 403},
		"another site":      {http.Header{"Sec-Fetch-Site": {"same-site"}}, freeze, 403},
		"no token":          {nil, url.Values{"action": {"freeze"}}, 403},
		"a made-up token":   {nil, url.Values{"action": {"freeze"}, "token": {strings.Repeat("0", 64)}}, 403},
		"another's token":   {nil, url.Values{"action": {"freeze"}, "token": {tokenField.FindStringSubmatch(newBrowser(t, s).get("/login").text)[1]}}, 403},
		"another page's":    {nil, url.Values{"action": {"freeze"}, "token": {strings.Repeat("0", 32) + token[32:]}}, 403},
		"no such action":    {nil, url.Values{"action": {"delete"}, "token": {token}}, 400},
		"a larger form":     {nil, url.Values{"action": {"freeze"}, "token": {token}, "x": {strings.Repeat("x", 100_000)}}, 400},
		"token in the path": {nil, url.Values{"action": {"freeze"}}, 403},
	} {
		b.header = c.header
		path := page
		if name == "token in the path" {
			path += "?token=" + token
		}
		if got := b.send(http.MethodPost, path, c.form); got.StatusCode != c.status {
			t.Errorf("%s: answered %d, want %d: %s", name, got.StatusCode, c.status, got.text)
		}
	}
	if got := s.Get("/cards/" + card).Text("status"); got != "active" {
		t.Errorf("the card is %s", got)
	}
	b.header = http.Header{"Host": {"evil.example"}}
	if got := b.get("/"); got.StatusCode != http.StatusForbidden {
		t.Errorf("a page under a foreign name was answered %d", got.StatusCode)
	}
	b.header = http.Header{"Sec-Fetch-Site": {"same-origin"}}
	b.send(http.MethodPost, page, freeze).has(t, "The card is frozen.")
}

// A page acts on what its path names, whatever a form says.
func TestFormsNameNoOtherCard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card, other := s.Issue("100"), s.Issue("100")
	for _, action := range []string{"freeze", "unfreeze", "buy", "challenge", "terminate"} {
		b.post("/cards/"+card, action, "card_id", other, "amount", "5", "merchant", "Example Ads", "mcc", "7311")
	}
	if got := s.Get("/cards/" + card).Text("status"); got != "terminated" {
		t.Errorf("the card is %s", got)
	}
	b.get("/cards/"+other).has(t, `class="badge active"`, "Issued").lacks(t, "Example Ads <small>", `class="badge frozen"`)
}

// Who is not logged in is answered without a form, or after a small one, however
// slowly it is sent.
func TestFormsOfStrangers(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	host := strings.TrimPrefix(s.Root(), "http://")
	var group sync.WaitGroup
	for path, want := range map[string]string{"/cards/x": "303", "/login": "400", "/logout": "400", "/nothing": "404"} {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		_, err = io.WriteString(connection, "POST "+path+" HTTP/1.1\r\nHost: "+host+"\r\nOrigin: http://"+host+
			"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 10000\r\n\r\nkey=a")
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			answered := make([]byte, len("HTTP/1.1 000"))
			err := connection.SetReadDeadline(time.Now().Add(time.Minute))
			if _, failed := io.ReadFull(connection, answered); failed != nil || err != nil || !strings.HasSuffix(string(answered), want) {
				t.Errorf("%s: answered %q, %v", path, answered, errors.Join(err, failed))
			}
		})
	}
	group.Wait()
	b := newBrowser(t, s)
	for _, path := range []string{"/login", "/logout"} {
		large := b.send(http.MethodPost, path, b.form("/login", "key", s.Key, "more", strings.Repeat("x", 10_000)))
		if large.StatusCode != http.StatusBadRequest {
			t.Errorf("a large form to %s was answered %d", path, large.StatusCode)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	_, b := start(t)
	for _, path := range []string{"/", "/cards", "/cards/none", "/login", "/nowhere"} {
		header := b.get(path).Header
		policy := header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s", path, part)
			}
		}
		if strings.Contains(policy, "unsafe") || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "same-origin" ||
			header.Get("X-Frame-Options") != "DENY" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: the headers are %v", path, header)
		}
		if cache := header.Get("Cache-Control"); cache != "no-store" {
			t.Errorf("%s: Cache-Control is %q", path, cache)
		}
	}
	if got := b.send(http.MethodHead, "/", nil); got.StatusCode != http.StatusOK {
		t.Errorf("HEAD was answered %d", got.StatusCode)
	}
}

// The page is served under every address of the machine, and under its own names.
func TestNames(t *testing.T) {
	t.Parallel()
	_, b := start(t)
	for host, status := range map[string]int{
		"localhost": 200, "LocalHost:8420": 200, "192.0.2.1": 200, "[::1]": 200, "[::1]:8420": 200, "localhost.evil.example": 403, "192.0.2.1.evil.example": 403,
	} {
		b.header = http.Header{"Host": {host}}
		if got := b.get("/login"); got.StatusCode != status {
			t.Errorf("%s was answered %d", host, got.StatusCode)
		}
		b.header.Set("Origin", "http://"+host)
		if got := b.send(http.MethodPost, "/logout", nil).Request.Response; (got != nil) != (status == 200) {
			t.Errorf("a form to %s led to %v", host, got)
		}
	}
}

func TestCookieIsStrict(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	cookies := newBrowser(t, s).get("/login").Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Name != "vcard_dashboard_"+must(url.Parse(s.Root())).Port() {
		t.Errorf("the cookies are %v", cookies)
	}
}

// What callers wrote is text on every page, whatever it looks like.
func TestForeignTextStaysText(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	const script = `<script>alert(1)</script>`
	card := s.Issue("100", `"label":"`+script+`"`, `"metadata":{"<img src=x onerror=alert(2)>":"`+script+`"}`)
	page := "/cards/" + card
	b.post(page, "buy", "amount", "5", "merchant", script, "mcc", "7311")
	b.post(page, "challenge", "amount", "5", "merchant", `"><svg onload=alert(3)>`)
	for _, path := range []string{"/", "/cards", "/cards?q=" + url.QueryEscape(`"><script>`), page} {
		b.get(path).lacks(t, "<script>alert", "<img src=x", "<svg onload", `"><script>`)
	}
	b.post(page, "buy", "amount", script, "merchant", script, "mcc", "73").has(t, "&lt;script&gt;").lacks(t, "<script>alert")
}

// Paths of the API and of control calls are answered as without a dashboard.
func TestOtherPathsAreTheAPIs(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	s.Get("/bins").OK(200)
	s.Get("/_sandbox/nothing").Refused(404, "not_found", "")
	s.Get("/api/v2/cards").Refused(404, "not_found", "")
	b := newBrowser(t, s)
	b.get("/%61pi/v1/bins").isJSON(t, 401)
	b.get("/_%73andbox/clock").isJSON(t, 401)
	b.get("/api%2Fv1/bins").isJSON(t, 401)
	b.get("/api/v1/bins/").isJSON(t, 401)
	b.get("/api").isJSON(t, 404)
	b.get("/_sandbox").isJSON(t, 404)
	b.get("/cards/").has(t, "There is no such page.")
	for _, path := range []string{"//", "//evil.example/..", "/cards/../api/v1/cards"} {
		if got := b.get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s was answered %d", path, got.StatusCode)
		}
	}
}

// Whoever sends an API key is a client, which may have lost the prefix of its paths:
// it is told so as a client is, not led to a page that it takes for an answer.
func TestClientsGetNoPages(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	b := newBrowser(t, s)
	b.header.Set("Authorization", "Bearer "+s.Key)
	for _, path := range []string{"/", "/cards", "/login", "/nowhere"} {
		b.get(path).isJSON(t, 404)
		b.header.Set("Origin", "")
		b.send(http.MethodPost, path, nil).isJSON(t, 404)
	}
}

func (p seen) isJSON(t testing.TB, status int) {
	t.Helper()
	if p.StatusCode != status || p.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(p.text, "{") {
		t.Errorf("%s was answered %d %s %q", p.Request.URL, p.StatusCode, p.Header.Get("Content-Type"), p.text)
	}
}

// What pages load has a name of its own content, and is kept.
func TestAssetsAreKept(t *testing.T) {
	t.Parallel()
	_, b := start(t)
	page := b.get("/").text
	for _, extension := range []string{"css", "js", "svg"} {
		path := regexp.MustCompile(`/assets/[0-9a-f]{16}\.\w+\.` + extension).FindString(page)
		got := b.get(path)
		if got.StatusCode != http.StatusOK || !strings.Contains(got.Header.Get("Cache-Control"), "immutable") || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s was answered %d %v", path, got.StatusCode, got.Header)
		}
		for _, other := range []string{strings.Replace(path, "/assets/", "/assets/0", 1), "/assets/dashboard.css", "/assets/", "/assets/../templates/card.html"} {
			if missing := b.get(other); missing.StatusCode != http.StatusNotFound || strings.Contains(missing.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s was answered %d %v", other, missing.StatusCode, missing.Header)
			}
		}
	}
}
