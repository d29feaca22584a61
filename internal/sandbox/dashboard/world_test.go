package dashboard_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestClock(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	b.post("/world", "advance", "advance", "720h").has(t, "Time has passed.", "2026-03-31 12:00:00")
	if got := s.Get("/_sandbox/clock").Text("now"); got != "2026-03-31T12:00:00.000Z" {
		t.Errorf("it is %s", got)
	}
	if refused := b.post("/world", "advance", "advance", "-1h").has(t, "Advance must be a duration above 0", `value="-1h"`); refused.StatusCode != http.StatusBadRequest {
		t.Errorf("going back was answered %d", refused.StatusCode)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/world").has(t, `name="requests_per_hour" required maxlength="64" spellcheck="false" value="10000"`).lacks(t, "usually")
	b.post("/world", "set-limits", "requests_per_minute", "60", "requests_per_hour", "0", "creates_per_minute", "50", "details_per_minute", "30").
		has(t, "The limits are set.", "usually 1000", "usually 10000").lacks(t, "usually 50<")
	if got := s.Get("/_sandbox/limits").Raw; strings.TrimSpace(got) != `{"requests_per_minute":60,"creates_per_minute":50,"requests_per_hour":0,"details_per_minute":30}` {
		t.Errorf("the limits are %s", got)
	}
	for _, many := range []string{"many", "null", "1.5"} {
		b.post("/world", "set-limits", "requests_per_minute", many).has(t, "must be an integer", `value="`+many+`"`)
	}
	b.post("/world", "restore-limits", "requests_per_minute", "60").has(t, "The limits are as documented.").lacks(t, "usually")
}

// fieldsOf are the fields of the form that an id names, as a browser would send them.
func fieldsOf(page seen, id string) (fields []string) {
	form := regexp.MustCompile(`(?s)<form method="post"[^>]* id="` + id + `".*?</form>|<form method="post" id="` + id + `".*?</form>`).FindString(page.text)
	for _, input := range regexp.MustCompile(`<input id="\w+" name="(\w+)"[^>]* value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		fields = append(fields, input[1], input[2])
	}
	for _, choice := range regexp.MustCompile(`(?s)<select name="(\w+)".*?<option value="([^"]*)" selected`).FindAllStringSubmatch(form, -1) {
		fields = append(fields, choice[1], choice[2])
	}
	return fields
}

// The form of the quirks has all of them, as they are.
func TestQuirks(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	usual := s.Get("/_sandbox/quirks").OK(200)
	asShown := fieldsOf(b.get("/world").has(t, "<small>the answer to changes of a terminated card</small>").lacks(t, "usually"), "quirks")
	if got := len(asShown) / 2; got != len(usual.Body)+1 { // the wallet fields are two
		t.Errorf("the form has %d fields for %d quirks", got, len(usual.Body))
	}
	b.post("/world", "set-quirks", asShown...).has(t, "The quirks are set.").lacks(t, "usually")
	if got := s.Get("/_sandbox/quirks").Raw; got != usual.Raw {
		t.Errorf("sent as it was, the form made them %s", got)
	}
	b.post("/world", "set-quirks", append(asShown, "idempotency", "conflict", "terminated_status", "409", "wallet_field_2", "x_pay")...).
		has(t, "usually honoured", "usually 400", "usually wallet b pay", `value="conflict" selected`, `value="409" selected`, `value="x_pay"`)
	if got := s.Get("/_sandbox/quirks").Raw; !strings.Contains(got, `"idempotency":"conflict"`) || !strings.Contains(got, `"terminated_status":409`) || !strings.Contains(got, `"x_pay"`) {
		t.Errorf("the quirks are %s", got)
	}
	b.post("/world", "set-quirks", append(asShown, "cards_per_page", script)...).has(t, "&lt;script&gt;").lacks(t, script)
	b.post("/world", "restore-quirks", append(asShown, "idempotency", "conflict")...).has(t, "The quirks are as usual.").lacks(t, "usually")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/world").has(t, "The service answers every call")
	fault := func(fields ...string) seen {
		return b.post("/world", "add-fault", append([]string{"method", "GET", "path", "/bins", "times", "1", "when", "before", "delay_ms", "0", "status", "503"}, fields...)...)
	}
	fault("then", "status", "body", `{"error":"<script>alert(1)</script>"}`).has(t, "The fault is set.", "answered 503").lacks(t, script)
	if got := s.Get("/bins"); got.Status != http.StatusServiceUnavailable || got.Body["error"] != script || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("answered %d %s", got.Status, got.Raw)
	}
	fault("then", "status", "body", "Bad <gateway>")
	if got := s.Send(t.Context(), http.MethodGet, "/bins", nil); got.Status != http.StatusServiceUnavailable || got.Raw != "Bad <gateway>" {
		t.Errorf("answered %d %s", got.Status, got.Raw)
	}
	fault("then", "status", "body", " ")
	s.Get("/bins").Refused(http.StatusServiceUnavailable, "injected_fault", "")
	fault("then", "status", "path", "/cards/nothing", "body", strings.Repeat("x", 20_000)).has(t, "The fault is set.")
	b.post("/world", "remove-faults")
	if refused := fault("then", "drop", "path", "/card").has(t, "No call of the API is GET /card"); refused.StatusCode != http.StatusBadRequest {
		t.Errorf("a path of no route was answered %d", refused.StatusCode)
	}
	fault("then", "drop", "path", "/cards", "method", "DELETE").has(t, "No call of the API is DELETE /cards")
	fault("then", "drop", "times", "0", "path", "/cards/*", "method", "*", "when", "after").has(t, "no answer, once the call is committed", "until removed")
	fault("then", "pass", "delay_ms", "200", "times", "3").has(t, "answered as usual, 200 ms later", `data-label="times left">3</td>`)
	if refused := fault("then", "pass", "path", "no/path").has(t, "with * for a segment", `value="no/path"`); refused.StatusCode != http.StatusBadRequest {
		t.Errorf("a bad path was answered %d", refused.StatusCode)
	}
	first := s.Get("/_sandbox/faults").Data()[0]
	b.post("/world", "remove-fault", "id", fmt.Sprint(first["id"])).has(t, "The fault is removed.").lacks(t, "no answer, once")
	if left := s.Get("/_sandbox/faults").Data(); len(left) != 1 || left[0]["then"] != "pass" {
		t.Errorf("the faults are %v", left)
	}
	b.post("/world", "remove-fault", "id", "1").has(t, "There is no fault")
	b.post("/world", "remove-faults").has(t, "All faults are removed.", "The service answers every call")
}

// buffer is a log that a test reads.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A new account's key is in the response to the press alone.
func TestAccounts(t *testing.T) {
	t.Parallel()
	log := new(buffer)
	s, b := start(t, func(o *sandboxtest.Options) {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	b.get("/world").has(t, "acct_first", "this one", "Back to the start")
	created := b.post("/world", "create-account", "state", "ready", "initial_balance", "7")
	id, key := regexp.MustCompile(`acct_\w{10,}`).FindString(created.text), regexp.MustCompile(`sk_live_\w+`).FindString(created.text)
	if id == "" || key == "" || created.Request.URL.String() != s.Root()+"/world" || created.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s (%v) has no key:\n%s", created.Request.URL, created.Header, created.text)
	}
	created.has(t, `name="initial_balance" inputmode="decimal" value="10000.00"`) // for the next one
	b.get("/world").has(t, id).lacks(t, key)
	if text := log.String(); strings.Contains(text, key) || strings.Contains(text, s.Key) {
		t.Errorf("the log has a key:\n%s", text)
	}
	if got := s.As(key).Get("/wallet/balance").OK(200).Text("balance"); got != "7.00" {
		t.Errorf("the new account has %s", got)
	}
	if refused := b.post("/world", "create-account", "state", "rich").has(t, "State must be one of"); refused.StatusCode != http.StatusBadRequest {
		t.Errorf("answered %d", refused.StatusCode)
	}

	other := newBrowser(t, s).logIn(key)
	other.get("/world").has(t, "The file’s first account sees them all").lacks(t, "acct_first", "Back to the start")
	s.Issue("100")
	if refused := other.post("/world", "reset").has(t, "Only the key of the file&#39;s first account resets it"); refused.StatusCode != http.StatusForbidden {
		t.Errorf("the reset of another account was answered %d", refused.StatusCode)
	}
	if n := len(s.Get("/cards").Data()); n != 1 {
		t.Errorf("%d cards are left", n)
	}
	b.post("/world", "reset").has(t, "Everything is as it was at the start.").lacks(t, id)
	if n := len(s.Get("/cards").OK(200).Data()); n != 0 {
		t.Errorf("%d cards are left", n)
	}
	other.get("/world").has(t, "<h1>Log in</h1>")
}

func TestAccountsInPages(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	const all = 60
	for range all - 1 {
		s.Post("/_sandbox/accounts", `{"state":"no_deposit"}`).OK(201)
	}
	rows := 0
	for path := "/world"; path != ""; {
		page := b.get(path)
		n := strings.Count(page.text, "<tr><td><code>acct_")
		if rows += n; n == 0 || n > 50 {
			t.Errorf("%s has %d accounts", path, n)
		}
		path = next(page, "/world")
	}
	if rows != all {
		t.Errorf("the pages have %d accounts", rows)
	}
}

// Every page says what is unusual about the world, and what waits for somebody.
func TestUnusualWorld(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	const badge = `class="unusual"`
	b.get("/cards").lacks(t, badge, `class="waiting"`)
	card := s.Issue("100")
	s.Fault(`{"method":"GET","path":"/bins","then":"drop"}`)
	s.Quirks(map[string]any{"idempotency": "conflict", "terminated_status": 409})
	s.Advance("960h")
	s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Ads", "amount": 5}).OK(201)
	s.Post("/webhooks", `{"url":"https://127.0.0.1:1/","events":["card.frozen"]}`).OK(201)
	s.Freeze(card)
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/").text, `Webhooks <b class="waiting">1</b>`) })
	for _, path := range []string{"/", "/cards/" + card, "/nowhere"} {
		b.get(path).has(t, `<a class="unusual" href="/world">1 fault, 2 quirks, clock &#43;40 days</a>`, `3D Secure <b class="waiting">1</b>`)
	}
	world := b.get("/world").text
	if first := regexp.MustCompile(`(?s)<form method="post" id="quirks">.*?<label for="(\w+)"`).FindStringSubmatch(world); first == nil || first[1] != "idempotency" && first[1] != "terminated_status" {
		t.Errorf("the first quirk is %q", first)
	}
}

func TestPresets(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.post("/world", "preset", "preset", "rate limited").has(t, "The fault is set.", "answered 429")
	for range 3 {
		s.Get("/bins").Refused(http.StatusTooManyRequests, "rate_limited", "")
	}
	s.Get("/bins").OK(200)
	b.post("/world", "preset", "preset", "committed, answer lost")
	s.Get("/bins").OK(200)
	if lost := s.Unrepeated().Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`); lost.Err == nil || len(s.LiveCards()) != 1 {
		t.Errorf("answered %d, %d cards", lost.Status, len(s.LiveCards()))
	}
	b.post("/world", "preset", "preset", "maintenance")
	s.Get("/wallet/balance").Refused(http.StatusServiceUnavailable, "injected_fault", "")
	s.Get("/cards/card_x/details").Refused(http.StatusServiceUnavailable, "injected_fault", "")
}

// One press fills days, the same ones for the same seed, and the books stay balanced.
func TestSimulate(t *testing.T) {
	t.Parallel()
	var made []string
	for range 2 {
		s, b := start(t, sandboxtest.StartingAt(day(1)))
		b.post("/world", "simulate", "days", "10", "purchases_per_day", "12", "declines", "10", "seed", "7").has(t, "There is no active card to buy with")
		s.Issue("500", `"label":"search"`)
		s.Issue("300", `"label":"travel"`, `"allowed_categories":["travel"]`)
		b.post("/world", "simulate", "days", "10", "purchases_per_day", "12", "declines", "10", "seed", "7", "merchants", "Shop A, Shop B").has(t, "120 purchases were made, of which ")
		file := b.get("/transactions?format=csv").text
		made = append(made, regexp.MustCompile(`(txn|card)_\w+|,\d{4},(Shop)|T[\d:]+Z`).ReplaceAllString(file, "$2"))
		for _, what := range []string{"Shop A", "Shop B", "travel", "declined", "settled", "2026-03-11"} {
			if !strings.Contains(file, what) {
				t.Errorf("the purchases lack %q", what)
			}
		}
		if regexp.MustCompile(`category.not.allowed`).MatchString(file) {
			t.Errorf("something is bought that a card is not for: %s", file)
		}
		if days := len(regexp.MustCompile(`id="day-2026-03-`).FindAllString(b.get("/").text, -1)); days < 10 {
			t.Errorf("%d days have purchases", days)
		}
		s.Post("/_sandbox/simulate", `{"days":366,"purchases_per_day":500}`).Refused(400, "invalid_request", "5000")
		other := s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key")
		s.As(other).Post("/_sandbox/simulate", `{"days":1}`).Refused(403, "first_account_only", "")
		of := func(kind string) int { return strings.Count(b.get("/transactions?format=csv").text, ","+kind+",") }
		settled, declined := of("settled"), of("declined")
		more := s.Post("/_sandbox/simulate", `{"days":2,"purchases_per_day":12,"declines":20,"seed":3}`).OK(http.StatusCreated)
		want := fmt.Sprint("24 ", of("settled")-settled, " ", of("declined")-declined)
		if got := fmt.Sprint(more.Text("purchases"), " ", more.Text("settled"), " ", more.Text("declined")); got != want {
			t.Errorf("made %s purchases, settled and declined ones; listed are %s", got, want)
		}
		s.Balanced()
	}
	if made[0] != made[1] {
		t.Error("the same seed made other purchases")
	}
}
