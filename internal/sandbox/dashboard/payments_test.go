package dashboard_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

const script = `<script>alert(1)</script>`

// another logs in to a second account of the file.
func another(t testing.TB, s *sandboxtest.Server) *browser {
	t.Helper()
	return newBrowser(t, s).logIn(s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key"))
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.StartingAt(day(1)))
	b.get("/transactions").has(t, "There is no transaction yet", "buy something")
	summer, winter := s.Issue("500", `"label":"summer"`), s.Issue("500", `"label":"winter"`)
	settled := s.Authorize(summer, "40", "7311").Transaction()
	s.Settle(settled, "38.50").OK(201)
	s.Authorize(summer, "9000", "7311").OK(201)
	s.Advance("48h")
	s.Post("/_sandbox/authorizations", map[string]any{"card_id": winter, "amount": 12.34, "merchant": map[string]string{"name": script, "mcc": "5812"}}).OK(201)

	b.get("/transactions").has(t, "summer", "winter", "38.50", "12.34", "insufficient funds", "&lt;script&gt;", "5812",
		"authorization</span> × 2</dt><dd>52.34 <small>USD</small>", "1–3 of 3", "38.50 <small>USD</small>", "7311 advertising", "40.00 authorized", `<span class="authorization">-38.50</span>`).lacks(t, script)
	b.get("/transactions?q=wint").has(t, "winter", "1–1 of 1", `value="wint"`).lacks(t, "summer", "38.50")
	b.get("/transactions?q="+summer).has(t, "1–2 of 2").lacks(t, "winter")
	b.get("/transactions?state=settled").has(t, "38.50", "1–1 of 1", `value="settled" selected`).lacks(t, "12.34")
	b.get("/transactions?from=&to=2026-03-01").has(t, "summer", "1–2 of 2").lacks(t, "winter")
	b.get("/transactions?from=2026-03-03&to=2026-03-03&q=&type=").has(t, "winter", "1–1 of 1").lacks(t, "summer")
	b.get("/transactions?from=2026-04-01").has(t, "No transactions match")
	for _, query := range []string{"from=2026-03-03&to=2026-03-01", "from=soon", "to=%00"} {
		if refused := b.get("/transactions?" + query); refused.StatusCode != http.StatusBadRequest {
			t.Errorf("%s was answered %d", query, refused.StatusCode)
		}
	}
	another(t, s).get("/transactions").has(t, "There is no transaction yet")
	another(t, s).get("/transactions?q="+summer).has(t, "No transactions match")
}

// Pages are bounded, and reach every transaction.
func TestTransactionsInPages(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Unlimited()
	card := s.Issue("500")
	const all = 120
	for i := range all {
		s.Authorize(card, fmt.Sprintf("1.%02d", i%100), "7311").OK(201)
	}
	for first, below := range map[string]string{"/transactions?state=authorized": "/transactions", "/cards/" + card: "/cards/" + card} {
		rows, full := 0, 0
		for path := first; path != ""; {
			page := b.get(path)
			n := strings.Count(page.text, `<tr id="txn_`)
			if n == 50 {
				full++
			}
			rows += n
			path = next(page, below)
		}
		if rows != all || full != 2 {
			t.Errorf("the pages of %s have %d transactions, %d are full", first, rows, full)
		}
	}
	for number, part := range map[string]string{
		"999999": "No transactions match", "9223372036854775807": "No transactions match",
		"99999999999999999999": "1–50 of 120", "0": "1–50 of 120", "-1": "1–50 of 120", "x": "1–50 of 120",
	} {
		if got := b.get("/transactions?page="+number).has(t, part); got.StatusCode != http.StatusOK {
			t.Errorf("page %s was answered %d", number, got.StatusCode)
		}
	}
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.Stopped(day(1)))
	b.get("/3ds").has(t, "No challenge is pending", "start 3D Secure")
	card := s.Issue("100", `"label":"summer"`)
	ask := func(merchant string) sandboxtest.Response {
		return s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": merchant, "amount": 25}).OK(201)
	}
	first := ask(script)
	s.Advance("30s")
	b.get("/3ds").has(t, first.Text("otp"), "4m30s", "summer", "25.00", "&lt;script&gt;").lacks(t, script)

	b.post("/3ds", "approved", "id", first.Text("id")).has(t, "The challenge is approved.", `class="badge approved"`).lacks(t, first.Text("otp"))
	if got := s.Get("/3ds?status=approved").Data(); len(got) != 1 || got[0]["id"] != first.Text("id") {
		t.Errorf("approved are %v", got)
	}
	if again := b.post("/3ds", "failed", "id", first.Text("id")).has(t, "only a pending one can be completed"); again.StatusCode != http.StatusBadRequest {
		t.Errorf("completing it again was answered %d", again.StatusCode)
	}
	second, third := ask("Example Ads"), ask("Example Ads")
	b.post("/3ds", "failed", "id", second.Text("id")).has(t, "The challenge has failed.", `class="badge failed"`, third.Text("otp"))

	other := another(t, s)
	other.get("/3ds").has(t, "No challenge is pending").lacks(t, third.Text("otp"))
	if foreign := other.post("/3ds", "approved", "id", third.Text("id")); foreign.StatusCode != http.StatusNotFound {
		t.Errorf("another account's challenge was answered %d", foreign.StatusCode)
	}
	b.get("/3ds").has(t, third.Text("otp"))
	s.Advance("5m")
	b.get("/3ds").has(t, "No challenge is pending", `class="badge expired"`).lacks(t, third.Text("otp"))
	b.get("/cards/"+card).has(t, "3D Secure approved", "3D Secure failed", "3D Secure expired")
}

// day is noon of a day of March 2026.
func day(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }

// A settlement and a refund without an amount are of all that is left.
func TestFollowUpOfAll(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	card := s.Issue("100")
	page, authorization := "/cards/"+card, s.Authorize(card, "40", "7311").Transaction()
	b.post(page, "settle", "transaction_id", authorization, "amount", " ").has(t, "is settled")
	settlement := s.Get("/transactions").Data()[0]["id"].(string)
	b.post(page, "refund", "transaction_id", settlement, "amount", "1")
	b.post(page, "refund", "transaction_id", settlement).has(t, "is on the card", "40.00 settled, 40.00 refunded", `<span class="authorization">0.00</span>`)
	if got := s.Get("/cards/" + card).Text("balance"); got != "100.00" {
		t.Errorf("the card holds %s", got)
	}
}

var nextLink = regexp.MustCompile(`rel="next" href="([^"]+)"`)

// next is the path of a page's next part, empty at the end.
func next(page seen, path string) string {
	link := nextLink.FindStringSubmatch(page.text)
	if link == nil {
		return ""
	}
	return path + html.UnescapeString(link[1])
}

func TestDeposits(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/deposits").has(t, "There is no deposit yet", "sandbox-btc-", "Avalanche C-Chain", "nobody can send real coins")
	for _, address := range s.Get("/wallet/deposit-address").OK(200).Data() {
		b.get("/deposits").has(t, address["address"].(string))
	}
	b.post("/deposits", "announce", "currency", "eth", "amount", "250").has(t, "on their way", "250.00", `class="badge pending"`)
	if got := s.Get("/wallet/balance").Text("pending_deposits"); got != "250.00" {
		t.Errorf("%s are pending", got)
	}
	id := regexp.MustCompile(`dep_\w+`).FindString(b.get("/deposits").text)
	b.post("/deposits", "confirm", "id", id).has(t, "in the wallet", `class="badge confirmed"`).lacks(t, `value="confirm"`)
	if got := s.Get("/wallet/balance").Text("balance"); got != "10250.00" {
		t.Errorf("the wallet has %s", got)
	}
	b.post("/deposits", "confirm", "id", id).has(t, "is confirmed already")
	b.post("/deposits", "announce", "currency", "eth", "amount", script).has(t, "Amount must be a number", "&lt;script&gt;", `value="eth" selected`).lacks(t, script)

	other := another(t, s)
	other.get("/deposits").has(t, "There is no deposit yet")
	pending := s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201).Text("id")
	if foreign := other.post("/deposits", "confirm", "id", pending); foreign.StatusCode != http.StatusNotFound {
		t.Errorf("another account's deposit was answered %d", foreign.StatusCode)
	}
	s.Balanced()
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
		limit: "4.78 asked; 296.10 of 300.00 spent in March", category: "MCC 7011 is travel; allowed: advertising", funds: "9,000.50 asked; 203.90 on the card",
	} {
		for _, path := range []string{"/transactions", "/cards/" + card, "/"} {
			b.get(path).has(t, why, `href="/transactions/`+id+`"`)
		}
		b.get("/transactions/"+id).has(t, why)
	}
	s.Freeze(card)
	frozen := s.Authorize(card, "1", "7311").Transaction()
	b.get("/transactions/"+frozen).has(t, "card frozen").lacks(t, "asked;")
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
		page := b.get("/transactions/"+id).has(t, authorization, settlement, refund, "<title>Big Ads 40.00 · ", "7311 advertising", "38.50 settled, 10.00 refunded",
			">-40.00<", ">-38.50<", ">&#43;10.00<", "<b>authorized</b>", "<b>settled</b>", "<b>refunded</b>", "<b>fee</b>",
			">transaction.authorized</a>", ">transaction.settled</a>", ">transaction.refunded</a>", `value="28.50"`).lacks(t, other, "card.created", "<b>card issued</b>")
		if n := strings.Count(page.text, `<tr id="txn_`); n != 3 {
			t.Errorf("%d transactions", n)
		}
	}
	if list := b.get("/transactions"); strings.Count(list.text, `<tr id="txn_`) != 2 {
		t.Errorf("a purchase has more than one row:\n%s", list.text)
	}
	b.post("/transactions/"+authorization, "refund", "transaction_id", settlement, "amount", "5").has(t, "is on the card", "15.00 refunded")
	b.post("/transactions/"+other, "settle", "transaction_id", other, "amount", "1").has(t, "is settled")
	for _, path := range []string{"/transactions/txn_none", "/transactions/" + card} {
		if got := b.get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s was answered %d", path, got.StatusCode)
		}
	}
	if got := another(t, s).get("/transactions/" + refund); got.StatusCode != http.StatusNotFound {
		t.Errorf("another account was answered %d", got.StatusCode)
	}
	s.Balanced()
}

// The overview and the card have each day's settled money, declines and, of the card,
// the balance, as a picture and as a table.
func TestTimeline(t *testing.T) {
	t.Parallel()
	s, b := start(t, sandboxtest.StartingAt(day(1)))
	card, other := s.Issue("500", `"label":"ads"`), s.Issue("500")
	s.Settle(s.Authorize(card, "100", "7311").Transaction(), "").OK(201)
	s.Advance("48h")
	s.Settle(s.Authorize(card, "50", "7311").Transaction(), "").OK(201)
	s.Settle(s.Authorize(other, "25", "7311").Transaction(), "").OK(201)
	s.Authorize(card, "9000", "7311").OK(201)
	page := b.get("/cards/"+card).has(t, "150.00 USD, 1 declined", `id="day-2026-03-01"><td>2026-03-01</td><td class="number">100.00</td><td class="number">0</td><td class="number">400.00</td>`,
		`id="day-2026-03-03"><td>2026-03-03</td><td class="number">50.00</td><td class="number">1</td><td class="number">350.00</td>`, `height="96"><title>2026-03-01: 100.00 USD`, `height="48"><title>2026-03-03: 50.00 USD`)
	if got := regexp.MustCompile(`class="balance" points="([^"]*)"`).FindStringSubmatch(page.text); got == nil || got[1] != "275,4 285,4 295,16" {
		t.Errorf("the line of the balance is %q", got)
	}
	b.get("/?days=7").has(t, "175.00 USD, 1 declined", `id="day-2026-03-03"><td>2026-03-03</td><td class="number">75.00</td><td class="number">1</td></tr>`, `viewBox="0 0 70 100"`,
		`href="?days=90"`, `href="?days=7" aria-current="true"`).lacks(t, `class="balance"`)
	s.Advance("192h")
	b.get("/?days=7").has(t, "0.00 USD").lacks(t, `id="day-2026`)
	b.get("/?days=90").has(t, "175.00 USD, 1 declined")
}
