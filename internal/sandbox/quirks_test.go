package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peculiar begins a sandbox with quirks as they are in a JSON object.
func peculiar(t *testing.T, quirks string) *service {
	t.Helper()
	s := start(t)
	s.call(http.MethodPut, "/_sandbox/quirks", quirks).ok(200)
	return s
}

func TestQuirksAreSettings(t *testing.T) {
	t.Parallel()
	s := start(t)
	const usual = `{"idempotency":"honoured","cards_per_page":100,"cards_total":"present","withdraw_amount":"honoured",` +
		`"transactions_per_page":"honoured","repeated_state":"ok","terminated_status":400,"frozen_money":"allowed",` +
		`"error_body":"json","retry_after":"seconds","wallet_fields":["wallet_a_pay","wallet_b_pay"],"amounts":"decimals"}` + "\n"
	const others = `{"idempotency":"conflict","cards_per_page":7,"cards_total":"absent","withdraw_amount":"ignored",` +
		`"transactions_per_page":"ignored","repeated_state":"conflict","terminated_status":422,"frozen_money":"refused",` +
		`"error_body":"text","retry_after":"absent","wallet_fields":["x_pay","y_pay"],"amounts":"strings"}` + "\n"
	if got := s.get("/_sandbox/quirks").ok(200).raw; got != usual {
		t.Errorf("at first the quirks are %s", got)
	}
	if got := s.call(http.MethodPut, "/_sandbox/quirks", others).ok(200).raw; got != others {
		t.Errorf("the change answered %s", got)
	}
	for body, text := range map[string]string{
		`{"idempotency":"maybe"}`: "honoured, ignored, conflict", `{"cards_per_page":101}`: "1 to 100", `{"cards_per_page":0}`: "1 to 100",
		`{"cards_total":true}`: "string", `{"withdraw_amount":"no"}`: "honoured, ignored", `{"transactions_per_page":""}`: "honoured",
		`{"repeated_state":"409"}`: "ok, conflict", `{"terminated_status":410}`: "400 404 409 422", `{"terminated_status":"409"}`: "integer",
		`{"frozen_money":"x"}`: "allowed", `{"error_body":"html"}`: "extended", `{"retry_after":"never"}`: "seconds, date, absent",
		`{"wallet_fields":["a_pay"]}`: "two different", `{"wallet_fields":["a_pay","a_pay"]}`: "two different",
		`{"wallet_fields":["a_pay","id"]}`: "_pay", `{"wallet_fields":["a_pay","B_PAY"]}`: "lower case", `{"amounts":"floats"}`: "plain",
		`{"colour":"red"}`: `"colour"`,
	} {
		s.call(http.MethodPut, "/_sandbox/quirks", body).refused(400, "invalid_request", text)
	}
	if got := s.get("/_sandbox/quirks").raw; got != others {
		t.Errorf("refused changes left %s", got)
	}
	if got := s.call(http.MethodPut, "/_sandbox/quirks", `{}`).ok(200).raw; got != usual {
		t.Errorf("{} left %s", got)
	}
	s.call(http.MethodPut, "/_sandbox/quirks", others).ok(200)
	s.post("/_sandbox/reset", "").ok(200)
	if got := s.get("/_sandbox/quirks").raw; got != usual {
		t.Errorf("after a reset the quirks are %s", got)
	}
}

func TestQuirkIdempotencyIgnored(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"idempotency":"ignored"}`)
	id := s.issue("50")
	for _, amount := range []string{"5", "5", "6"} {
		a := s.post("/api/v1/cards/"+id+"/fund", `{"amount":`+amount+`}`, idempotencyKey, "k").ok(200)
		if a.header.Get("Idempotent-Replayed") != "" {
			t.Error("replayed")
		}
	}
	if got := s.get("/api/v1/cards/" + id).text("balance"); got != "66.00" {
		t.Errorf("the card holds %s after three funds with one key", got)
	}
}

func TestQuirkIdempotencyConflict(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"idempotency":"conflict"}`)
	id := s.issue("50")
	path, first := "/api/v1/cards/"+id+"/fund", make(chan outcome)
	s.post("/_sandbox/faults", `{"method":"POST","path":"/cards/*/fund","times":1,"when":"after","delay_ms":600,"then":"pass"}`).ok(201)
	go func() { first <- s.attempt(t.Context(), http.MethodPost, path, `{"amount":5}`, idempotencyKey, "k") }()
	for s.get("/api/v1/cards/"+id).text("balance") != "55.00" {
		time.Sleep(5 * time.Millisecond)
	}
	s.post(path, `{"amount":5}`, idempotencyKey, "k").refused(409, "idempotency_key_in_use", "")
	s.post(path, `{"amount":1}`, idempotencyKey, "other").ok(200)
	s.post(path, `{"amount":1}`).ok(200)
	answered := <-first
	again := s.post(path, `{"amount":5}`, idempotencyKey, "k").ok(200)
	if answered.status != 200 || again.raw != answered.raw || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the first call answered %d %s, a later one %s", answered.status, answered.raw, again.raw)
	}
	if got := s.get("/api/v1/cards/" + id).text("balance"); got != "57.00" {
		t.Errorf("the card holds %s", got)
	}
}

func TestQuirkCardsPerPage(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"cards_per_page":2}`)
	for range 5 {
		s.issue("50")
	}
	for query, want := range map[string]string{
		"": "1 2 5 2", "?per_page=100&page=2": "2 2 5 2", "?per_page=100&page=3": "3 2 5 1", "?per_page=1": "1 1 5 1",
	} {
		page := s.get("/api/v1/cards" + query).ok(200)
		got := fmt.Sprintf("%s %s %s %d", page.text("page"), page.text("per_page"), page.text("total"), len(page.data()))
		if got != want {
			t.Errorf("%s: page, per_page, total and length are %s, want %s", query, got, want)
		}
	}
	s.get("/api/v1/cards?per_page=101").refused(400, "invalid_request", "per_page")
}

func TestQuirkCardsTotal(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"cards_total":"absent"}`)
	fields(t, s.get("/api/v1/cards").ok(200).body, "data", "page", "per_page")
}

func TestQuirkWithdrawAmount(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"withdraw_amount":"ignored"}`)
	id := s.issue("50")
	moved := s.post("/api/v1/cards/"+id+"/withdraw", `{"amount":5}`).ok(200)
	if moved.text("card_balance") != "0.00" || s.wallet() != "9999.00" {
		t.Errorf("a withdrawal of 5 answered %s", moved.raw)
	}
	s.balanced()
}

func TestQuirkTransactionsPerPage(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"transactions_per_page":"ignored"}`)
	id := s.issue("100")
	for range 30 {
		s.authorized(id, "1")
	}
	for query, want := range map[string]int{"": 25, "?per_page=3": 25, "?per_page=100&page=2": 5, "?per_page=101": 25, "?per_page=x": 25} {
		if page := s.get("/api/v1/transactions" + query).ok(200); len(page.data()) != want {
			t.Errorf("%s: %d transactions, want %d", query, len(page.data()), want)
		}
	}
}

func TestQuirkRepeatedState(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"repeated_state":"conflict"}`)
	path := "/api/v1/cards/" + s.issue("50")
	s.post(path+"/unfreeze", "").refused(409, "card_active", "active already")
	s.post(path+"/freeze", "").ok(200)
	s.post(path+"/freeze", "").refused(409, "card_frozen", "frozen already")
	s.post(path+"/unfreeze", "").ok(200)
}

func TestQuirkTerminatedStatus(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]string{400: "card_terminated", 404: "not_found", 409: "card_terminated", 422: "card_terminated"} {
		s := peculiar(t, fmt.Sprintf(`{"terminated_status":%d}`, status))
		id := s.issue("50")
		s.terminate(id)
		path := "/api/v1/cards/" + id
		for _, c := range [][3]string{
			{"DELETE", "", ""},
			{"GET", "/details", ""},
			{"POST", "/freeze", ""},
			{"POST", "/unfreeze", ""},
			{"POST", "/fund", `{"amount":1}`},
			{"POST", "/withdraw", ""},
		} {
			s.call(c[0], path+c[1], c[2]).refused(status, code, id)
		}
		if got := s.get(path).ok(200).text("status"); got != "terminated" {
			t.Errorf("the summary says %s", got)
		}
	}
}

func TestQuirkFrozenMoney(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"frozen_money":"refused"}`)
	path := "/api/v1/cards/" + s.issue("50")
	s.post(path+"/freeze", "").ok(200)
	before := s.wallet()
	s.post(path+"/fund", `{"amount":1}`).refused(400, "card_frozen", "unfreeze")
	s.post(path+"/withdraw", "").refused(400, "card_frozen", "unfreeze")
	s.get(path+"/details").refused(400, "card_frozen", "unfreeze")
	if after := s.wallet(); after != before {
		t.Errorf("refused calls moved %s to %s", before, after)
	}
	s.post(path+"/freeze", "").ok(200)
	s.call(http.MethodDelete, path, "").ok(200) // moves money, but is no use of the card
}

func TestQuirkErrorBody(t *testing.T) {
	t.Parallel()
	s := peculiar(t, `{"error_body":"extended"}`)
	extended := s.get("/api/v1/cards/card_x")
	fields(t, extended.body, "error", "message", "status", "request_id", "details")
	if extended.status != 404 || extended.text("error") != "not_found" || extended.text("request_id") != extended.header.Get("X-Request-Id") {
		t.Errorf("answered %d %s", extended.status, extended.raw)
	}
	s.call(http.MethodPut, "/_sandbox/quirks", `{"error_body":"text"}`).ok(200)
	for path, status := range map[string]int{"/api/v1/cards/card_x": 404, "/api/v1/nothing": 404, "/api/v1/cards?page=0": 400} {
		o := s.attempt(t.Context(), http.MethodGet, path, "")
		if o.status != status || !strings.HasPrefix(o.header.Get("Content-Type"), "text/plain") || json.Valid([]byte(o.raw)) || len(o.raw) < 10 {
			t.Errorf("%s answered %d %q", path, o.status, o.raw)
		}
	}
	if o := s.as("sk_live_x").attempt(t.Context(), http.MethodGet, "/api/v1/bins", ""); o.status != 401 || json.Valid([]byte(o.raw)) {
		t.Errorf("without a key: %d %q", o.status, o.raw)
	}
	s.get("/_sandbox/nothing").refused(404, "not_found", "") // the control calls stay as they are
}

func TestQuirkRetryAfter(t *testing.T) {
	t.Parallel()
	s := limited(t, `{"requests_per_minute":1}`)
	s.get("/api/v1/bins").ok(200)
	s.advance("19500ms")
	for kind, want := range map[string]float64{"seconds": 41, "date": 41, "absent": 0} {
		s.call(http.MethodPut, "/_sandbox/quirks", `{"retry_after":"`+kind+`"}`).ok(200)
		a := s.get("/api/v1/bins").ok(429)
		text, found := a.header["Retry-After"]
		if found != (want != 0) {
			t.Errorf("%s: Retry-After is %v", kind, text)
			continue
		}
		var got float64
		switch kind {
		case "seconds":
			got, _ = strconv.ParseFloat(text[0], 64)
		case "date":
			until, err := http.ParseTime(text[0])
			sent, dateErr := http.ParseTime(a.header.Get("Date"))
			if err != nil || dateErr != nil {
				t.Errorf("%v, %v", err, dateErr)
			}
			got = until.Sub(sent).Seconds()
		}
		if got < want || got > want+2 { // dates have whole seconds
			t.Errorf("%s: Retry-After %v asks for %v s, want %v", kind, text, got, want)
		}
	}
}

func TestQuirkWalletFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	usual := s.get("/api/v1/bins").ok(200).data()
	s.call(http.MethodPut, "/_sandbox/quirks", `{"wallet_fields":["north_pay","south_pay"]}`).ok(200)
	for i, b := range s.get("/api/v1/bins").ok(200).data() {
		fields(t, b, "id", "network", "category", "3ds", "north_pay", "south_pay")
		if b["north_pay"] != usual[i]["wallet_a_pay"] || b["south_pay"] != usual[i]["wallet_b_pay"] {
			t.Errorf("%v has other values than %v", b, usual[i])
		}
	}
}

func TestQuirkAmounts(t *testing.T) {
	t.Parallel()
	for notation, want := range map[string][4]string{
		"plain": {"50", "100.5", "9849", "9838.5"}, "strings": {`"50.00"`, `"100.50"`, `"9849.00"`, `"9838.50"`},
	} {
		t.Run(notation, func(t *testing.T) {
			t.Parallel()
			s := peculiar(t, `{"amounts":"`+notation+`"}`)
			body := `{"bin_id":"` + adsBIN + `","amount":150,"spending_limit":50,"auto_freeze_at":100.5,
				"label":"metadata","metadata":{"rate":1.50,"metadata":"7.50"}}`
			hook := s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).text("id")
			card := s.post("/api/v1/cards", body, idempotencyKey, "k").ok(201)
			id := card.text("id")
			funded := s.post("/api/v1/cards/"+id+"/fund", `{"amount":10.5}`).ok(200)
			withdrawn := s.post("/api/v1/cards/"+id+"/withdraw", `{"amount":10.50}`).ok(200)
			for text, in := range map[string]string{
				`"spending_limit":` + want[0]: card.raw, `"auto_freeze_at":` + want[1]: card.raw,
				`"metadata":{"metadata":"7.50","rate":1.50}`: card.raw,
				`"wallet_balance":` + want[3]:                funded.raw,
				`"wallet_balance":` + want[2]:                withdrawn.raw,
				`"balance":` + want[2]:                       s.get("/api/v1/wallet/balance").raw,
				`"spending_limit":` + want[0] + `,"lab`:      s.get("/api/v1/cards/" + id).raw,
				`"page":1,"per_page":25,"total":1`:           s.get("/api/v1/cards").raw,
				`"exp_year":20`:                              s.get("/api/v1/cards/" + id + "/details").raw,
			} {
				if !strings.Contains(in, text) {
					t.Errorf("no %s in %s", text, in)
				}
			}
			if again := s.post("/api/v1/cards", body, idempotencyKey, "k").ok(201); again.raw != card.raw {
				t.Errorf("replayed as %s", again.raw)
			}
			told := outbox(t, s, hook)[0]["data"].(map[string]any)
			if _, isText := told["balance"].(string); isText != (notation == "strings") {
				t.Errorf("an event carries %v", told)
			}
			s.balanced()
			if ledger := s.get("/_sandbox/ledger").raw; !strings.Contains(ledger, `"balance":9849.00`) {
				t.Errorf("a control call has other amounts: %s", ledger)
			}
		})
	}
}
