package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// script is a text that a page must escape.
const script = `<script>alert(1)</script>`

// Lists are in order, newest first, and show the rows that match a filter.
func TestLists(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)), func(o *sandboxtest.Options) { o.InitialBalance = 12_345_678 * usd.Dollar })
	b.get("/transactions").has("No transactions yet", "simulate a purchase")
	b.get("/3ds").has("No pending challenges", "start 3D Secure")
	b.get("/ledger").has("opening balance", "12,345,678.00", "-12,345,678.00", "No money has moved yet")
	alpha := s.Issue("1200", `"label":"Alpha"`)
	s.Issue("300", `"label":"beta"`)
	gamma := s.Post("/cards", map[string]any{"bin_id": sandboxtest.BIN, "amount": 500, "label": script + "gamma"}).OK(201).Text("id")
	s.Settle(s.Authorize(alpha, "40", "7311").Transaction(), "38.50").OK(201)
	s.Advance("1s")
	s.Authorize(alpha, "9000", "7311").OK(201)
	s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201)
	s.Post("/_sandbox/3ds-challenges/"+challenge(s, alpha, "first shop").Text("id")+"/complete", `{"outcome":"approved"}`).OK(200)
	challenge(s, alpha, "second shop")
	s.Advance("48h")
	challenge(s, alpha, "third shop")
	s.Post("/_sandbox/authorizations", map[string]any{"card_id": gamma, "amount": 12.34, "merchant": map[string]string{"name": script, "mcc": "5812"}}).OK(201)

	rows := map[string]string{ // what the test compares of each row, by the first segment of the path
		"cards":        `<tr id="card_.*?<bdi>(?:&lt;.*&gt;)?(\w+)</bdi>`,
		"transactions": `number fig"><span class="\w+">-?([\d,.]+)</span>`,
		"3ds":          `(first|second|third) shop`,
		"deposits":     `<tr id="(dep)_`,
		"ledger":       `<tbody id=.*?entry=\d+">([\w ]+)</a>`,
	}
	for _, row := range sandboxtest.Table(t, "testdata/lists.txt", 2) {
		path := strings.Replace(row[0], "ALPHA", alpha, 1)
		want := row[1]
		page := b.get(path).is(200)
		list := strings.Trim(regexp.MustCompile(`^/\w+`).FindString(path), "/")
		var got []string
		for _, found := range regexp.MustCompile("(?s)"+rows[list]).FindAllStringSubmatch(page.text, -1) {
			got = append(got, found[1])
		}
		sandboxtest.Equal(t, path, strings.Join(got, " "), want)
		if want == "" {
			page.has(" match")
		}
	}
	b.get("/transactions").has("Alpha", "38.50", "12.34", "insufficient funds", "&lt;script&gt;", "5812",
		"<dt>Held</dt><dd>12.34 <small>USD</small>", "1–3 of 3", "<dt>Settled</dt><dd>38.50 <small>USD</small>", "7311 advertising", "40.00 authorized",
		`<span class="authorization">-38.50</span>`).lacks(script)
	b.get("/transactions?q=GAM&state=authorized").has("1–1 of 1", `value="GAM"`, `value="authorized" selected`)
	b.get("/cards").has("1,161.50")
}

// The list of cards hides terminated ones by default. It marks low balances: zero, or less than was spent in the last
// seven days.
func TestCardsByStatusAndBalance(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.StartingAt(day(1)))
	s.Issue("100", `"label":"unused"`)
	s.Freeze(s.Issue("100", `"label":"paused"`))
	s.Terminate(s.Issue("100", `"label":"ended"`))
	s.Settle(s.Authorize(s.Issue("100", `"label":"half"`), "50", "7311").Transaction(), "").OK(201)
	s.Settle(s.Authorize(s.Issue("100", `"label":"low"`), "51", "7311").Transaction(), "").OK(201)
	s.Authorize(s.Issue("100", `"label":"empty"`), "100", "7311").OK(201)
	label := regexp.MustCompile(`<tr id="card_.*?<bdi>(\w+)</bdi>`)
	shows := func(query, want string) seen {
		t.Helper()
		page := b.get("/cards" + query).is(200)
		var got []string
		for _, found := range label.FindAllStringSubmatch(page.text, -1) {
			got = append(got, found[1])
		}
		sandboxtest.Equal(t, "/cards"+query, strings.Join(got, " "), want)
		return page
	}
	shows("", "empty low half paused unused").has("2 active cards have a low balance").counts(">low balance</span>", 2)
	shows("?status=low_balance", "empty low").counts(">low balance</span>", 2)
	shows("?status=terminated", "ended")
	shows("?status=all", "empty low half ended paused unused")
	s.Advance("144h") // the seventh day still counts
	shows("?status=low_balance", "empty low")
	s.Advance("24h")
	shows("?status=low_balance", "empty").has("active").counts(">low balance</span>", 1)
	b.get("/").has(`<a href="/cards?status=low_balance">1 low balance</a>`)
}

// A page of a list has a maximum number of rows, and the links lead to every row.
func TestLongLists(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, nil)
	s, b := start(t, inbox.Trusted)
	s.Unlimited()
	card := s.Issue("500", `"label":"=1+2"`)
	for range 119 {
		s.Authorize(card, "1.25", "7311").OK(201)
		s.Get("/cards/card_%3Cscript%3E").Refused(404, "not_found", "")
	}
	s.Authorize(card, "9000", "7311").OK(201)
	for range 59 {
		s.Get("/cards/card_0")
		s.Post("/_sandbox/accounts", `{"state":"no_deposit"}`).OK(201)
		s.Post("/webhooks", `{"url":"`+inbox.URL+`","events":["card.frozen"]}`).OK(201)
	}
	s.Freeze(card)
	s.Get("/_sandbox/requests").OK(200) // writes the recorded requests to the file
	for path, test := range map[string]struct {
		row  string // the beginning of a row
		want []int  // the number of rows on each page
	}{
		"/transactions?state=authorized":       {`<tr id="txn_`, []int{50, 50, 19}},
		"/cards/" + card:                       {`<tr id="txn_`, []int{49, 50, 21}},
		"/requests?outcome=refused&method=GET": {`<tr id="request-`, []int{50, 50, 50, 28}},
		"/runs/1":                              {`<tr id="request-`, []int{200, 39}},
		"/world":                               {"<tr><td><code>acct_", []int{50, 10}},
	} {
		const maxPages = 9
		var got []int
		pathOnly, _, _ := strings.Cut(path, "?")
		next := path
		for len(got) < maxPages {
			page := b.get(next).lacks("<script>")
			got = append(got, strings.Count(page.text, test.row))
			query := page.find(`rel="next" href="(\?[^"]*page=[^"]+)"`)
			if query == "" {
				break
			}
			next = pathOnly + query
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("the pages of %s have %v rows, want %v", path, got, test.want)
		}
	}
	b.get("/webhooks").counts(`<tr id="wh_`, 50).counts(`<tr id="dlv_`, 50)
	b.get("/webhooks?endpoints=2").counts(`<tr id="wh_`, 9).counts(`<tr id="dlv_`, 50)
	b.get("/webhooks?endpoints=2&page=2").counts(`<tr id="dlv_`, 9).has("endpoints=1&amp;page=2", "endpoints=2&amp;page=1")
	for number, text := range map[string]string{
		"2": "51–100 of 120", "4": "No transactions match", "999999": "No transactions match",
		"9223372036854775807": "1–50 of 120", "99999999999999999999": "1–50 of 120",
		"0": "1–50 of 120", "-1": "1–50 of 120", "x": "1–50 of 120",
	} {
		b.get("/transactions?page=" + number).is(200).has(text)
	}
}

// challenge starts a 3D Secure challenge for a card.
func challenge(s *sandboxtest.Server, card, merchant string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": merchant, "amount": 25}).OK(201)
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	card := s.Issue("100", `"label":"summer"`)
	first := challenge(s, card, script)
	s.Advance("30s")
	b.get("/3ds").has(first.Text("otp"), "4m30s", "summer", "25.00", "&lt;script&gt;").lacks(script)
	b.post("/3ds", "approved", "id", first.Text("id")).has("The challenge is approved.", `class="badge approved"`).lacks(first.Text("otp"))
	sandboxtest.Equal(t, "the approved challenge", s.Get("/3ds?status=approved").Data()[0]["id"], any(first.Text("id")))
	b.post("/3ds", "failed", "id", first.Text("id")).is(400).has("only pending challenges can be completed")
	second := challenge(s, card, "Example Ads")
	third := challenge(s, card, "Example Ads")
	b.post("/3ds", "failed", "id", second.Text("id")).has("The challenge has failed.", `class="badge failed"`, third.Text("otp"))
	s.Advance("5m")
	b.get("/3ds").has("No pending challenges", `class="badge expired"`, "clock &#43;6m<").lacks(third.Text("otp"))
	b.get("/cards/"+card).has("3D Secure approved", "3D Secure failed", "3D Secure expired")
}

func TestDeposits(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/deposits").has("No deposits yet", "sandbox-btc-", "Avalanche C-Chain", "nobody can send real coins")
	for _, address := range s.Get("/wallet/deposit-address").OK(200).Data() {
		b.get("/deposits").has(address["address"].(string))
	}
	b.post("/deposits", "announce", "currency", "eth", "amount", "250").has("The deposit is pending.", "250.00", `class="badge pending"`)
	sandboxtest.Equal(t, "pending deposits", s.Get("/wallet/balance").Text("pending_deposits"), "250.00")
	id := b.get("/deposits").find(`(dep_\w+)`)
	b.post("/deposits", "confirm", "id", id).has("credited to the wallet", `class="badge confirmed"`).lacks(`value="confirm"`)
	sandboxtest.Equal(t, "the wallet", s.Get("/wallet/balance").Text("balance"), "10250.00")
	b.post("/deposits", "confirm", "id", id).has("is already confirmed")
	b.post("/deposits", "announce", "currency", "eth", "amount", script).has("Amount must be a number", "&lt;script&gt;", `value="eth" selected`).lacks(script)
	s.Balanced()
}

func TestLedger(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Post("/cards", map[string]any{"bin_id": sandboxtest.BIN, "amount": 100, "label": script}).OK(201).Text("id")
	s.Settle(s.Authorize(card, "40", "7311").Transaction(), "").OK(201)
	b.get("/ledger").has("card issued", `data-label="debit">101.00</td>`, "&lt;script&gt;", `<td class="number">9,899.00</td>`, `<td class="number">60.00</td>`,
		`<td class="number">40.00</td>`, `<th scope="row">Sum</th><td></td><td class="number">0.00</td>`).
		lacks(script, "Balanced at", "No money has moved yet").counts("<tbody id=", 4)
	b.post("/ledger", "audit").has("Balanced at")
	execute(t, s)("UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'fees'")
	b.post("/ledger", "audit").has("Not balanced at", "fees has a balance of 1.01 USD").lacks("Balanced at")
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/requests").has("No requests yet", "terraform plan")
	body := `{"bin_id":"` + sandboxtest.BIN + `","amount":50}`
	s.Post("/cards", body, sandboxtest.IdempotencyKey, "once").OK(201)
	s.Get("/cards?status=active").OK(200)
	s.Post("/cards", body, sandboxtest.IdempotencyKey, "once").OK(201)
	s.Post("/cards/card_none/freeze", nil, sandboxtest.IdempotencyKey, "once").Refused(404, "not_found", "")
	// Calls with different methods are not attempts of the same call.
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		s.Call(method, "/cards/card_none", nil, sandboxtest.IdempotencyKey, "once").Refused(404, "not_found", "")
	}
	s.Get("/cards?status=" + s.Key)
	s.Fault(`{"method":"GET","path":"/bins","then":"drop"}`)
	s.WithoutRetries().Send(t.Context(), http.MethodGet, "/bins", nil)
	s.Get("/_sandbox/requests").OK(200) // writes the recorded requests to the file

	b.get("/requests?run=1").has("<b>POST</b> /cards", "?status=active", "once", `<span class="badge failed">404</span>`, `<span class="badge failed">none</span>`).
		lacks(s.Key).counts(`<tr id="request-`, 8).counts(`class="badge replayed"`, 1)
	b.get("/runs/1").has("<h1>Other client").counts(`<tr id="request-`, 8).counts("attempt 2", 1).lacks(s.Key)
	b.post("/requests", "forget").has("The request log is cleared.", "No requests yet")
	sandboxtest.Equal(t, "requests left", len(s.Get("/_sandbox/requests").OK(200).Data()), 0)
}

// The list of endpoints shows their addresses without possible tokens, and their health. Deliveries can be filtered,
// show the payload and the response, and can be sent again, one by one or all that failed.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("<b>no such campaign</b>" + strings.Repeat("x", 2_000)))
	})
	s, b := start(t, inbox.Trusted)
	b.get("/webhooks").has("No endpoints.", "vcard_webhook", "because there is no endpoint")
	hook := s.Post("/webhooks", `{"url":"`+inbox.URL+`/team-a/v2/xoxB9z8y7x6w5/in?token=t0k3n","events":["card.created","3ds.challenge"],"secret":"whsec_chosen"}`).OK(201).Text("id")
	b.get("/webhooks").has("No deliveries yet", inbox.URL+"/team-a/v2/…/in?…", "card.created, 3ds.challenge", hook, `<option value="`+hook+`"`)
	card := s.Post("/cards", map[string]any{"bin_id": sandboxtest.BIN, "amount": 50, "label": script}).OK(201).Text("id")
	sent := inbox.Wait(1)[0]
	id := s.Get("/_sandbox/deliveries").Data()[0]["id"].(string)
	s.Issue("50")
	sandboxtest.Eventually(t, func() bool { return strings.Count(b.get("/webhooks").text, "418 I&#39;m a teapot</td>") == 2 })

	secrets := []string{"t0k3n", "whsec_chosen", "xoxB9", script}
	b.get("/webhooks").has("0 of 2 delivered", "retrying, 2 of 8", "last: answered 418", `class="badge retrying"`).lacks(secrets...)
	page := b.get("/webhooks/"+id).has(sent.Header.Get("X-Webhook-Signature"), sent.ID(), card, "418", "&lt;b&gt;no such campaign&lt;/b&gt;x").
		lacks(strings.Repeat("x", 1_024)).lacks(secrets...)
	page.text = html.UnescapeString(page.text)
	page.has(string(sent.Body))
	b.get("/webhooks?state=retrying&endpoint="+hook).counts(`<tr id="dlv_`, 2)
	b.get("/webhooks?about="+card).counts(`<tr id="dlv_`, 1).has(`<a href="/cards/` + card + `">`)
	b.get("/").has(`<a href="/webhooks/dlv_`, "answered 418 I&#39;m a teapot <code>")
	b.get("/webhooks?state=pending").has("No deliveries match")
	b.get("/webhooks?state=delivered").has("No deliveries match")
	b.get("/webhooks?endpoint=wh_none").has("No deliveries match")
	b.get("/webhooks/" + id + "?signature=" + url.QueryEscape(" "+sent.Header.Get("X-Webhook-Signature"))).has("The signature matches.")
	b.get("/webhooks/"+id+"?signature=sha256%3D00%3Cscript%3E").has("The signature does not match.", "&lt;script&gt;").lacks("The signature matches.", "<script>0")

	inbox.Respond(nil)
	b.post("/webhooks/"+id, "redeliver").has("The event is sent again.")
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/webhooks").text, "1 of 2 delivered") })
	b.get("/webhooks/"+id).has("418", ">200<")
	b.post("/webhooks", "redeliver-failed").has("All failed deliveries are sent again.")
	sandboxtest.Eventually(t, func() bool { return strings.Contains(b.get("/webhooks").text, "2 of 2 delivered") })
	b.get("/webhooks").lacks("retrying, ", "last: ")
	b.get("/webhooks?state=delivered").counts(`<tr id="dlv_`, 2)
	b.post("/webhooks", "redeliver", "delivery_id", id).has("The event is sent again.")
	inbox.Wait(5)
	// The button that removes the endpoint is in a closed section.
	b.get("/webhooks").matches(`(?s)<details class="confirm">\s*<summary[^>]*>Remove…</summary>\s*<form[^>]*>[^/]*value="` + hook + `"`)
	b.post("/webhooks", "remove", "webhook_id", hook).has("The endpoint is removed.", "No endpoints.", "because there is no endpoint")
	b.get("/webhooks/" + id).is(404)
}
