package dashboard_test

import (
	"bytes"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// No page shows what only its makers are to know; nor does one that another account
// sees tell anything of this one, which it cannot change either.
func TestPagesKeepSecrets(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	other := newKey(s, `,"initial_balance":7`)
	hook := s.Post("/webhooks", `{"url":"https://127.0.0.1:1/","events":["*"]}`).OK(201)
	s.Post("/webhooks", `{"url":"https://127.0.0.1:1/plantedPath0123456789/in?planted-query","events":["*"],"secret":"planted-secret"}`).OK(201)
	card := s.Issue("100", `"label":"Planted label\u202e\u001b[2J"`)
	bought := s.Authorize(card, "10", "7311").Transaction()
	settlement := s.Settle(bought, "").Transaction()
	asked := challenge(s, card, "Ads")
	deposit := s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201).Text("id")
	s.Get("/cards?bin_id=" + s.Key)
	pan := s.Get("/cards/" + card + "/details").OK(200).Text("pan")
	sandboxtest.Eventually(t, func() bool { return !strings.Contains(s.Get("/_sandbox/deliveries").Raw, `"tries":[]`) })
	delivery := s.Get("/_sandbox/deliveries").Data()[0]["id"].(string)

	pages := crawl(b)
	for _, path := range []string{"/cards/" + card, "/transactions/" + bought, "/requests", "/webhooks", "/webhooks/" + delivery, "/3ds", "/deposits", "/ledger", "/world"} {
		if pages[path] == "" {
			t.Errorf("%s was not seen", path)
		}
	}
	for path, text := range pages {
		for _, secret := range []string{s.Key, other, hook.Text("secret"), "planted-secret", "plantedPath", "planted-query", pan, "\u202e", "\x1b"} {
			if strings.Contains(strings.ReplaceAll(text, " ", ""), secret) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}
	stranger := newBrowser(t, s).logIn(other)
	stranger.get("/").has("7.00")
	for path, text := range crawl(stranger) {
		for _, foreign := range []string{card, "Planted label", settlement, asked.Text("id"), asked.Text("otp"), deposit, hook.Text("id"), delivery, "101.00"} {
			if strings.Contains(text, foreign) {
				t.Errorf("%s shows another account's %s", path, foreign)
			}
		}
	}
	for _, path := range []string{"/cards/" + card, "/transactions/" + settlement, "/webhooks/" + delivery} {
		stranger.get(path).is(404).lacks("Planted label", "127.0.0.1:1/")
	}
	for _, press := range [][4]string{
		{"/3ds", "approved", "id", asked.Text("id")},
		{"/deposits", "confirm", "id", deposit},
		{"/webhooks", "redeliver", "delivery_id", delivery},
		{"/webhooks", "remove", "webhook_id", hook.Text("id")},
	} {
		stranger.post(press[0], press[1], press[2], press[3]).is(404)
	}
	stranger.get("/transactions?q=" + card).has("No transactions match")
	b.get("/3ds").has(asked.Text("otp"))
	stranger.post("/", "show-key").has(other).lacks(s.Key)
}

// crawl returns what can be seen from the overview on, by the paths.
func crawl(b *browser) map[string]string {
	b.t.Helper()
	seen := map[string]string{}
	for left := []string{"/"}; len(left) > 0 && len(seen) < 200; left = left[1:] {
		path, _, _ := strings.Cut(left[0], "?")
		if _, found := seen[path]; found || strings.HasPrefix(path, "/assets/") {
			continue
		}
		seen[path] = html.UnescapeString(b.get(left[0]).text)
		for _, link := range regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(seen[path], -1) {
			left = append(left, link[1])
		}
	}
	return seen
}

// An account that is not ready may look around, and do nothing that its API would refuse.
func TestAccountIsNotReady(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	execute(t, s)(`UPDATE accounts SET state = 'api_not_enabled'`)
	b.get("/").has("refuses this account", "api not enabled")
	for _, action := range []string{"freeze", "details"} {
		b.post("/cards/"+card, action).is(403).has("not switched on", `class="badge active"`)
	}
}

// A new account's key is in the response to the press alone; only the first account
// sees the others, and takes everything back to the start.
func TestAccounts(t *testing.T) {
	t.Parallel()
	log := new(bytes.Buffer)
	s, b := start(t, func(o *sandboxtest.Options) {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	b.get("/world").has("acct_first", "this one", "Back to the start")
	created := b.post("/world", "create-account", "state", "ready", "initial_balance", "7").
		has(`name="initial_balance" inputmode="decimal" value="10000.00"`) // for the next one
	id, key := created.find(`acct_\w{10,}`), created.find(`sk_live_\w+`)
	if id == "" || key == "" || created.Request.URL.String() != s.Root()+"/world" || created.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s (%v) has no key:\n%s", created.Request.URL, created.Header, created.text)
	}
	b.get("/world").has(id).lacks(key)
	equal(t, "the new account's balance", s.As(key).Get("/wallet/balance").OK(200).Text("balance"), "7.00")
	b.post("/world", "create-account", "state", "rich").is(400).has("State must be one of")

	other := newBrowser(t, s).logIn(key)
	other.get("/world").has("The file’s first account sees them all").lacks("acct_first", "Back to the start")
	s.Issue("100")
	other.post("/world", "reset").is(403).has("Only the key of the file&#39;s first account resets it")
	equal(t, "cards", len(s.Get("/cards").Data()), 1)
	b.post("/world", "reset").has("Everything is as it was at the start.").lacks(id)
	equal(t, "cards", len(s.Get("/cards").OK(200).Data()), 0)
	other.get("/world").has("<h1>Log in</h1>")
	first := s.Key
	s.Close()
	if text := log.String(); strings.Contains(text, key) || strings.Contains(text, first) {
		t.Errorf("the log has a key:\n%s", text)
	}
}

// A log-in, its link and its pages end with the time, with another log-in, and with
// the button.
func TestLogInsEnd(t *testing.T) {
	t.Parallel()
	clock := new(wall)
	s, b := start(t, func(o *sandboxtest.Options) { o.Clock = clock.now })
	const inside, outside = "<h1>Overview</h1>", "<h1>Log in</h1>"
	clock.advance(16 * time.Minute)
	newBrowser(t, s).get(strings.TrimPrefix(s.Link, s.Root())).has("is too old")
	s.Advance("720h") // the service's own time is no reason to log anybody out
	b.get("/").has(inside, "2026-03-31")
	clock.advance(12 * time.Hour)
	b.get("/").has(outside)

	b.logIn(s.Key)
	root, jar := must(url.Parse(s.Root())), b.client.Jar
	replaced := jar.Cookies(root)
	b.send(http.MethodPost, "/login", b.form("/", "key", s.Key)).has(inside)
	cookies := jar.Cookies(root)
	b.send(http.MethodPost, "/logout", nil)
	b.get("/").has(outside)
	equal(t, "cookies after logging out", len(jar.Cookies(root)), 0)
	for _, ended := range [][]*http.Cookie{replaced, cookies} {
		jar.SetCookies(root, ended)
		b.get("/").has(outside)
	}
}

// An account that is made after a reset is another one than those before it.
func TestASessionIsOfOneAccountOnly(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard, sandboxtest.Stopped(day(1)))
	b, posting := newBrowser(t, s).logIn(newKey(s, "")), newBrowser(t, s).logIn(newKey(s, ""))
	advance := posting.form("/world", "action", "advance", "advance", "720h")
	before := s.Post("/_sandbox/reset", nil).OK(200).Text("now")
	newKey(s, `,"initial_balance":7`)
	b.get("/").has("<h1>Log in</h1>").lacks("7.00")
	posting.send(http.MethodPost, "/world", advance).has("<h1>Log in</h1>")
	equal(t, "the time", s.Get("/_sandbox/clock").Text("now"), before)
}
