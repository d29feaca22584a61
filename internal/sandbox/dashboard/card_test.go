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

// The life of a card, by forms alone, which act on what their page's path names,
// whatever they say themselves.
func TestStoryOfACard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/cards").has("No active or frozen cards")
	card := s.Issue("100", `"label":"summer"`)
	page, other := "/cards/"+card, s.Issue("100")
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

	// A settlement and a refund without an amount are of all that is left.
	authorization = s.Authorize(card, "40", "7311").Transaction()
	press("settle", "transaction_id", authorization, "amount", " ").has("is settled", "31.50")
	settlement = s.Get("/transactions").Data()[0]["id"].(string)
	press("refund", "transaction_id", settlement, "amount", "1")
	press("refund", "transaction_id", settlement).has("is credited", "40.00 settled, 40.00 refunded", `<span class="authorization">0.00</span>`)

	// The end of a card gives its balance back; what merchants were promised stays theirs.
	s.Authorize(card, "20", "7311").OK(201)
	press("terminate").has("51.50 USD returned", `class="badge terminated"`).lacks(`value="buy"`)
	sandboxtest.Equal(t, "the card", s.Get(page).Text("status"), "terminated")
	b.get("/cards/"+other).has(`class="badge active"`, "Issued").lacks("Example Ads <small>", `class="badge frozen"`)
	const held = `<dt>Held by authorizations</dt><dd>20.00 `
	b.get(page).has(held, "Settle…")
	b.get("/").has("9,849.50", "38.50", "summer", held)
	s.Balanced()
}

// A refused form says why, and keeps what was typed.
func TestRefusedForm(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	page := "/cards/" + card
	b.post(page, "buy", "amount", "4,50", "merchant", "Corner Shop", "mcc", "73").is(400).
		has("Amount must be a number.", `value="Corner Shop"`).counts(`value="4,50"`, 1)
	b.post(page, "buy", "amount", "-1", "merchant", "Corner Shop", "mcc", "7311").has("Amount must be above 0.")
	sandboxtest.Equal(t, "transactions", len(s.Get("/transactions").Data()), 0)
	first, _ := s.Authorize(card, "10", "7311").Transaction(), s.Authorize(card, "20", "7311").OK(201)
	b.post(page, "settle", "transaction_id", first, "amount", "1,5").has("Amount must be a number.", `value="1,5"`, `value="20.00"`).
		matches(`id="`+first+`".*?<details class="confirm" open>`).counts(`"confirm" open`, 1)
}

// The number and the code are in no page but the response to the press for them,
// which counts against the limit of details, and is in no request log. Other reads of
// pages count for nothing.
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
	pan, page := details.Text("pan"), "/cards/"+card
	grouped := fmt.Sprint(pan[:4], " ", pan[4:8], " ", pan[8:12], " ", pan[12:])
	const goes = `<meta http-equiv="refresh" content="60">` // the number, with a page that is left alone
	b.get(page).lacks(pan, grouped, goes)
	shown := b.post(page, "details").has(grouped, details.Text("cvv"), goes)
	sandboxtest.Equal(t, "Cache-Control", shown.Header.Get("Cache-Control"), "no-store")
	b.get(page).lacks(grouped)
	again := b.form(page, "action", "details")
	for range 2 { // no session keeps it: it is read anew when its page is loaded again
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

// A bar is a part of its whole, seen as soon as there is any of it, and never more.
func TestBars(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	for range 3 {
		s.Get("/cards/" + card + "/details").OK(200)
	}
	for limit, bar := range map[string][3]string{
		"1000": {"3 / 1,000", "bar", "1"}, "4": {"3 / 4", "bar", "75"}, "3": {
			"3 / 3", "bar full",
			"100",
		}, "2": {"3 / 2", "bar full", "100"}, "0": {"no limit", "bar", "0"},
	} {
		s.Put("/_sandbox/limits", `{"details_per_minute":`+limit+`}`).OK(200)
		b.get("/").matches(fmt.Sprintf(`Details read, last minute</th><td class="number">%s</td><td class="share"><svg class="%s" [^>]*><rect [^>]*><rect class="part" width="%s"`, bar[0], bar[1], bar[2]))
	}
	b.get("/cards/" + card).has(`<rect class="part" width="0"`)
}

// Whatever happens on an account is said in words, on its overview and by the card.
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

// A decline says what decided it, as it stood then.
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
	for id, why := range map[string]string{
		limit: "4.78 requested, 296.10 of 300.00 used in March", category: "MCC 7011 is travel; allowed: advertising", funds: "9,000.50 requested, 203.90 available",
	} {
		for _, path := range []string{"/transactions", "/cards/" + card, "/"} {
			b.get(path).has(why, `href="/transactions/`+id+`"`)
		}
		b.get("/transactions/" + id).has(why)
	}
	s.Freeze(card)
	frozen := s.Authorize(card, "1", "7311").Transaction()
	b.get("/transactions/" + frozen).has("card frozen").lacks("requested,")
}

// The page of a purchase has all that came of it, by the id of any of its transactions.
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

// Times are told as they are, and from now, by the service's clock.
func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	card := s.Issue("100")
	b.get("/cards/" + card).has(`<time datetime="2026-03-01T12:00:00Z" title="UTC">2026-03-01 12:00:00 <small>now</small></time>`)
	for step := range strings.SplitSeq("9s now|1s 10 s ago|50s 1 min ago|59m 1 h ago|22h59m 23 h ago|1m 1 d ago|696h 30 d ago", "|") {
		by, ago, _ := strings.Cut(step, " ")
		s.Advance(by)
		b.get("/cards/" + card).has(`2026-03-01 12:00:00 <small>` + ago + `</small></time>`)
	}
	s.Advance("24h")
	b.get("/cards/" + card).has(`title="UTC">2026-03-01 12:00:00</time>`)
}

// purchase is a form that buys for 40.00 of the 500.00 on a card.
func purchase(t testing.TB) (s *sandboxtest.Server, b *browser, path string, buy url.Values) {
	t.Helper()
	s, b = start(t)
	path = "/cards/" + s.Issue("500")
	return s, b, path, b.form(path, "action", "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311")
}

// bought fails the test unless there are so many purchases.
func bought(s *sandboxtest.Server, want int) {
	s.T.Helper()
	sandboxtest.Equal(s.T, "transactions", len(s.Get("/transactions").Data()), want)
}

// A form that is sent again does nothing again, whatever sends it: a second click, a
// reload, or the way back to its page. What is remembered of forms is bounded.
func TestAFormIsDoneOnce(t *testing.T) {
	t.Parallel()
	s, b, path, buy := purchase(t)
	const done, again = "Authorized: 40.00 USD", "Nothing was done again."
	b.send(http.MethodPost, path, buy).has(done)
	b.send(http.MethodPost, path, buy).has(again).lacks(done)
	bought(s, 1)
	buy.Set("amount", "41") // other forms of the same page are theirs
	b.send(http.MethodPost, path, buy).has("Authorized: 41.00 USD")
	b.post(path, "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311").has(done)
	other := "/cards/" + s.Issue("500")
	buy.Set("amount", "40")
	b.send(http.MethodPost, other, buy).has(done) // and so are those of other pages
	b.send(http.MethodPost, path, buy).has(again) // whatever was sent since
	bought(s, 4)
	others := b.form("/requests", "action", "forget")
	for i := range 32 {
		others.Set("other", strconv.Itoa(i))
		b.send(http.MethodPost, "/requests", others).has("The request log is cleared.")
	}
	b.send(http.MethodPost, other, buy).has(done) // of the 33 last ones the first

	refused := b.form(path, "action", "buy", "amount", "1000", "merchant", "", "mcc", "7311")
	b.send(http.MethodPost, path, refused).is(400)
	b.send(http.MethodPost, path, refused).is(400)

	create := b.form("/world", "action", "create-account", "state", "ready", "initial_balance", "7")
	key := b.send(http.MethodPost, "/world", create).find(`sk_live_\w+`)
	sandboxtest.Equal(t, "the key that a reload shows", b.send(http.MethodPost, "/world", create).find(`sk_live_\w+`), key)
	sandboxtest.Equal(t, "accounts", s.Get("/_sandbox/accounts").OK(200).Text("total"), "2")
}

// What was done is said on the page that follows, once, and not to one that only looks for
// news; to who only sees the response to a second press, too, on the very part of the page.
func TestNoticeIsSaidOnce(t *testing.T) {
	t.Parallel()
	_, b, path, buy := purchase(t)
	path += "?page=1"
	const done = "Authorized: 40.00 USD"
	follow := b.client.CheckRedirect
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	led := b.send(http.MethodPost, path, buy).is(303)
	sandboxtest.Equal(t, "the page that follows", led.Header.Get("Location"), path)
	b.client.CheckRedirect = follow
	b.header = http.Header{"X-Dashboard-Live": {"1"}}
	b.get(path).lacks(done)
	b.header = http.Header{}
	second := b.send(http.MethodPost, path, buy).has(done).lacks("already submitted")
	sandboxtest.Equal(t, "the page of the second press", second.Request.URL.RequestURI(), path)
	b.get(path).lacks(done)
}

// A press that is given up by a second one is done all the same, once, and the second
// one waits for it.
func TestAPressThatWasGivenUp(t *testing.T) {
	t.Parallel()
	s, b, path, buy := purchase(t)
	run := execute(t, s)
	run("BEGIN IMMEDIATE") // nothing is written meanwhile
	ctx, giveUp := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer giveUp()
	first := sandboxtest.Must(http.NewRequestWithContext(ctx, http.MethodPost, b.root+path, strings.NewReader(buy.Encode())))
	first.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {b.root}}
	if response, err := b.client.Do(first); err == nil {
		_ = response.Body.Close()
		t.Fatalf("answered %d", response.StatusCode)
	}
	second := make(chan seen, 1)
	go func() { second <- b.send(http.MethodPost, path, buy) }()
	run("ROLLBACK")
	(<-second).is(200).has("460.00")
	bought(s, 1)
}
