package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Every request is answered by who sends it, from where and to which name; and what is
// answered tells browsers to keep to themselves what is theirs.
func TestRequestsAreGuarded(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100", `"label":"hidden"`)
	page, hosts := "/cards/"+card, func(host string) http.Header { return http.Header{"Host": {host}, "Origin": {"http://" + host}} }
	freeze := func() url.Values { return url.Values{"action": {"freeze"}} }
	large := func(form url.Values, bytes int) url.Values { form.Set("more", strings.Repeat("x", bytes)); return form }
	nobody, owner := newBrowser(t, s), b.client.Jar
	stranger := nobody.form("/login", "key", s.Key)
	client := http.Header{"Authorization": {"Bearer " + s.Key}, "Origin": {""}} // which may have lost the prefix of its paths

	const foreign, refused = "sent from another site", `{"error":`
	for name, c := range map[string]struct {
		jar          http.CookieJar // nil: nobody is logged in
		method, path string
		header       http.Header
		form         url.Values
		status       int
		says         string // { of the API
	}{
		"a page":                    {nil, "GET", "/", nil, nil, 303, "/login?next=%2F"},
		"a list":                    {nil, "GET", "/cards?q=hidden", nil, nil, 303, "/login?next=%2Fcards%3Fq%3Dhidden"},
		"a card":                    {nil, "GET", page, nil, nil, 303, "/login?next=" + url.QueryEscape(page)},
		"a form":                    {nil, "POST", page, nil, freeze(), 303, "/login?next=" + url.QueryEscape(page)},
		"news":                      {nil, "GET", "/live", nil, nil, 200, "event: ended"},
		"no page":                   {nil, "GET", "/nowhere", nil, nil, 404, "There is no such page."},
		"a large form to log in":    {nil, "POST", "/login", nil, large(stranger, 100_000), 400, "could not be read"},
		"a client's page":           {nil, "GET", "/", client, nil, 404, refused},
		"a client's list":           {nil, "GET", "/cards", client, nil, 404, refused},
		"a client's call":           {nil, "POST", "/cards", client, nil, 404, refused},
		"a client's log-in":         {nil, "POST", "/login", client, nil, 404, refused},
		"the API, encoded":          {nil, "GET", "/%61pi/v1/bins", nil, nil, 401, refused},
		"control calls, encoded":    {nil, "GET", "/_%73andbox/clock", nil, nil, 401, refused},
		"an encoded slash":          {nil, "GET", "/api%2Fv1/bins", nil, nil, 401, refused},
		"a slash too many":          {nil, "GET", "/api/v1/bins/", nil, nil, 401, refused},
		"the API's folder":          {nil, "GET", "/api", nil, nil, 404, refused},
		"another API":               {nil, "GET", "/api/v2/cards", client, nil, 404, refused},
		"the control calls'":        {nil, "GET", "/_sandbox", nil, nil, 404, refused},
		"no control call":           {nil, "GET", "/_sandbox/nothing", client, nil, 404, refused},
		"two slashes":               {nil, "GET", "//", nil, nil, 404, refused},
		"a way to another host":     {nil, "GET", "//evil.example/..", nil, nil, 404, refused},
		"a way to the API":          {nil, "GET", "/cards/../api/v1/cards", nil, nil, 404, refused},
		"a name of its own":         {nil, "GET", "/login", hosts("localhost"), nil, 200, "Log in"},
		"a name with a port":        {nil, "POST", "/logout", hosts("LocalHost:8420"), nil, 303, "/login"},
		"an address":                {nil, "POST", "/logout", hosts("192.0.2.1"), nil, 303, "/login"},
		"an IPv6 address":           {nil, "POST", "/logout", hosts("[::1]"), nil, 303, "/login"},
		"one with a port":           {nil, "GET", "/login", hosts("[::1]:8420"), nil, 200, "Log in"},
		"a name that begins well":   {nil, "GET", "/login", hosts("localhost.evil.example"), nil, 403, "not served under this name"},
		"a form to such a name":     {nil, "POST", "/logout", hosts("192.0.2.1.evil.example"), nil, 403, "not served under this name"},
		"a page, logged in":         {owner, "GET", "/", nil, nil, 200, "Overview"},
		"its head":                  {owner, "HEAD", "/", nil, nil, 200, ""},
		"the log-in, logged in":     {owner, "GET", "/login", nil, nil, 303, "/"},
		"no card":                   {owner, "GET", "/cards/none", nil, nil, 404, "There is no card"},
		"no page, logged in":        {owner, "GET", "/nowhere", nil, nil, 404, "There is no such page."},
		"no day":                    {owner, "GET", "/transactions?from=soon", nil, nil, 400, "From must be a date"},
		"no text":                   {owner, "GET", "/transactions?to=%00", nil, nil, 400, `<form class="filter"`},
		"days in disorder":          {owner, "GET", "/transactions?from=2026-03-03&to=2026-03-01", nil, nil, 400, `value="2026-03-03"`},
		"no page, with a slash":     {owner, "GET", "/cards/", nil, nil, 404, "There is no such page."},
		"a page, by a strange name": {owner, "GET", "/", http.Header{"Host": {"evil.example"}}, nil, 403, "not served under this name"},
		"a foreign host":            {owner, "POST", page, http.Header{"Host": {"evil.example"}}, freeze(), 403, "not served under this name"},
		"a foreign origin":          {owner, "POST", page, http.Header{"Origin": {"http://evil.example"}}, freeze(), 403, foreign},
		"another port":              {owner, "POST", page, http.Header{"Origin": {"http://127.0.0.1:1"}}, freeze(), 403, foreign},
		"a null origin":             {owner, "POST", page, http.Header{"Origin": {"null"}}, freeze(), 403, foreign},
		"another site":              {owner, "POST", page, http.Header{"Sec-Fetch-Site": {"same-site"}}, freeze(), 403, foreign},
		"no such action":            {owner, "POST", page, nil, url.Values{"action": {"delete"}}, 400, "no such action"},
		"a large form":              {owner, "POST", page, nil, large(freeze(), 100_000), 400, "could not be read"},
	} {
		b := newBrowser(t, s)
		b.client.Jar, b.header = c.jar, c.header
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if c.jar == nil && c.form != nil {
			b.client.Jar = nobody.client.Jar
		}
		got := b.send(c.method, c.path, c.form).lacks("hidden</a>", "<h1>hidden")
		if equal(t, name, got.StatusCode, c.status); !strings.Contains(got.text+got.Header.Get("Location"), c.says) {
			t.Errorf("%s: lacks %q: %s", name, c.says, got.text)
		}
		isAPI := strings.HasPrefix(c.says, "{")
		if equal(t, name+" is of the API", strings.HasPrefix(got.text, "{") && got.Header.Get("Content-Type") == "application/json", isAPI); isAPI {
			continue
		}
		if isPage := strings.Contains(got.text, "<main"); isPage { // errors have the way to other pages, for who may see them
			equal(t, name+" has the navigation", strings.Contains(got.text, `aria-label="Pages"`) && strings.Contains(got.text, "Log out"), c.jar != nil)
		}
		policy := got.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			equal(t, name+": the policy has "+part, strings.Contains(policy, part), true)
		}
		equal(t, name+": the policy is unsafe", strings.Contains(policy, "unsafe"), false)
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			equal(t, name+": "+header, got.Header.Get(header), want)
		}
	}
	equal(t, "the card", s.Get("/cards/"+card).Text("status"), "active")
	b.header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {}} // either says where it comes from
	b.send(http.MethodPost, page, freeze()).has("The card is frozen.")
}

// A log-in leads to the page that was asked for, on this server; its cookie is of this
// port and for this site alone.
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
		equal(t, next, got.Host+got.RequestURI(), host+want)
	}
	b := newBrowser(t, s)
	b.post("/login", "", "key", s.Key+"x").is(403).has("No account has this API key").lacks(s.Key)
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cookies := b.post("/login", "", "key", s.Key).Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Name != "vcard_dashboard_"+host[strings.Index(host, ":")+1:] {
		t.Errorf("the cookies are %v", cookies)
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
	newBrowser(t, s).get("/login?token=" + strings.Repeat("A", 26)).has("used before, or is too old")
	b := newBrowser(t, s)
	b.get(path).has("Logged in")
	b.get("/").has("<h1>Overview</h1>")
	late := newBrowser(t, s)
	late.get(path).is(403).has("used before")
	late.get("/").has("<h1>Log in</h1>")
}

// What pages load has a name of its own content, and is kept.
func TestAssetsAreKept(t *testing.T) {
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
			if missing := b.get(other).is(404); strings.Contains(missing.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s is kept", other)
			}
		}
	}
}
