package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// The clock, the limits and the quirks are set as they are shown, and keep what was
// refused.
func TestSettings(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	s.Quirks(nil)
	set := func(action string, fields ...string) seen { t.Helper(); return b.post("/world", action, fields...) }
	set("advance", "advance", "720h").has("Time has passed.", "2026-03-31 12:00:00")
	equal(t, "the time", s.Get("/_sandbox/clock").Text("now"), "2026-03-31T12:00:00.000Z")
	set("advance", "advance", "-1h").is(400).has("Advance must be a duration above 0", `value="-1h"`)

	b.get("/world").has(`name="requests_per_hour" required maxlength="64" spellcheck="false" value="10000"`).lacks("usually")
	set("set-limits", "requests_per_minute", "60", "requests_per_hour", "0", "creates_per_minute", "50", "details_per_minute", "30").
		has("The limits are set.", "usually 1000", "usually 10000").lacks("usually 50<")
	equal(t, "the limits", strings.TrimSpace(s.Get("/_sandbox/limits").Raw), `{"requests_per_minute":60,"creates_per_minute":50,"requests_per_hour":0,"details_per_minute":30}`)
	for _, many := range []string{"many", "null", "1.5"} {
		set("set-limits", "requests_per_minute", many).has("must be an integer", `value="`+many+`"`)
	}
	set("restore-limits", "requests_per_minute", "60").has("The limits are as documented.").lacks("usually")

	usual := s.Get("/_sandbox/quirks").OK(200)
	shown := fieldsOf(b.get("/world").has("<small>the answer to changes of a terminated card</small>").lacks("usually"), "quirks")
	equal(t, "fields of the quirks", len(shown)/2, len(usual.Body)+1) // the wallet fields are two
	set("set-quirks", shown...).has("The quirks are set.").lacks("usually")
	equal(t, "the quirks, sent as they were", s.Get("/_sandbox/quirks").Raw, usual.Raw)
	set("set-quirks", append(shown, "idempotency", "conflict", "terminated_status", "409", "wallet_field_2", "x_pay")...).
		has("usually honoured", "usually 400", "usually wallet b pay", `value="conflict" selected`, `value="409" selected`, `value="x_pay"`)
	if got := s.Get("/_sandbox/quirks").Raw; !regexp.MustCompile(`"idempotency":"conflict".*"terminated_status":409.*"x_pay"`).MatchString(got) {
		t.Errorf("the quirks are %s", got)
	}
	set("set-quirks", append(shown, "cards_per_page", script)...).has("&lt;script&gt;").lacks(script)
	set("restore-quirks", append(shown, "idempotency", "conflict")...).has("The quirks are as usual.").lacks("usually")
}

// fieldsOf are the fields of the form that an id names, as a browser would send them.
func fieldsOf(page seen, id string) (fields []string) {
	form := regexp.MustCompile(`(?s)<form method="post"[^>]* id="` + id + `".*?</form>|<form method="post" id="` + id + `".*?</form>`).FindString(page.text)
	for _, pattern := range []string{`<input id="\w+" name="(\w+)"[^>]* value="([^"]*)"`, `(?s)<select name="(\w+)".*?<option value="([^"]*)" selected`} {
		for _, field := range regexp.MustCompile(pattern).FindAllStringSubmatch(form, -1) {
			fields = append(fields, field[1], field[2])
		}
	}
	return fields
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Quirks(nil)
	b.get("/world").has("The service answers every call")
	fault := func(fields ...string) seen {
		t.Helper()
		return b.post("/world", "add-fault", append([]string{"method", "GET", "path", "/bins", "times", "1", "when", "before", "delay_ms", "0", "status", "503"}, fields...)...)
	}
	fault("then", "status", "body", `{"error":"<script>alert(1)</script>"}`).has("The fault is set.", "answered 503").lacks(script)
	answered := s.Get("/bins").OK(503)
	equal(t, "the error", answered.Text("error"), script)
	equal(t, "Content-Type", answered.Header.Get("Content-Type"), "application/json")
	fault("then", "status", "body", "Bad <gateway>")
	equal(t, "the body", s.Send(t.Context(), http.MethodGet, "/bins", nil).OK(503).Raw, "Bad <gateway>")
	fault("then", "status", "body", " ")
	s.Get("/bins").Refused(http.StatusServiceUnavailable, "injected_fault", "")
	fault("then", "status", "path", "/cards/nothing", "body", strings.Repeat("x", 20_000)).has("The fault is set.")
	b.post("/world", "remove-faults")
	fault("then", "drop", "path", "/card").is(400).has("No call of the API is GET /card")
	fault("then", "drop", "path", "/cards", "method", "DELETE").has("No call of the API is DELETE /cards")
	fault("then", "drop", "times", "0", "path", "/cards/*", "method", "*", "when", "after").has("no answer, once the call is committed", "until removed")
	fault("then", "pass", "delay_ms", "200", "times", "3").has("answered as usual, 200 ms later", `data-label="times left">3</td>`)
	fault("then", "pass", "path", "no/path").is(400).has("with * for a segment", `value="no/path"`)
	first := s.Get("/_sandbox/faults").Data()[0]
	b.post("/world", "remove-fault", "id", fmt.Sprint(first["id"])).has("The fault is removed.").lacks("no answer, once")
	if left := s.Get("/_sandbox/faults").Data(); len(left) != 1 || left[0]["then"] != "pass" {
		t.Errorf("the faults are %v", left)
	}
	b.post("/world", "remove-fault", "id", "1").has("There is no fault")
	b.post("/world", "remove-faults").has("All faults are removed.", "The service answers every call")

	preset := func(name string) seen { t.Helper(); return b.post("/world", "preset", "preset", name) }
	preset("rate limited").has("The fault is set.", "answered 429")
	for range 3 {
		s.Get("/bins").Refused(http.StatusTooManyRequests, "rate_limited", "")
	}
	s.Get("/bins").OK(200)
	preset("committed, answer lost")
	s.Get("/bins").OK(200)
	lost := s.Unrepeated().Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`)
	equal(t, "an answer came", lost.Err == nil, false)
	equal(t, "cards", len(s.LiveCards()), 1)
	preset("maintenance")
	s.Get("/wallet/balance").Refused(http.StatusServiceUnavailable, "injected_fault", "")
	s.Get("/cards/card_x/details").Refused(http.StatusServiceUnavailable, "injected_fault", "")
}

// Every page says what is unusual about the world, and what waits for somebody.
func TestUnusualWorld(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Quirks(nil)
	b.get("/cards").lacks(`class="unusual"`, `class="waiting"`)
	card := s.Issue("100")
	s.Fault(`{"method":"GET","path":"/bins","then":"drop"}`)
	s.Quirks(map[string]any{"idempotency": "conflict", "terminated_status": 409})
	s.Advance("960h")
	challenge(s, card, "Ads")
	s.Post("/webhooks", `{"url":"https://127.0.0.1:1/","events":["card.frozen"]}`).OK(201)
	s.Freeze(card)
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/").text, `Webhooks <b class="waiting">1</b>`) })
	for _, path := range []string{"/", "/cards/" + card, "/nowhere"} {
		b.get(path).has(`<a class="unusual" href="/world">1 fault, 2 quirks, clock &#43;40 days</a>`, `3D Secure <b class="waiting">1</b>`)
	}
	if first := b.get("/world").find(`(?s)<form method="post" id="quirks">.*?<label for="(\w+)"`); first != "idempotency" && first != "terminated_status" {
		t.Errorf("the first quirk is %q", first)
	}
}

// One press fills days, the same ones for the same seed, and the books stay balanced.
func TestSimulate(t *testing.T) {
	t.Parallel()
	var made []string
	for range 2 {
		s, b := start(t, sandboxtest.StartingAt(day(1)))
		press := []string{"days", "10", "purchases_per_day", "12", "declines", "10", "seed", "7", "merchants", "Shop A, Shop B"}
		b.post("/world", "simulate", press[:8]...).has("No active card can pay")
		s.Unlimited()
		s.Issue("500", `"label":"search"`)
		s.Issue("300", `"label":"travel"`, `"allowed_categories":["travel"]`)
		b.post("/world", "simulate", press...).has("120 purchases were made on 2 cards, of which 12 were declined")
		b.get("/transactions").has("Shop A", "Shop B", "travel", "declined", "settled").lacks("category not allowed")
		made = append(made, regexp.MustCompile(`(txn|card)_\w+|T[\d:.]+Z`).ReplaceAllString(listed(s), ""))
		if days := strings.Count(b.get("/").text, `id="day-2026-03-`); days < 10 {
			t.Errorf("%d days have purchases", days)
		}
		s.Post("/_sandbox/simulate", `{"days":366,"purchases_per_day":500}`).Refused(400, "invalid_request", "5000")
		s.As(newKey(s, "")).Post("/_sandbox/simulate", `{"days":1}`).Refused(403, "first_account_only", "")
		of := func(kind string) int { return strings.Count(listed(s), `"type":"`+kind+`"`) }
		settled, declined := of("settlement"), of("decline")
		more := s.Post("/_sandbox/simulate", `{"days":2,"purchases_per_day":12,"declines":20,"seed":3}`).OK(http.StatusCreated)
		equal(t, "purchases", more.Text("purchases"), "24")
		equal(t, "settled ones", more.Text("settled"), fmt.Sprint(of("settlement")-settled))
		equal(t, "declined ones", more.Text("declined"), "5")
		equal(t, "declines of them", of("decline")-declined, 5)
		for range 150 {
			s.Issue("50", `"auto_freeze_at":45`, `"spending_limit":48`)
		}
		all := s.Post("/_sandbox/simulate", `{"days":2,"purchases_per_day":300,"declines":6}`).OK(http.StatusCreated)
		equal(t, "declined ones of many cards", all.Text("declined"), "36")
		s.Post("/_sandbox/simulate", `{"days":10,"purchases_per_day":500,"declines":0}`).Refused(400, "invalid_request", "can pay")
		for _, card := range s.Get("/cards?status=active&per_page=100").Data() {
			if len(s.Get("/transactions?card_id="+card["id"].(string)).Data()) == 0 {
				t.Errorf("%s took no part", card["id"])
			}
		}
		s.Balanced()
	}
	equal(t, "the purchases of the same seed", made[1], made[0])
}

// listed is what the API lists of transactions, on all pages.
func listed(s *sandboxtest.Server) (all string) {
	s.T.Helper()
	for page := 1; ; page++ {
		list := s.Get(fmt.Sprintf("/transactions?per_page=100&page=%d", page)).OK(http.StatusOK)
		if len(list.Data()) == 0 {
			return all
		}
		all += list.Raw
	}
}
