package dashboard_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/requests").has(t, "No client has asked for anything", "terraform plan")
	body := `{"bin_id":"` + sandboxtest.BIN + `","amount":50}`
	s.Post("/cards", body, sandboxtest.IdempotencyKey, "once").OK(201)
	s.Get("/cards?status=active").OK(200)
	s.Post("/cards", body, sandboxtest.IdempotencyKey, "once").OK(201)
	s.Post("/cards/card_none/freeze", nil, sandboxtest.IdempotencyKey, "once").Refused(404, "not_found", "")
	for _, method := range []string{http.MethodGet, http.MethodDelete} { // one path and one key, and still two calls
		s.Call(method, "/cards/card_none", nil, sandboxtest.IdempotencyKey, "once").Refused(404, "not_found", "")
	}
	s.Get("/cards?status=" + s.Key)
	s.Fault(`{"method":"GET","path":"/bins","then":"drop"}`)
	s.Unrepeated().Send(t.Context(), http.MethodGet, "/bins", nil)
	s.Get("/_sandbox/requests").OK(200) // by then, they are in the file

	list := b.get("/requests").has(t, "<b>POST</b> /cards", "?status=active", "once", `<span class="badge failed">404</span>`, `<span class="badge failed">none</span>`).lacks(t, s.Key)
	if got := strings.Count(list.text, "<tbody"); got != 7 {
		t.Errorf("%d calls", got)
	}
	if got := strings.Count(list.text, `class="badge replayed"`); got != 1 {
		t.Errorf("%d replays", got)
	}
	group := regexp.MustCompile(`(?s)<tbody[^>]*>\s*<tr[^>]*>.*?</tbody>`).FindAllString(list.text, -1)
	together := 0
	for _, call := range group {
		if strings.Count(call, "<b>POST</b> /cards<") == 2 && strings.Index(call, "replayed") < strings.LastIndex(call, "<tr") {
			together++
		}
	}
	if together != 1 {
		t.Errorf("the two tries do not stand together: %q", group)
	}

	another(t, s).get("/requests").has(t, "No client has asked for anything")
	b.post("/requests", "forget").has(t, "The requests are forgotten.", "No client has asked for anything")
	if left := s.Get("/_sandbox/requests").OK(200).Data(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

// The requests of a process stand under one heading that says what it did.
func TestRequestsByRun(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	plan := []string{"User-Agent", "terraform-provider-vcard/1.0.0 Terraform/1.14.0 run/00c0ffee"}
	apply := []string{"User-Agent", "terraform-provider-vcard/1.0.0 Terraform/1.14.0 run/decade00"}
	s.Call(http.MethodGet, "/cards", nil, plan...).OK(200)
	card := s.Post("/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`, apply...).OK(201).Text("id")
	s.Fault(`{"method":"POST","path":"/cards/*/fund","when":"after","then":"drop"}`)
	s.Unrepeated().Send(t.Context(), http.MethodPost, "/cards/"+card+"/fund", `{"amount":5}`, append(apply, sandboxtest.IdempotencyKey, "k")...)
	s.Get("/_sandbox/requests").OK(200)
	b.get("/requests?run=decade00&outcome=lost").has(t, `class="badge lost"`) // until it is made sure of
	s.Call(http.MethodGet, "/cards/"+card, nil, apply...).OK(200)
	s.Post("/cards/"+card+"/fund", `{"amount":500000}`, apply...).Refused(400, "insufficient_funds", "")
	s.Get("/_sandbox/requests").OK(200)

	page := b.get("/requests").has(t, "Run <code>decade00</code>", "Run <code>00c0ffee</code>", "1 issued, 1 funded, 1 lost and recovered, 1 refused, 4 requests,",
		`<a href="/cards/`+card+`">card</a>`, "fault 1: no answer, once the call is committed", "insufficient funds", " ms</td>", `class="badge recovered"`)
	if strings.Index(page.text, "decade00") > strings.Index(page.text, "00c0ffee") || strings.Count(page.text, `class="run panel"`) != 2 {
		t.Errorf("the runs are in another order, or not two:\n%s", page.text)
	}
	b.get("/requests?run=00c0ffee").has(t, `<tr id="request-`).lacks(t, "<b>POST</b>")
	b.get("/requests?outcome=refused").has(t, "insufficient funds").lacks(t, "<b>GET</b>")
	b.get("/requests?outcome=fault").has(t, "fault 1: ").lacks(t, "<b>GET</b>", "insufficient funds")
	b.get("/requests?method=DELETE").has(t, "No requests match")
	b.get("/requests?format=csv&method=POST").has(t, "decade00,POST,/cards,,201,").lacks(t, ",GET,")
	if got := s.Get("/_sandbox/requests").OK(200).Data()[2]; got["run"] != "decade00" || !strings.HasPrefix(fmt.Sprint(got["fault"]), "fault 1: ") {
		t.Errorf("the call lists %v", got)
	}
}

func TestRequestsInPages(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Unlimited()
	const all = 120
	for range all {
		s.Get("/cards/card_%3Cscript%3E").Refused(404, "not_found", "")
	}
	s.Get("/_sandbox/requests").OK(200)
	rows := 0
	for path := "/requests?method=GET"; path != ""; {
		page := b.get(path).lacks(t, "<script>")
		n := strings.Count(page.text, "<tbody")
		if rows += n; n == 0 || n > 50 {
			t.Errorf("%s has %d calls", path, n)
		}
		path = next(page, "/requests")
	}
	if rows != all {
		t.Errorf("the pages have %d requests", rows)
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	b.get("/ledger").has(t, "opening balance", "10,000.00", "-10,000.00", "No money has moved yet")
	card := s.Post("/cards", map[string]any{"bin_id": sandboxtest.BIN, "amount": 100, "label": script}).OK(201).Text("id")
	s.Settle(s.Authorize(card, "40", "7311").Transaction(), "").OK(201)
	page := b.get("/ledger").has(t, "card issued", "-101.00", "&lt;script&gt;", `<td class="number">9,899.00</td>`, `<td class="number">60.00</td>`,
		`<td class="number">40.00</td>`, `<th scope="row">Sum</th><td></td><td class="number">0.00</td>`).lacks(t, script, "Balanced at", "No money has moved yet")
	if n := strings.Count(page.text, "<tbody id="); n != 4 {
		t.Errorf("the journal has %d entries", n)
	}
	b.post("/ledger", "audit").has(t, "Balanced at")
	other := another(t, s)
	other.get("/ledger").has(t, "No money has moved yet").lacks(t, "101.00")
}

// Books that are wrong are said to be.
func TestLedgerThatIsWrong(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	s.Issue("100")
	db := must(sql.Open("sqlite", s.Path))
	must(db.ExecContext(t.Context(), `PRAGMA busy_timeout = 10000; UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'fees'`))
	must(0, db.Close())
	b.post("/ledger", "audit").has(t, "Not balanced at", "fees holds 1.01 USD").lacks(t, "Balanced at")
}

// Whatever happens on an account is said in words, on its overview and by the card.
func TestActivityInWords(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	deposit := s.Post("/_sandbox/deposits", `{"currency":"btc","amount":5}`).OK(201).Text("id")
	s.Post("/_sandbox/deposits/"+deposit+"/confirm", nil).OK(200)
	b.get("/").has(t, ">deposit pending</span>", "BTC on their way", ">deposit confirmed</span>", "Into the wallet", ">opened</span>", "The account&#39;s opening balance")
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
		b.get(path).has(t, "Loaded from the wallet", "Funded from the wallet", "Withdrawn to the wallet", "Returned to the wallet", "insufficient funds",
			">auto frozen</span>", "The balance fell below the threshold", "Transactions are enabled again", "Transactions are suspended", "Closed permanently",
			`Corner Shop</bdi> <span class="reason">3D Secure pending</span>`)
	}
}
