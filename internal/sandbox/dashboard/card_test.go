package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// A card is used by the forms of its page from the first purchase to its end. The forms act on the card in the path of
// the page, even if they send another id.
func TestStoryOfACard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/cards").has("No active or frozen cards")
	card := s.Issue("100", `"label":"summer"`)
	page := "/cards/" + card
	other := s.Issue("100")
	press := func(action string, fields ...string) seen {
		t.Helper()
		return b.post(page, action, append(fields, "card_id", other)...)
	}
	b.get(page).has("<title>summer ••" + s.Get(page).Text("last4") + " · ")
	b.get("/cards?q=umm").has("summer", "100.00")
	b.get("/cards?q=winter").has("No cards match")
	press("buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311").has("Authorized: 40.00 USD", "60.00", `href="/cards" aria-current="page"`)
	authorization := s.Get("/transactions").Data()[0]["id"].(string)
	press("settle", "transaction_id", authorization, "amount", "38.50").has("is settled", "61.50")
	settlement := s.Get("/transactions").Data()[0]["id"].(string)
	press("refund", "transaction_id", settlement, "amount", "10").has("71.50")
	press("buy", "amount", "1000", "merchant", "Example Ads", "mcc", "7311").has(`<p class="notice problem" role="status">Declined: insufficient funds.`)
	press("challenge", "amount", "5", "merchant", "Example Ads").has("3D Secure pending")
	press("freeze").has(`class="badge frozen"`, "unfreeze")
	press("unfreeze").has(`class="badge unfrozen"`)

	// Without an amount, a settlement or a refund takes the whole remaining amount.
	authorization = s.Authorize(card, "40", "7311").Transaction()
	press("settle", "transaction_id", authorization, "amount", " ").has("is settled", "31.50")
	settlement = s.Get("/transactions").Data()[0]["id"].(string)
	press("refund", "transaction_id", settlement, "amount", "1")
	press("refund", "transaction_id", settlement).has("is credited", "40.00 settled, 40.00 refunded", `<span class="authorization">0.00</span>`)

	// Termination returns the balance to the wallet. An open authorization can still be settled.
	s.Authorize(card, "20", "7311").OK(201)
	press("terminate").has("51.50 USD returned", `class="badge terminated"`).lacks(`value="buy"`)
	sandboxtest.Equal(t, "the card", s.Get(page).Text("status"), "terminated")
	b.get("/cards/"+other).has(`class="badge active"`, "Issued").lacks("Example Ads <small>", `class="badge frozen"`)
	const held = `<dt>Held by authorizations</dt><dd>20.00 `
	b.get(page).has(held, "Settle…")
	b.get("/").has("9,849.50", "38.50", "summer", held)
	s.Balanced()
}

// A refused form shows the reason and keeps the input.
func TestRefusedForm(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	page := "/cards/" + card
	b.post(page, "buy", "amount", "4,50", "merchant", "Corner Shop", "mcc", "73").is(400).
		has("Amount must be a number.", `value="Corner Shop"`).counts(`value="4,50"`, 1)
	b.post(page, "buy", "amount", "-1", "merchant", "Corner Shop", "mcc", "7311").has("Amount must be above 0.")
	sandboxtest.Equal(t, "transactions", len(s.Get("/transactions").Data()), 0)
	first := s.Authorize(card, "10", "7311").Transaction()
	s.Authorize(card, "20", "7311").OK(201)
	b.post(page, "settle", "transaction_id", first, "amount", "1,5").has("Amount must be a number.", `value="1,5"`, `value="20.00"`).
		matches(`id="`+first+`".*?<details class="confirm" open>`).counts(`"confirm" open`, 1)
}

// Only the response to the form that asks for the details shows the number and the code. The form counts against the
// rate limit for details. Opening other pages counts against no limit. The request log records neither.
func TestDetailsOnlyWhenPressed(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Put("/_sandbox/limits", `{"details_per_minute":4}`).OK(200)
	card := s.Issue("100")
	used := func(limit, want string) {
		t.Helper()
		sandboxtest.Equal(t, limit, s.Get("/_sandbox/limits/used").OK(200).Text(limit), want)
	}
	details := s.Get("/cards/" + card + "/details").OK(200)
	pan := details.Text("pan")
	page := "/cards/" + card
	grouped := fmt.Sprint(pan[:4], " ", pan[4:8], " ", pan[8:12], " ", pan[12:])
	const refresh = `<meta http-equiv="refresh" content="60">` // removes the number after a minute
	b.get(page).lacks(pan, grouped, refresh)
	shown := b.post(page, "details").has(grouped, details.Text("cvv"), refresh)
	sandboxtest.Equal(t, "Cache-Control", shown.Header.Get("Cache-Control"), "no-store")
	b.get(page).lacks(grouped)
	again := b.form(page, "action", "details")
	for range 2 { // the session does not keep the details: a repeated form reads them again
		b.send(http.MethodPost, page, again).has("<dt>Number</dt>")
	}
	b.post(page, "details").is(429).lacks(grouped)
	for range 5 {
		b.get("/").has("<h1>Overview</h1>")
	}
	used("details_per_minute", "4")
	used("requests_per_minute", "5")
	sandboxtest.Equal(t, "logged requests", len(s.Get("/_sandbox/requests").OK(200).Data()), 2)
}

// The width of a bar is a percentage: at least 1 if the part is not 0, and at most 100.
func TestBars(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	for range 3 {
		s.Get("/cards/" + card + "/details").OK(200)
	}
	for _, test := range []struct{ limit, text, class, width string }{
		{limit: "1000", text: "3 / 1,000", class: "bar", width: "1"},
		{limit: "4", text: "3 / 4", class: "bar", width: "75"},
		{limit: "3", text: "3 / 3", class: "bar full", width: "100"},
		{limit: "2", text: "3 / 2", class: "bar full", width: "100"},
		{limit: "0", text: "no limit", class: "bar", width: "0"},
	} {
		s.Put("/_sandbox/limits", `{"details_per_minute":`+test.limit+`}`).OK(200)
		row := `Details read, last minute</th><td class="number">%s</td><td class="share">` +
			`<svg class="%s" [^>]*><rect [^>]*><rect class="part" width="%s"`
		b.get("/").matches(fmt.Sprintf(row, test.text, test.class, test.width))
	}
	b.get("/cards/" + card).has(`<rect class="part" width="0"`)
}

// The overview and the page of the card describe every kind of activity in words.
func TestActivityInWords(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	deposit := s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201).Text("id")
	s.Post("/_sandbox/deposits/"+deposit+"/confirm", nil).OK(200)
	b.get("/").has(">deposit pending</span>", "BTC deposit announced", ">deposit confirmed</span>", "Credited to the wallet", ">opened</span>", "Opening balance")
	card := s.Issue("100", `"auto_freeze_at":50`)
	s.Post("/cards/"+card+"/fund", `{"amount":20}`).OK(200)
	s.Post("/cards/"+card+"/withdraw", `{"amount":10}`).OK(200)
	s.Authorize(card, "1000", "7311").OK(201)
	s.Authorize(card, "70", "7311").OK(201)
	s.Post("/cards/"+card+"/unfreeze", nil).OK(200)
	s.Freeze(card)
	s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Corner Shop", "amount": 5}).OK(201)
	s.Terminate(card)
	for _, path := range []string{"/", "/cards/" + card} {
		b.get(path).has("Loaded from the wallet", "Funded from the wallet", "Withdrawn to the wallet", "Returned to the wallet", "insufficient funds",
			">auto frozen</span>", "Balance below the auto-freeze threshold", "Purchases are allowed again", "Purchases are declined", "Closed permanently",
			`class="withdrawn">-10.00`, `class="returned">-40.00`, `Corner Shop</bdi> <span class="reason">3D Secure pending</span>`)
	}
}

// A decline shows the values that decided it, as they were at that time.
func TestDeclinesAreExplained(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.StartingAt(day(1)))
	card := s.Issue("500", `"label":"ads"`, `"spending_limit":300`, `"allowed_categories":["advertising"]`)
	s.Settle(s.Authorize(card, "296.10", "7311").Transaction(), "").OK(201)
	limit := s.Authorize(card, "4.78", "7311").Transaction()
	category := s.Authorize(card, "4.78", "7011").Transaction()
	funds := s.Authorize(card, "9000", "7311", `"fee":0.5`).Transaction()
	s.Post("/cards/"+card+"/fund", `{"amount":5}`).OK(200)
	s.Advance("744h")
	for id, reason := range map[string]string{
		limit:    "4.78 requested, 296.10 of 300.00 used in March",
		category: "MCC 7011 is travel; allowed: advertising",
		funds:    "9,000.50 requested, 203.90 available",
	} {
		for _, path := range []string{"/transactions", "/cards/" + card, "/"} {
			b.get(path).has(reason, `href="/transactions/`+id+`"`)
		}
		b.get("/transactions/" + id).has(reason)
	}
	s.Freeze(card)
	frozen := s.Authorize(card, "1", "7311").Transaction()
	b.get("/transactions/" + frozen).has("card frozen").lacks("requested,")
}

// The page of a purchase shows all its transactions, under the id of any of them.
func TestPurchase(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s, b := start(t, inbox.Trusted)
	s.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["*"]}`).OK(201)
	card := s.Issue("100", `"label":"summer"`)
	other := s.Authorize(card, "1", "7311").Transaction()
	authorization := s.Authorize(card, "40", "7311", `"fee":0.25`).Transaction()
	settlement := s.Settle(authorization, "38.50").Transaction()
	refund := s.Refund(settlement, "10").Transaction()
	inbox.Wait(4)
	for _, id := range []string{authorization, settlement, refund} {
		b.get("/transactions/"+id).has(authorization, settlement, refund, "<title>Big Ads 40.00 · ", ">-40.25<", ">&#43;1.50<", ">-28.75<", ">fee</a>",
			">transaction.authorized</a>", ">transaction.settled</a>", ">transaction.refunded</a>", `value="28.50"`).
			lacks(other, "card.created", ">card issued</a>").counts(`<tr id="txn_`, 3)
	}
	b.post("/transactions/"+authorization, "refund", "transaction_id", settlement, "amount", "5").has("is credited", "15.00 refunded")
	b.post("/transactions/"+other, "settle", "transaction_id", other, "amount", "1").has("is settled")
	for _, path := range []string{"/transactions/txn_none", "/transactions/" + card} {
		b.get(path).is(404)
	}
	s.Balanced()
}

// A page shows times as dates, and relative to the service's clock.
func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	card := s.Issue("100")
	b.get("/cards/" + card).has(`<time datetime="2026-03-01T12:00:00Z" title="UTC">2026-03-01 12:00:00 <small>now</small></time>`)
	for step := range strings.SplitSeq("9s now|1s 10 s ago|50s 1 min ago|59m 1 h ago|22h59m 23 h ago|1m 1 d ago|696h 30 d ago", "|") {
		duration, ago, _ := strings.Cut(step, " ")
		s.Advance(duration)
		b.get("/cards/" + card).has(`2026-03-01 12:00:00 <small>` + ago + `</small></time>`)
	}
	s.Advance("24h")
	b.get("/cards/" + card).has(`title="UTC">2026-03-01 12:00:00</time>`)
}

// purchase issues a card with 500.00 USD. It returns the path of the card's page, and a form of the page that spends
// 40.00.
func purchase(t testing.TB) (s *sandboxtest.Server, b *browser, path string, buy url.Values) {
	t.Helper()
	s, b = start(t)
	path = "/cards/" + s.Issue("500")
	buy = b.form(path, "action", "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311")
	return s, b, path, buy
}

// checkTransactions fails the test unless the account has the given number of transactions.
func checkTransactions(s *sandboxtest.Server, want int) {
	s.T.Helper()
	sandboxtest.Equal(s.T, "transactions", len(s.Get("/transactions").Data()), want)
}

// A form that is sent again, for example by a reload, does not repeat its call. A session remembers the last 32 forms.
func TestRepeatedForm(t *testing.T) {
	t.Parallel()
	s, b, path, buy := purchase(t)
	const done, again = "Authorized: 40.00 USD", "Its action was not repeated."
	b.send(http.MethodPost, path, buy).has(done)
	b.send(http.MethodPost, path, buy).has(again).lacks(done)
	checkTransactions(s, 1)
	buy.Set("amount", "41") // another form of the same page
	b.send(http.MethodPost, path, buy).has("Authorized: 41.00 USD")
	b.post(path, "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311").has(done)
	other := "/cards/" + s.Issue("500")
	buy.Set("amount", "40")
	b.send(http.MethodPost, other, buy).has(done) // a form of another page
	b.send(http.MethodPost, path, buy).has(again) // other forms since then make no difference
	checkTransactions(s, 4)
	others := b.form("/requests", "action", "forget")
	for i := range 32 {
		others.Set("other", strconv.Itoa(i))
		b.send(http.MethodPost, "/requests", others).has("The request log is cleared.")
	}
	b.send(http.MethodPost, other, buy).has(done) // the session has forgotten this form

	refused := b.form(path, "action", "buy", "amount", "1000", "merchant", "", "mcc", "7311")
	b.send(http.MethodPost, path, refused).is(400)
	b.send(http.MethodPost, path, refused).is(400)

	create := b.form("/world", "action", "create-account", "state", "ready", "initial_balance", "7")
	key := b.send(http.MethodPost, "/world", create).find(`sk_live_\w+`)
	reloaded := b.send(http.MethodPost, "/world", create)
	sandboxtest.Equal(t, "the key after a reload", reloaded.find(`sk_live_\w+`), key)
	sandboxtest.Equal(t, "accounts", s.Get("/_sandbox/accounts").OK(200).Text("total"), "2")
}

// The notice of a form is shown once, on the page that follows. A live update does not take it. If the form is sent
// again before that page was opened, the response to the second form shows the notice of the first.
func TestNoticeIsShownOnce(t *testing.T) {
	t.Parallel()
	_, b, path, buy := purchase(t)
	path += "?page=1"
	const done = "Authorized: 40.00 USD"
	follow := b.client.CheckRedirect
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	redirect := b.send(http.MethodPost, path, buy).is(303)
	sandboxtest.Equal(t, "the page that follows", redirect.Header.Get("Location"), path)
	b.client.CheckRedirect = follow
	b.header = http.Header{"X-Dashboard-Live": {"1"}}
	b.get(path).lacks(done)
	b.header = http.Header{}
	second := b.send(http.MethodPost, path, buy).has(done).lacks("already submitted")
	sandboxtest.Equal(t, "the page after the second form", second.Request.URL.RequestURI(), path)
	b.get(path).lacks(done)
}

// If the browser cancels the request of a form, the call continues. When the form is sent again, the request waits for
// the first call, which is not repeated.
func TestCancelledForm(t *testing.T) {
	t.Parallel()
	s, b, path, buy := purchase(t)
	run := execute(t, s)
	run("BEGIN IMMEDIATE") // blocks all writes until ROLLBACK
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	first := sandboxtest.Must(http.NewRequestWithContext(ctx, http.MethodPost, b.root+path, strings.NewReader(buy.Encode())))
	first.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {b.root}}
	response, err := b.client.Do(first)
	if err == nil {
		_ = response.Body.Close()
		t.Fatalf("the blocked request has the status %d", response.StatusCode)
	}
	second := make(chan seen, 1)
	go func() { second <- b.send(http.MethodPost, path, buy) }()
	run("ROLLBACK")
	(<-second).is(200).has("460.00")
	checkTransactions(s, 1)
}
