package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// peculiar begins a sandbox with quirks as they are in a JSON object.
func withQuirks(t *testing.T, quirks string, options ...func(*sandboxtest.Options)) *service {
	t.Helper()
	s := start(t, options...)
	s.Call(http.MethodPut, "/_sandbox/quirks", quirks).OK(200)
	return s
}

func TestQuirksAreSettings(t *testing.T) {
	t.Parallel()
	s := start(t)
	const usual = `{"idempotency":"honoured","cards_per_page":100,"cards_total":"present","withdraw_amount":"honoured",` +
		`"transactions_per_page":"honoured","transaction_period":"days","transaction_signs":"unsigned","challenge_status":"honoured","repeated_state":"ok","terminated_status":400,"frozen_money":"allowed",` +
		`"error_body":"json","retry_after":"seconds","wallet_fields":["wallet_a_pay","wallet_b_pay"],"amounts":"decimals",` +
		`"balance":"less_holds","card_values":"as_asked","cards_hidden_seconds":0,` +
		`"wallet_decimals":2,"timestamps":"utc","empty_metadata":"object","exp_year_digits":4}` + "\n"
	const others = `{"idempotency":"conflict","cards_per_page":7,"cards_total":"absent","withdraw_amount":"ignored",` +
		`"transactions_per_page":"ignored","transaction_period":"midnights","transaction_signs":"refunds","challenge_status":"ignored","repeated_state":"conflict","terminated_status":422,"frozen_money":"refused",` +
		`"error_body":"text","retry_after":"absent","wallet_fields":["x_pay","wallets"],"amounts":"strings",` +
		`"balance":"settled","card_values":"tidied","cards_hidden_seconds":5,` +
		`"wallet_decimals":6,"timestamps":"bare","empty_metadata":"array","exp_year_digits":2}` + "\n"
	if got := s.Get("/_sandbox/quirks").OK(200).Raw; got != usual {
		t.Errorf("at first the quirks are %s", got)
	}
	if got := s.Call(http.MethodPut, "/_sandbox/quirks", others).OK(200).Raw; got != others {
		t.Errorf("the change answered %s", got)
	}
	for body, text := range map[string]string{
		`{"idempotency":"maybe"}`: "honoured, ignored, conflict", `{"cards_per_page":101}`: "1 to 100", `{"cards_per_page":0}`: "1 to 100",
		`{"cards_total":true}`: "string", `{"withdraw_amount":"no"}`: "honoured, ignored", `{"transactions_per_page":""}`: "honoured",
		`{"repeated_state":"409"}`: "ok, conflict", `{"terminated_status":410}`: "400 404 409 422", `{"terminated_status":"409"}`: "integer",
		`{"frozen_money":"x"}`: "allowed", `{"error_body":"html"}`: "extended", `{"retry_after":"never"}`: "seconds, date, absent",
		`{"wallet_fields":["a_pay"]}`: "two different", `{"wallet_fields":["a_pay","a_pay"]}`: "two different",
		`{"wallet_fields":["a_pay","id"]}`: "no other field", `{"wallet_fields":["a_pay","B_PAY"]}`: "lower case", `{"amounts":"binary"}`: "plain",
		`{"transaction_period":"weeks"}`: "days, midnights, dates_only", `{"transaction_signs":"both"}`: "unsigned, refunds, spending",
		`{"challenge_status":"x"}`: "honoured, ignored", `{"wallet_decimals":7}`: "2 to 6", `{"timestamps":"cet"}`: "utc, bare",
		`{"empty_metadata":"null"}`: "object, array", `{"exp_year_digits":3}`: "one of [2 4]",
		`{"balance":"x"}`: "less_holds, settled", `{"card_values":"x"}`: "as_asked, tidied", `{"cards_hidden_seconds":601}`: "0 to 600",
		`{"colour":"red"}`: `"colour"`,
	} {
		s.Call(http.MethodPut, "/_sandbox/quirks", body).Refused(400, "invalid_request", text)
	}
	if got := s.Get("/_sandbox/quirks").Raw; got != others {
		t.Errorf("refused changes left %s", got)
	}
	if got := s.Call(http.MethodPut, "/_sandbox/quirks", `{}`).OK(200).Raw; got != usual {
		t.Errorf("{} left %s", got)
	}
	s.Call(http.MethodPut, "/_sandbox/quirks", others).OK(200)
	s.Post("/_sandbox/reset", "").OK(200)
	if got := s.Get("/_sandbox/quirks").Raw; got != usual {
		t.Errorf("after a reset the quirks are %s", got)
	}
}

func TestQuirkIdempotencyIgnored(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"idempotency":"ignored"}`)
	id := s.Issue("50")
	for _, amount := range []string{"5", "5", "6"} {
		a := s.Post("/api/v1/cards/"+id+"/fund", `{"amount":`+amount+`}`, sandboxtest.IdempotencyKey, "k").OK(200)
		if a.Header.Get("Idempotent-Replayed") != "" {
			t.Error("replayed")
		}
	}
	if got := s.Get("/api/v1/cards/" + id).Text("balance"); got != "66.00" {
		t.Errorf("the card holds %s after three funds with one key", got)
	}
}

func TestQuirkIdempotencyConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := withQuirks(t, `{"idempotency":"conflict"}`, withoutNetwork)
		id := s.Issue("50")
		path, first := "/api/v1/cards/"+id+"/fund", make(chan sandboxtest.Response)
		s.Post("/_sandbox/faults", `{"method":"POST","path":"/cards/*/fund","times":1,"when":"after","delay_ms":3000,"then":"pass"}`).OK(201)
		go func() {
			first <- s.Send(t.Context(), http.MethodPost, path, `{"amount":5}`, sandboxtest.IdempotencyKey, "k")
		}()
		synctest.Wait()
		s.Post(path, `{"amount":5}`, sandboxtest.IdempotencyKey, "k").Refused(409, "idempotency_key_in_use", "")
		s.Post(path, `{"amount":1}`, sandboxtest.IdempotencyKey, "other").OK(200)
		s.Post(path, `{"amount":1}`).OK(200)
		answered := <-first
		again := s.Post(path, `{"amount":5}`, sandboxtest.IdempotencyKey, "k").OK(200)
		if answered.Status != 200 || again.Raw != answered.Raw || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the first call answered %d %s, a later one %s", answered.Status, answered.Raw, again.Raw)
		}
		if got := s.Get("/api/v1/cards/" + id).Text("balance"); got != "57.00" {
			t.Errorf("the card holds %s", got)
		}
	})
}

// A balance that falls at settlement shows what is only authorized, cannot be
// spent beyond what is left, and freezes the card when it falls.
func TestQuirkBalance(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"balance":"settled"}`)
	id := s.Issue("100", `"auto_freeze_at":60`)
	path := "/api/v1/cards/" + id
	shows := func(step, balance, status string) {
		t.Helper()
		summary, listed := s.Get(path).OK(200), s.Get("/api/v1/cards").Data()[0]
		if summary.Text("balance") != balance || summary.Text("status") != status {
			t.Errorf("%s: the card is %s", step, summary.Raw)
		}
		if fmt.Sprint(listed["balance"]) != balance {
			t.Errorf("%s: listed as %v", step, listed)
		}
		if status != "terminated" && s.Get("/api/v1/wallet/balance").Text("cards_total_balance") != balance {
			t.Errorf("%s: the wallet does not count the card's %s", step, balance)
		}
	}
	first, second := s.authorized(id, "45"), s.authorized(id, "10", `"fee":1`)
	shows("authorized", "99.00", "active")
	s.Post(path+"/withdraw", `{"amount":45}`).Refused(400, "insufficient_card_balance", "44.00")
	if funded := s.Post(path+"/fund", `{"amount":6}`).OK(200).Text("card_balance"); funded != "105.00" {
		t.Errorf("a funded card is said to hold %s", funded)
	}
	settlement := s.settled(first, "40")
	shows("settled", "65.00", "active")
	s.refunded(settlement, "5")
	shows("refunded", "70.00", "active")
	if frozen := s.settled(second, "12"); frozen == "" {
		t.Error("not settled")
	}
	shows("settled for more", "58.00", "frozen")
	s.Post(path+"/unfreeze", "").OK(200)
	s.authorized(id, "8")
	shows("authorized under the threshold", "58.00", "active")
	if returned := s.Delete(path).OK(200).Text("returned_to_wallet"); returned != "50.00" {
		t.Errorf("%s returned", returned)
	}
	shows("terminated", "0.00", "terminated")
	s.Balanced()
}

func TestQuirkCardValues(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"card_values":"tidied"}`)
	body := `{"bin_id":"bin_general_visa_eu","amount":50,"label":" ads ","spending_limit":9999,"allowed_categories":["travel","food"]}`
	card := s.Post("/api/v1/cards", body).OK(201)
	for _, told := range []sandboxtest.Response{card, s.Get("/api/v1/cards/" + card.Text("id"))} {
		if told.Text("label") != "ads" || told.Text("spending_limit") != "5000.00" {
			t.Errorf("the card is %s", told.Raw)
		}
	}
	if !strings.Contains(card.Raw, `"allowed_categories":["FOOD","TRAVEL"]`) {
		t.Errorf("the card is %s", card.Raw)
	}
	if declined := s.authorize(card.Text("id"), "1").Text("decline_reason"); declined != "category_not_allowed" {
		t.Errorf("declined for %q", declined)
	}
}

func TestQuirkCardsHiddenSeconds(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"cards_hidden_seconds":60}`)
	id := s.Issue("50")
	path := "/api/v1/cards/" + id
	s.Get(path).Refused(404, "not_found", id)
	s.Get(path+"/details").Refused(404, "not_found", id)
	if page := s.Get("/api/v1/cards"); len(page.Data()) != 0 || page.Text("total") != "0" {
		t.Errorf("listed as %s", page.Raw)
	}
	s.Post(path+"/freeze", "").OK(200)
	s.Advance("60s")
	s.Get(path).OK(200)
	s.Get(path + "/details").OK(200)
	if page := s.Get("/api/v1/cards"); len(page.Data()) != 1 || page.Text("total") != "1" {
		t.Errorf("listed as %s", page.Raw)
	}
}

func TestQuirkErrorBody(t *testing.T) {
	t.Parallel()
	s := withQuirks(t, `{"error_body":"extended"}`)
	extended := s.Get("/api/v1/cards/card_x")
	fields(t, extended.Body, "error", "message", "status", "request_id", "details")
	if extended.Status != 404 || extended.Text("error") != "not_found" || extended.Text("request_id") != extended.Header.Get("X-Request-Id") {
		t.Errorf("answered %d %s", extended.Status, extended.Raw)
	}
	s.Call(http.MethodPut, "/_sandbox/quirks", `{"error_body":"text"}`).OK(200)
	for path, status := range map[string]int{"/api/v1/cards/card_x": 404, "/api/v1/nothing": 404, "/api/v1/cards?page=0": 400} {
		o := s.Unrepeated().Send(t.Context(), http.MethodGet, path, "")
		if o.Status != status || !strings.HasPrefix(o.Header.Get("Content-Type"), "text/plain") || json.Valid([]byte(o.Raw)) || len(o.Raw) < 10 {
			t.Errorf("%s answered %d %q", path, o.Status, o.Raw)
		}
	}
	if o := s.as("sk_live_x").Unrepeated().Send(t.Context(), http.MethodGet, "/api/v1/bins", ""); o.Status != 401 || json.Valid([]byte(o.Raw)) {
		t.Errorf("without a key: %d %q", o.Status, o.Raw)
	}
	s.Get("/_sandbox/nothing").Refused(404, "not_found", "") // the control calls stay as they are
}

func TestQuirkRetryAfter(t *testing.T) {
	t.Parallel()
	s := withLimits(t, `{"requests_per_minute":1}`)
	s.Get("/api/v1/bins").OK(200)
	s.Advance("19500ms")
	for kind, want := range map[string]float64{"seconds": 41, "date": 41, "absent": 0} {
		s.Call(http.MethodPut, "/_sandbox/quirks", `{"retry_after":"`+kind+`"}`).OK(200)
		a := s.Get("/api/v1/bins").OK(429)
		text, found := a.Header["Retry-After"]
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
			sent, dateErr := http.ParseTime(a.Header.Get("Date"))
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
	usual := s.Get("/api/v1/bins").OK(200).Data()
	s.Call(http.MethodPut, "/_sandbox/quirks", `{"wallet_fields":["north_pay","south_pay"]}`).OK(200)
	for i, b := range s.Get("/api/v1/bins").OK(200).Data() {
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
		"floats": {"50.000000000000004", "100.500000000000004", "9849.000000000000004", "9838.500000000000004"},
	} {
		t.Run(notation, func(t *testing.T) {
			t.Parallel()
			s := withQuirks(t, `{"amounts":"`+notation+`"}`)
			body := `{"bin_id":"` + sandboxtest.BIN + `","amount":150,"spending_limit":50,"auto_freeze_at":100.5,
				"label":"metadata","metadata":{"rate":1.50,"metadata":"7.50"}}`
			card := s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k").OK(201)
			id := card.Text("id")
			funded := s.Post("/api/v1/cards/"+id+"/fund", `{"amount":10.5}`).OK(200)
			withdrawn := s.Post("/api/v1/cards/"+id+"/withdraw", `{"amount":10.50}`).OK(200)
			for text, in := range map[string]string{
				`"spending_limit":` + want[0]: card.Raw, `"auto_freeze_at":` + want[1]: card.Raw,
				`"metadata":{"metadata":"7.50","rate":1.50}`: card.Raw,
				`"wallet_balance":` + want[3]:                funded.Raw,
				`"wallet_balance":` + want[2]:                withdrawn.Raw,
				`"balance":` + want[2]:                       s.Get("/api/v1/wallet/balance").Raw,
				`"spending_limit":` + want[0] + `,"lab`:      s.Get("/api/v1/cards/" + id).Raw,
				`"page":1,"per_page":25,"total":1`:           s.Get("/api/v1/cards").Raw,
				`"exp_year":20`:                              s.Get("/api/v1/cards/" + id + "/details").Raw,
			} {
				if !strings.Contains(in, text) {
					t.Errorf("no %s in %s", text, in)
				}
			}
			if again := s.Post("/api/v1/cards", body, sandboxtest.IdempotencyKey, "k").OK(201); again.Raw != card.Raw {
				t.Errorf("replayed as %s", again.Raw)
			}
			s.Balanced()
			if ledger := s.Get("/_sandbox/ledger").Raw; !strings.Contains(ledger, `"balance":9849.00`) {
				t.Errorf("a control call has other amounts: %s", ledger)
			}
		})
	}
}
