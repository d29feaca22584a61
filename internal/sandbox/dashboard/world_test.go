package dashboard_test

import (
	"bufio"
	"bytes"
	"fmt"
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

// The forms set the clock, the limits and the quirks, and keep refused input.
func TestSettings(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	s.Quirks(nil)
	set := func(action string, fields ...string) seen {
		t.Helper()
		return b.post("/world", action, fields...)
	}
	set("advance", "advance", "720h").has("The clock is advanced.", "2026-03-31 12:00:00")
	sandboxtest.Equal(t, "the time", s.Get("/_sandbox/clock").Text("now"), "2026-03-31T12:00:00.000Z")
	set("advance", "advance", "-1h").is(400).has("Advance must be a duration above 0", `value="-1h"`)

	b.get("/world").has(`name="requests_per_hour" required maxlength="64" spellcheck="false" value="10000"`).lacks("default: ")
	set("set-limits", "requests_per_minute", "60", "requests_per_hour", "0", "creates_per_minute", "50", "details_per_minute", "30").
		has("The limits are saved.", "default: 1000", "default: 10000").lacks("default: 50<")
	sandboxtest.Equal(t, "the limits", strings.TrimSpace(s.Get("/_sandbox/limits").Raw),
		`{"requests_per_minute":60,"creates_per_minute":50,"requests_per_hour":0,"details_per_minute":30}`)
	for _, invalid := range []string{"many", "null", "1.5"} {
		set("set-limits", "requests_per_minute", invalid).has("must be an integer", `value="`+invalid+`"`)
	}
	set("restore-limits", "requests_per_minute", "60").has("The default limits are restored.").lacks("default: ")

	defaults := s.Get("/_sandbox/quirks").OK(200)
	shown := fieldsOf(b.get("/world").has("<small>response to changing a terminated card or reading its details</small>").lacks("default: "), "quirks")
	sandboxtest.Equal(t, "fields of the quirks", len(shown)/2, len(defaults.Body)+1) // one quirk has two fields
	set("set-quirks", shown...).has("The quirks are saved.").lacks("default: ")
	sandboxtest.Equal(t, "the quirks after saving the defaults", s.Get("/_sandbox/quirks").Raw, defaults.Raw)
	set("set-quirks", append(shown, "idempotency", "conflict", "terminated_status", "409", "wallet_field_2", "x_pay")...).
		has("default: honoured", "default: 400", "default: wallet b pay", `value="conflict" selected`, `value="409" selected`, `value="x_pay"`)
	got := s.Get("/_sandbox/quirks").Raw
	want := regexp.MustCompile(`"idempotency":"conflict".*"terminated_status":409.*"x_pay"`)
	if !want.MatchString(got) {
		t.Errorf("the quirks are %s", got)
	}
	set("set-quirks", append(shown, "cards_per_page", script)...).has("&lt;script&gt;").lacks(script)
	set("restore-quirks", append(shown, "idempotency", "conflict")...).has("The default quirks are restored.").lacks("default: ")
}

// fieldsOf returns the names and values of the fields that a browser would send for the form with an id.
func fieldsOf(page seen, id string) (fields []string) {
	form := regexp.MustCompile(`(?s)<form method="post"[^>]* id="` + id + `".*?</form>|<form method="post" id="` + id + `".*?</form>`).FindString(page.text)
	for _, pattern := range []string{`<input id="\w+" name="(\w+)"[^>]* value="([^"]*)"`, `(?s)<select name="(\w+)".*?<option value="([^"]*)" selected`} {
		for _, field := range regexp.MustCompile(pattern).FindAllStringSubmatch(form, -1) {
			fields = append(fields, field[1], field[2])
		}
	}
	return fields
}

// The forms add and remove faults, which then apply to requests of the API.
func TestFaults(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Quirks(nil)
	b.get("/world").has("No faults.")
	fault := func(fields ...string) seen {
		t.Helper()
		return b.post("/world", "add-fault", append([]string{"method", "GET", "path", "/bins", "times", "1", "when", "before", "delay_ms", "0", "status", "503"}, fields...)...)
	}
	fault("then", "status", "body", `{"error":"<script>alert(1)</script>"}`).has("The fault is added.", "response 503").lacks(script)
	response := s.Get("/bins").OK(503)
	sandboxtest.Equal(t, "the error", response.Text("error"), script)
	sandboxtest.Equal(t, "Content-Type", response.Header.Get("Content-Type"), "application/json")
	fault("then", "status", "body", "Bad <gateway>")
	sandboxtest.Equal(t, "the body", s.Send(t.Context(), http.MethodGet, "/bins", nil).OK(503).Raw, "Bad <gateway>")
	fault("then", "status", "body", " ")
	s.Get("/bins").Refused(http.StatusServiceUnavailable, "injected_fault", "")
	fault("then", "status", "path", "/cards/nothing", "body", strings.Repeat("x", 20_000)).has("The fault is added.")
	b.post("/world", "remove-faults")
	fault("then", "drop", "path", "/card").is(400).has("The API has no call GET /card")
	fault("then", "drop", "path", "/cards", "method", "DELETE").has("The API has no call DELETE /cards")
	fault("then", "drop", "times", "0", "path", "/cards/*", "method", "*", "when", "after").has("no response; the call is processed first", "until removed")
	fault("then", "pass", "delay_ms", "200", "times", "3").has("the usual response; delayed by 200 ms", `data-label="times left">3</td>`)
	fault("then", "pass", "path", "no/path").is(400).has("where * stands for any segment", `value="no/path"`)
	first := s.Get("/_sandbox/faults").Data()[0]
	b.post("/world", "remove-fault", "id", fmt.Sprint(first["id"])).has("The fault is removed.").lacks("no response; the")
	left := s.Get("/_sandbox/faults").Data()
	if len(left) != 1 || left[0]["then"] != "pass" {
		t.Errorf("the faults are %v", left)
	}
	b.post("/world", "remove-fault", "id", "1").has("There is no fault")
	b.post("/world", "remove-faults").has("All faults are removed.", "No faults.")

	preset := func(name string) seen {
		t.Helper()
		return b.post("/world", "preset", "preset", name)
	}
	preset("rate limited").has("The fault is added.", "response 429")
	for range 3 {
		s.Get("/bins").Refused(http.StatusTooManyRequests, "rate_limited", "")
	}
	s.Get("/bins").OK(200)
	preset("committed, response lost")
	s.Get("/bins").OK(200)
	lost := s.WithoutRetries().Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`)
	if lost.Err == nil {
		t.Error("the client received a response")
	}
	sandboxtest.Equal(t, "cards", len(s.LiveCards()), 1)
	b.post("/world", "add-fault", "method", "POST", "path", "/cards", "times", "1", "when", "later", "later_seconds", "60", "delay_ms", "0", "then", "drop").
		has("The fault is added.", "no response; the call is committed 60 s later")
	s.WithoutRetries().Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50,"label":"late"}`)
	b.get("/cards").lacks("late")
	s.Advance("1m")
	b.get("/cards").has("late")
	preset("maintenance")
	s.Get("/wallet/balance").Refused(http.StatusServiceUnavailable, "injected_fault", "")
	s.Get("/cards/card_x/details").Refused(http.StatusServiceUnavailable, "injected_fault", "")
}

// Every page shows what differs from a new sandbox, and how many challenges and endpoints wait.
func TestUnusualWorld(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Quirks(nil)
	b.get("/cards").lacks(`class="unusual"`, `class="waiting"`)
	card := s.Issue("100")
	s.Fault(`{"method":"GET","path":"/bins","then":"drop"}`)
	s.Quirks(map[string]any{"idempotency": "conflict", "terminated_status": 409})
	s.Advance("48h")
	challenge(s, card, "Ads")
	s.Post("/webhooks", `{"url":"https://127.0.0.1:1/","events":["card.frozen"]}`).OK(201)
	s.Freeze(card)
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/").text, `Webhooks <b class="waiting">1</b>`) })
	for _, path := range []string{"/", "/cards/" + card, "/nowhere"} {
		b.get(path).has(`<a class="unusual" href="/world">1 fault, 2 quirks, clock &#43;2 days</a>`, `3D Secure <b class="waiting">1</b>`)
	}
	first := b.get("/world").find(`(?s)<form method="post" id="quirks">.*?<label for="(\w+)"`)
	if first != "idempotency" && first != "terminated_status" {
		t.Errorf("the first quirk is %q, want a changed one", first)
	}
}

// A form simulates days of purchases, the same ones for the same seed. The ledger stays balanced. The lists of the
// overview have a maximum length.
func TestSimulate(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	fields := []string{"days", "4", "purchases_per_day", "9", "declines", "10", "seed", "7"}
	b.post("/world", "simulate", fields...).has("No active card can pay")
	s.Unlimited()
	s.Issue("500", `"label":"search"`)
	travel := s.Issue("300", `"label":"travel"`, `"allowed_categories":["travel"]`)
	fields = append(fields, "merchants", "Shop A, Shop B")
	b.post("/world", "simulate", fields...).has("Simulated 36 purchases on 2 cards; 4 were declined")
	withoutIDs := regexp.MustCompile(`"(id|card_id)":"\w+",|\n`).ReplaceAllString(listTransactions(s), "")
	golden(t, "testdata/simulated.txt", strings.ReplaceAll(withoutIDs, "},{", "},\n{"))
	sandboxtest.Equal(t, "days that have purchases", strings.Count(b.get("/").text, `id="day-2026-03-`), 5)
	s.Post("/_sandbox/simulate", `{"days":366,"purchases_per_day":500}`).Refused(400, "invalid_request", "5000")
	s.As(newKey(s, "")).Post("/_sandbox/simulate", `{"days":1}`).Refused(403, "first_account_only", "")
	countType := func(name string) int { return strings.Count(listTransactions(s), `"type":"`+name+`"`) }
	settled := countType("settlement")
	declined := countType("decline")
	more := s.Post("/_sandbox/simulate", `{"days":2,"purchases_per_day":12,"declines":20,"seed":3,"merchants":["Corner Shop"]}`).OK(http.StatusCreated)
	sandboxtest.Equal(t, "purchases", more.Text("purchases"), "24")
	sandboxtest.Equal(t, "settled purchases", more.Text("settled"), fmt.Sprint(countType("settlement")-settled))
	sandboxtest.Equal(t, "declined purchases", more.Text("declined"), "5")
	sandboxtest.Equal(t, "listed declines", countType("decline")-declined, 5)
	sandboxtest.Equal(t, "a purchase has the given merchant", strings.Contains(listTransactions(s), "Corner Shop"), true)
	for range 150 {
		s.Issue("50", `"auto_freeze_at":45`, `"spending_limit":48`)
	}
	all := s.Post("/_sandbox/simulate", nil).OK(http.StatusCreated)
	sandboxtest.Equal(t, "purchases of 40 days", all.Text("purchases"), "800")
	sandboxtest.Equal(t, "declined purchases of many cards", all.Text("declined"), "40")
	s.Post("/_sandbox/simulate", `{"days":10,"purchases_per_day":500,"declines":0}`).Refused(400, "invalid_request", "can pay")
	for _, card := range s.Get("/cards?status=active&per_page=100").Data() {
		if len(s.Get("/transactions?card_id="+card["id"].(string)).Data()) == 0 {
			t.Errorf("%s has no simulated purchase", card["id"])
		}
	}
	for i := range 7 {
		s.Authorize(s.Issue("50", `"spending_limit":50`), "46", "7311").OK(201)
		s.Authorize(travel, "9999", "7011").OK(201)
		s.Post("/webhooks", `{"url":"https://127.0.0.1:1/","events":["card.frozen"]}`).OK(201)
		s.Call(http.MethodPost, "/cards/"+travel+[]string{"/freeze", "/unfreeze"}[i%2], nil, "User-Agent", fmt.Sprint("run/0000000", i)).OK(200)
	}
	sandboxtest.Eventually(t, func() bool { return !strings.Contains(s.Get("/_sandbox/deliveries").Raw, `"tries":[]`) })
	s.Get("/_sandbox/requests").OK(200) // writes the recorded requests to the file
	for text, want := range map[string]int{
		`<tr id="run-`: 5, `<li id="delivery-`: 6, `<li id="card-`: 6, ">near limit</span>": 4, ">low balance</span>": 4,
		`class="share"`: 4 + 8 /* limits and spending */, `<td class="name"><time`: 12,
	} {
		b.get("/").counts(text, want)
	}
	b.get("/cards/"+travel).counts(`<tr id="run-`, 5)
	execute(t, s)(`INSERT INTO deliveries (public_id, event_id, webhook_id, state) SELECT t.id, 1, 1, 'delivered' FROM transactions t LIMIT 101`)
	b.get("/webhooks").has("100 of 100 delivered")
	s.Balanced()
}

// listTransactions returns the JSON of all pages of transactions that the API lists.
func listTransactions(s *sandboxtest.Server) string {
	s.T.Helper()
	all := ""
	for page := 1; ; page++ {
		list := s.Get(fmt.Sprintf("/transactions?per_page=100&page=%d", page)).OK(http.StatusOK)
		if len(list.Data()) == 0 {
			return all
		}
		all += list.Raw
	}
}

// No page shows secrets, except in the response to a form that asks for them. Another account sees nothing of this
// account and cannot change it.
func TestPagesKeepSecrets(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	other := newKey(s, `,"initial_balance":7`)
	hook := s.Post("/webhooks", `{"url":"https://127.0.0.1:1/","events":["*"]}`).OK(201)
	s.Post("/webhooks", `{"url":"https://127.0.0.1:1/plantedPath0123456789/in?planted-query","events":["*"],"secret":"planted-secret"}`).OK(201)
	card := s.Issue("100", `"label":"Planted label\u202e\u001b[2J"`)
	purchase := s.Authorize(card, "10", "7311").Transaction()
	settlement := s.Settle(purchase, "").Transaction()
	pending := challenge(s, card, "Ads")
	deposit := s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201).Text("id")
	s.Get("/cards?bin_id=" + s.Key)
	pan := s.Get("/cards/" + card + "/details").OK(200).Text("pan")
	sandboxtest.Eventually(t, func() bool { return !strings.Contains(s.Get("/_sandbox/deliveries").Raw, `"tries":[]`) })
	delivery := s.Get("/_sandbox/deliveries").Data()[0]["id"].(string)

	pages := crawl(b)
	for _, path := range []string{"/cards/" + card, "/transactions/" + purchase, "/requests", "/webhooks", "/webhooks/" + delivery, "/3ds", "/deposits", "/ledger", "/world"} {
		if pages[path] == "" {
			t.Errorf("no page links to %s", path)
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
		for _, foreign := range []string{card, "Planted label", settlement, pending.Text("id"), pending.Text("otp"), deposit, hook.Text("id"), delivery, "101.00"} {
			if strings.Contains(text, foreign) {
				t.Errorf("%s shows another account's %s", path, foreign)
			}
		}
	}
	for _, path := range []string{"/cards/" + card, "/transactions/" + settlement, "/webhooks/" + delivery} {
		stranger.get(path).is(404).lacks("Planted label", "127.0.0.1:1/")
	}
	for _, form := range []struct{ path, action, field, id string }{
		{"/3ds", "approved", "id", pending.Text("id")},
		{"/deposits", "confirm", "id", deposit},
		{"/webhooks", "redeliver", "delivery_id", delivery},
		{"/webhooks", "remove", "webhook_id", hook.Text("id")},
	} {
		stranger.post(form.path, form.action, form.field, form.id).is(404)
	}
	stranger.get("/transactions?q=" + card).has("No transactions match")
	b.get("/3ds").has(pending.Text("otp"))
	stranger.post("/", "show-key").has(other).lacks(s.Key)
}

// crawl follows the links from the overview and returns the texts of the pages by their paths. It opens each path once,
// with the first query that it finds, and at most 200 pages.
func crawl(b *browser) map[string]string {
	b.t.Helper()
	const maxPages = 200
	link := regexp.MustCompile(`href="(/[^"]*)"`)
	pages := map[string]string{}
	queue := []string{"/"}
	for len(queue) > 0 && len(pages) < maxPages {
		target := queue[0]
		queue = queue[1:]
		path, _, _ := strings.Cut(target, "?")
		_, opened := pages[path]
		if opened || strings.HasPrefix(path, "/assets/") {
			continue
		}
		pages[path] = html.UnescapeString(b.get(target).text)
		for _, match := range link.FindAllStringSubmatch(pages[path], -1) {
			queue = append(queue, match[1])
		}
	}
	return pages
}

// An account that is not ready can open pages, but its forms are refused like calls of the API.
func TestAccountNotReady(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	execute(t, s)(`UPDATE accounts SET state = 'api_not_enabled'`)
	b.get("/").has("cannot use the API", "api not enabled")
	for _, action := range []string{"freeze", "details"} {
		b.post("/cards/"+card, action).is(403).has("not enabled", `class="badge active"`)
	}
}

// Only the response to the form that creates an account shows the account's key. Only the first account can list all
// accounts and reset the sandbox. The log has no key.
func TestAccounts(t *testing.T) {
	t.Parallel()
	log := new(bytes.Buffer)
	s, b := start(t, func(o *sandboxtest.Options) {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	b.get("/world").has("acct_first", "signed in", "Reset…")
	created := b.post("/world", "create-account", "state", "ready", "initial_balance", "7").
		has(`name="initial_balance" inputmode="decimal" value="10000.00"`) // the form has its default again
	id, key := created.find(`acct_\w{10,}`), created.find(`sk_live_\w+`)
	if id == "" || key == "" || created.Request.URL.String() != s.Root()+"/world" || created.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s (%v) has no key:\n%s", created.Request.URL, created.Header, created.text)
	}
	b.get("/world").has(id).lacks(key)
	sandboxtest.Equal(t, "the new account's balance", s.As(key).Get("/wallet/balance").OK(200).Text("balance"), "7.00")
	b.post("/world", "create-account", "state", "rich").is(400).has("State must be one of")

	other := newBrowser(t, s).logIn(key)
	other.get("/world").has("Only the first account can list all accounts").lacks("acct_first", "Reset…")
	s.Issue("100")
	other.post("/world", "reset").is(403).has("Only the sandbox&#39;s first account can reset the sandbox")
	sandboxtest.Equal(t, "cards", len(s.Get("/cards").Data()), 1)
	b.post("/world", "reset").has("The sandbox is reset.").lacks(id)
	sandboxtest.Equal(t, "cards", len(s.Get("/cards").OK(200).Data()), 0)
	other.get("/world").has("<h1>Log in</h1>")
	first := s.Key
	s.Close()
	text := log.String()
	if strings.Contains(text, key) || strings.Contains(text, first) {
		t.Errorf("the log has a key:\n%s", text)
	}
}

// A session ends when its time has passed, when the user logs in again, and when the user logs out. The login link
// expires.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	clock := new(wall)
	s, b := start(t, func(o *sandboxtest.Options) { o.Clock = clock.now })
	const (
		overview = "<h1>Overview</h1>"
		login    = "<h1>Log in</h1>"
	)
	clock.advance(15 * time.Minute)
	newBrowser(t, s).get(strings.TrimPrefix(s.Link, s.Root())).has("expired")
	s.Advance("720h") // sessions follow the real clock, not the service's
	b.get("/").has(overview, "2026-03-31")
	clock.advance(12 * time.Hour)
	b.get("/").has(login)

	b.logIn(s.Key)
	root := sandboxtest.Must(url.Parse(s.Root()))
	jar := b.client.Jar
	replaced := jar.Cookies(root)
	b.send(http.MethodPost, "/login", b.form("/", "key", s.Key)).has(overview)
	cookies := jar.Cookies(root)
	b.send(http.MethodPost, "/logout", nil)
	b.get("/").has(login)
	sandboxtest.Equal(t, "cookies after logging out", len(jar.Cookies(root)), 0)
	for _, ended := range [][]*http.Cookie{replaced, cookies} {
		jar.SetCookies(root, ended)
		b.get("/").has(login)
	}
}

// A page receives an event after each change, every ten seconds, and when its session ends. The stream ends with the
// server.
func TestLiveEvents(t *testing.T) {
	t.Parallel()
	clock := new(wall)
	s, b := start(t, func(o *sandboxtest.Options) { o.Clock = clock.now })
	// listen opens a stream and returns a function that waits for the next event. At the end of the stream, the event is "".
	listen := func() (next func() string) {
		request := sandboxtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, b.root+"/live", nil))
		stream := sandboxtest.Must(b.client.Do(request))
		t.Cleanup(func() { _ = stream.Body.Close() })
		sandboxtest.Equal(t, "Content-Type", stream.Header.Get("Content-Type"), "text/event-stream")
		lines := bufio.NewScanner(stream.Body)
		return func() string {
			event := ""
			for lines.Scan() && (event == "" || lines.Text() != "") {
				event += lines.Text()
			}
			return event
		}
	}
	version := func() string { return b.get("/").find(`data-version="([^"]*)"`) }
	eventFor := func(version string) string {
		return `data: {"version":"` + version + `","now":"` + clock.now().UTC().Format("2006-01-02T15:04:05.000Z") + `"}`
	}
	// waitForPage waits for the event with the version of the page, and returns the version. There may be earlier events,
	// because the request log is also written to the file.
	waitForPage := func(next func() string) string {
		for event := next(); event != ""; event = next() {
			shown := version()
			if event == eventFor(shown) {
				return shown
			}
		}
		return "the stream has ended"
	}
	// lastEvent skips the events with versions.
	lastEvent := func(next func() string) string {
		event := next()
		for strings.HasPrefix(event, "data:") {
			event = next()
		}
		return event
	}
	next := listen()
	first := waitForPage(next)
	s.Fault(`{"method":"GET","path":"/bins","then":"pass"}`)
	changed := waitForPage(next)
	sandboxtest.Equal(t, "the version is the same after a change", changed == first, false)
	// The last part of a version is the number of the ten seconds.
	lastPart := func(version string) string { return version[strings.LastIndex(version, "."):] }
	clock.advance(9 * time.Second)
	sandboxtest.Equal(t, "the last part after nine seconds", lastPart(version()), lastPart(changed))
	clock.advance(time.Second)
	sandboxtest.Equal(t, "the last part is the same after ten seconds", lastPart(waitForPage(next)) == lastPart(changed), false)
	b.send(http.MethodPost, "/logout", nil)
	sandboxtest.Equal(t, "the last event", lastEvent(next), "event: endeddata:")
	b.logIn(s.Key)
	next = listen()
	next()
	s.Close()
	sandboxtest.Equal(t, "the event after the server has stopped", lastEvent(next), "")
}

// A session ends with its account. It does not become a session of an account that is created after a reset.
func TestSessionEndsWithAccount(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard, sandboxtest.Stopped(day(1)))
	reading := newBrowser(t, s).logIn(newKey(s, ""))
	posting := newBrowser(t, s).logIn(newKey(s, ""))
	advance := posting.form("/world", "action", "advance", "advance", "720h")
	before := s.Post("/_sandbox/reset", nil).OK(200).Text("now")
	newKey(s, `,"initial_balance":7`)
	reading.get("/").has("<h1>Log in</h1>").lacks("7.00")
	posting.send(http.MethodPost, "/world", advance).has("<h1>Log in</h1>")
	sandboxtest.Equal(t, "the time", s.Get("/_sandbox/clock").Text("now"), before)
}
