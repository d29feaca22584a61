package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Each kind of fault, before and after a fund of 5 USD, over the network, and as whoever
// calls the handler itself is told by net/http's panic.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, transport := range []func(*sandboxtest.Options){withoutNetwork, func(*sandboxtest.Options) {}} {
		var log bytes.Buffer
		s := start(t, transport, logTo(slog.NewTextHandler(&log, nil)))
		card := "/cards/" + s.Issue("50")
		for then, c := range map[string]struct {
			status    int
			err       error
			kind, raw string // raw is a pattern
		}{
			`"drop"`:                               {0, io.EOF, "", `^$`},
			`"truncate"`:                           {200, io.ErrUnexpectedEOF, "application/json", `^{"`},
			`"pass"`:                               {200, nil, "application/json", `"card_balance":`},
			`{"status":503}`:                       {503, nil, "application/json", `^{"error":"injected_fault","message":"`},
			`{"status":418,"body":{"tea":[1.50]}}`: {418, nil, "application/json", `^{"tea":\[1.50\]}$`},
			`{"status":502,"body":"<html>Bad gateway"}`: {502, nil, "text/plain; charset=utf-8", `^<html>Bad gateway$`},
			`{"status":204}`: {204, nil, "application/json", `^$`},
		} {
			for _, when := range []string{"before", "after"} {
				committed := when == "after" || then == `"pass"`
				s.Fault(`{"method":"POST","path":"/cards/*/fund","times":1,"when":"` + when + `","then":` + then + `}`)
				held := s.Get(card).Text("balance")
				o := s.Unrepeated().Send(t.Context(), http.MethodPost, card+"/fund", `{"amount":5}`)
				if o.Status != c.status || !errors.Is(o.Err, c.err) || o.Header.Get("Content-Type") != c.kind ||
					!regexp.MustCompile(c.raw).MatchString(o.Raw) || strings.Contains(o.Raw, "card_id") != (committed && c.status == 200) {
					t.Errorf("%s %s: answered %d %q, %v, error %v", then, when, o.Status, o.Raw, o.Header, o.Err)
				}
				if got := s.Get(card).Text("balance"); (got != held) != committed {
					t.Errorf("%s %s: the card holds %s, after %s", then, when, got, held)
				}
				s.Post(card+"/fund", `{"amount":5}`).OK(200) // one time, and no more
			}
		}
		s.Balanced()
		s.close()
		if strings.Contains(log.String(), "panicked") {
			t.Errorf("an injected fault is logged as a panic:\n%s", log.String())
		}
	}
}

func TestFaultTargets(t *testing.T) {
	t.Parallel()
	s := start(t)
	for fault, c := range map[string]struct{ hit, missed string }{
		`"method":"GET","path":"/cards"`:           {"GET /cards", "POST /cards, GET /cards/card_x, GET /bins"},
		`"method":"GET","path":"/cards/*"`:         {"GET /cards/card_x", "GET /cards, GET /cards/card_x/details"},
		`"method":"*","path":"/cards/*/*"`:         {"GET /cards/card_x/details, POST /cards/card_x/fund", "GET /cards, GET /cards/card_x, GET /bins"},
		`"method":"*","path":"/*"`:                 {"GET /bins, POST /webhooks, GET /nothing", "GET /cards/card_x, GET /wallet/balance, GET /"},
		`"method":"*","path":"/*/balance"`:         {"GET /wallet/balance", "GET /wallet/deposit-address, GET /balance"},
		`"method":"POST","path":"/cards/card_x/*"`: {"POST /cards/card_x/freeze", "POST /cards/card_xy/freeze, GET /cards/card_x/details"},
	} {
		s.Fault(`{` + fault + `,"times":0,"when":"before","then":{"status":555}}`)
		for calls, want := range map[string]bool{c.hit: true, c.missed: false} {
			for call := range strings.SplitSeq(calls, ", ") {
				method, path, _ := strings.Cut(call, " ")
				if got := s.Call(method, "/api/v1"+path, "").Status == 555; got != want {
					t.Errorf("%s: %s is hit: %v", fault, call, got)
				}
			}
		}
		s.as("sk_live_x").Get("/_sandbox/clock").OK(401)
		s.Delete("/_sandbox/faults").OK(200)
	}
}

func TestFaultsAreListedUsedUpAndDeleted(t *testing.T) {
	t.Parallel()
	s := start(t)
	const (
		second = `"times":1,"when":"before","delay_ms":0,"then":{"status":500,"body":{"a":null}}}`
		third  = `"method":"*","path":"/*","times":0,"when":"before","delay_ms":0,"then":{"status":429}}`
	)
	s.play(strings.NewReplacer("SECOND", second, "THIRD", third, "FAULTS", "/_sandbox/faults").Replace, `
		POST FAULTS {"method":"GET","path":"/bins","times":2,"when":"after","delay_ms":1,"then":"pass"} → 201 "id":
		POST FAULTS {"method":"GET","path":"/bins","then":{"status":500,"body":{"a":null}}} → 201 "id":
		POST FAULTS {"method":"*","path":"/*","times":0,"when":"before","then":{"status":429}} → 201 "id":
		GET FAULTS → 200 "times":2,"when":"after","delay_ms":1,"then":"pass"} & SECOND & THIRD
		GET /bins → 200
		GET FAULTS → 200 "times":1,"when":"after" & SECOND & THIRD
		GET /bins → 200
		GET FAULTS → 200 !"after" & SECOND & THIRD
		GET /bins → 500
		GET /bins → 429
		GET /bins → 429
		GET FAULTS → 200 {"data":[{ & !}, & THIRD
		POST FAULTS {"method":"GET","path":"/cards","times":0,"then":{"status":503}} → 201
		DELETE FAULTS/LAST {"x":1} → 400 "invalid_request"
		DELETE FAULTS/LAST → 200 {"data":[{ & THIRD & !503
		DELETE FAULTS/999 → 404 "not_found"
		DELETE FAULTS/x → 404 "not_found"
		DELETE FAULTS/-1 → 404 "not_found"
		DELETE FAULTS → 200 "data":[]
		GET /bins → 200
		POST FAULTS {"method":"*","path":"/*","times":0,"when":"before","then":"drop"} → 201
		POST /_sandbox/reset → 200
		GET /bins → 200`)
}

// A caller that does not wait for a slow service has not undone its call; the service
// does not wait for the call to end.
func TestFaultDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withoutNetwork)
		card := "/cards/" + s.Issue("50")
		s.Fault(`{"method":"POST","path":"/cards/*/fund","times":2,"when":"before","delay_ms":60000,"then":"pass"}`)
		answered := make(chan sandboxtest.Response, 1)
		fund := func(ctx context.Context) {
			answered <- s.Send(ctx, http.MethodPost, card+"/fund", `{"amount":5}`)
		}
		impatient, giveUp := context.WithCancel(t.Context())
		go fund(impatient)
		time.Sleep(59 * time.Second)
		giveUp()
		synctest.Wait()
		if got := s.Get(card).Text("balance"); got != "50.00" {
			t.Errorf("committed before the delay: %s", got)
		}
		<-answered
		if got := s.Get(card).Text("balance"); got != "55.00" {
			t.Errorf("after the delay, the card holds %s", got)
		}
		go fund(t.Context())
		synctest.Wait()
		s.close()
		<-answered
	})
}

// However many calls find a fault at once, it is applied as often as it says.
func TestAFaultIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 10 {
		s.Fault(`{"method":"GET","path":"/bins","times":1,"then":{"status":429}}`)
		if n := admitted(12, func() sandboxtest.Response { return s.Get("/bins") }); n != 11 {
			t.Errorf("%d of 12 calls did not meet the fault", n)
		}
	}
}

// So are accounts.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t)
	const fault = `{"method":"GET","path":"/bins","then":"pass"}`
	for range 99 {
		s.Fault(fault)
		s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201)
	}
	s.Fault(fault)
	s.Post("/_sandbox/faults", fault).Refused(400, "invalid_request", "100 faults already")
	s.Post("/_sandbox/accounts", `{"state":"ready"}`).Refused(400, "invalid_request", "100 accounts")
	s.Delete("/_sandbox/faults").OK(200)
	s.Fault(fault)
	s.Post("/_sandbox/reset", "").OK(200)
	s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201)
	s.Fault(`{"method":"GET","path":"*","times":0,"then":"pass"}`)
	s.Get("/api/v1/cards"+strings.Repeat("/x", 5000)).Refused(404, "not_found", "")
}

// Settings are as documented, take what is named, refuse what they cannot be and stay
// then, and are as documented again after a reset.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	for path, c := range map[string]struct {
		usual, others string
		refused       map[string]string
	}{
		"/_sandbox/limits": {
			usual:  `{"requests_per_minute":1000,"creates_per_minute":50,"requests_per_hour":10000,"details_per_minute":30}`,
			others: `{"requests_per_minute":0,"creates_per_minute":50,"requests_per_hour":0,"details_per_minute":7}`,
			refused: map[string]string{
				`{"requests_per_minute":-1}`: "from 0", `{"requests_per_minute":1.5}`: "integer", `{"requests_per_minute":"5"}`: "integer",
				`{"requests_per_day":5}`: `"requests_per_day"`, `[]`: "object",
			},
		},
		"/_sandbox/quirks": {
			usual: `{"idempotency":"honoured","cards_per_page":100,"cards_total":"present","withdraw_amount":"honoured",` +
				`"transactions_per_page":"honoured","transaction_period":"days","transaction_signs":"unsigned","challenge_status":"honoured",` +
				`"repeated_state":"ok","terminated_status":400,"frozen_money":"allowed",` +
				`"error_body":"json","retry_after":"seconds","wallet_fields":["wallet_a_pay","wallet_b_pay"],"amounts":"decimals",` +
				`"balance":"less_holds","card_values":"as_asked","cards_hidden_seconds":0,` +
				`"wallet_decimals":2,"timestamps":"utc","empty_metadata":"object","exp_year_digits":4}`,
			others: `{"idempotency":"conflict","cards_per_page":7,"cards_total":"absent","withdraw_amount":"ignored",` +
				`"transactions_per_page":"ignored","transaction_period":"midnights","transaction_signs":"refunds","challenge_status":"ignored",` +
				`"repeated_state":"conflict","terminated_status":422,"frozen_money":"refused",` +
				`"error_body":"text","retry_after":"absent","wallet_fields":["x_pay","wallets"],"amounts":"strings",` +
				`"balance":"settled","card_values":"tidied","cards_hidden_seconds":5,` +
				`"wallet_decimals":6,"timestamps":"bare","empty_metadata":"array","exp_year_digits":2}`,
			refused: map[string]string{
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
			},
		},
	} {
		shows := func(when, want string) {
			t.Helper()
			if got := s.Get(path).OK(200).Raw; got != want+"\n" {
				t.Errorf("%s: %s shows %s", when, path, got)
			}
		}
		shows("at first", c.usual)
		for range 2 {
			s.Put(path, c.others).OK(200)
			for body, text := range c.refused {
				s.Put(path, body).Refused(400, "invalid_request", text)
			}
			shows("after what was refused", c.others)
			s.Put(path, `{}`).OK(200)
			shows("after {}", c.usual)
		}
		s.Put(path, c.others).OK(200)
		s.Post("/_sandbox/reset", "").OK(200)
		shows("after a reset", c.usual)
	}
}

// What the documented service does not say, others do in another way. Those that modeltest
// plays with are not here.
func TestQuirks(t *testing.T) {
	t.Parallel()
	s := start(t, sandboxtest.Stopped(time.Date(2026, 3, 31, 15, 0, 0, 0, time.UTC)))
	fill := s.populate()
	for _, c := range [][2]string{
		{`"balance":"settled"`, `
			GET /cards/CARD → 200 "balance":93.00
			GET /cards?status=active → 200 "balance":93.00
			GET /wallet/balance → 200 "cards_total_balance":143.00
			POST /cards/CARD/withdraw {"amount":54} → 400 "insufficient_card_balance" & 53.00
			POST /cards/CARD/fund {"amount":7} → 200 "card_balance":100.00
			POST /_sandbox/settlements {"transaction_id":"OPEN","amount":35} → 201
			GET /cards/CARD → 200 "balance":65.00
			POST /_sandbox/refunds {"transaction_id":"LAST","amount":5} → 201
			GET /cards/CARD → 200 "status":"active","balance":70.00
			POST /_sandbox/authorizations {"card_id":"CARD","amount":10,MERCHANT} → 201
			POST /_sandbox/settlements {"transaction_id":"LAST","amount":55} → 201
			GET /cards/CARD → 200 "status":"frozen","balance":15.00
			POST /cards/CARD/unfreeze → 200
			POST /_sandbox/authorizations {"card_id":"CARD","amount":8,MERCHANT} → 201
			GET /cards/CARD → 200 "status":"active","balance":15.00
			POST /cards/FROZEN/unfreeze → 200
			POST /_sandbox/authorizations {"card_id":"FROZEN","amount":8,MERCHANT} → 201
			DELETE /cards/FROZEN → 200 "returned_to_wallet":42.00
			GET /cards/FROZEN → 200 "status":"terminated","balance":0.00`},
		{`"idempotency":"ignored"`, `
			POST /cards/CARD/fund {"amount":5} # k → 200 "card_balance":12.00
			POST /cards/CARD/fund {"amount":5} # k → 200 "card_balance":17.00
			POST /cards/CARD/fund {"amount":6} # k → 200 "card_balance":23.00`},
		{`"transactions_per_page":"ignored"`, `GET /transactions?per_page=x → 200 DECLINE`},
		{`"transactions_per_page":"refused"`, `
			GET /transactions?per_page=100 → 400 "invalid_request" & per_page
			GET /transactions?page=2 → 200 "data":[]`},
		{`"transaction_period":"days"`, `
			GET /transactions?to=2026-03-31 → 200 DECLINE
			GET /transactions?to=2026-03-30 → 200 "data":[]
			GET /transactions?from=2026-04-01 → 200 "data":[]
			GET /transactions?to=2026-03-31T15:00:00Z → 200 DECLINE`},
		{`"transaction_period":"midnights"`, `
			GET /transactions?to=2026-03-31 → 200 "data":[]
			GET /transactions?to=2026-04-01 → 200 DECLINE
			GET /transactions?from=2026-03-31 → 200 DECLINE
			GET /transactions?to=2026-03-31T15:00:00Z → 200 DECLINE`},
		{`"transaction_period":"dates_only"`, `
			GET /transactions?to=2026-03-31 → 200 DECLINE
			GET /transactions?to=2026-03-30 → 200 "data":[]
			GET /transactions?from=2026-03-31T15:00:00Z → 400 must be a date
			GET /transactions?to=2026-03-31T15:00:00Z → 400 must be a date`},
		{`"transaction_signs":"unsigned"`, `GET /transactions → 200 "refund","amount":4.00 & "settlement","amount":10.00`},
		{`"transaction_signs":"refunds"`, `
			GET /transactions → 200 "refund","amount":-4.00 & "settlement","amount":10.00 & "fee":1.00`},
		{`"transaction_signs":"spending"`, `
			GET /transactions → 200 "refund","amount":4.00 & "settlement","amount":-10.00 & "amount":-40.00 & "fee":-1.00`},
		{`"challenge_status":"ignored"`, `
			GET /3ds?status=pending → 200 "CHALLENGE" & "DONE" & "otp":null,"status":"approved" & !"otp":null,"status":"pending"`},
		{`"wallet_decimals":6`, `
			GET /wallet/balance → 200 "pending_deposits":1.001234 & "cards_total_balance":23.00
			POST /cards/CARD/fund {"amount":1} → 200 "card_balance":24.00 & "wallet_balance":9865.001234`},
		{`"timestamps":"bare","empty_metadata":"array","exp_year_digits":2,"error_body":"nested"`, `
			POST /cards {BIN,"amount":50,"label":"created_at"} → 201 "created_at":"2026-03-31T15:00:00.000" & "metadata":[]
			GET /cards/LAST/details → 200 "exp_year":29
			POST /cards {BIN,"amount":50,"metadata":{"created_at":"2026-01-01T00:00:00Z"}} → 201 {"created_at":"2026-01-01T00:00:00Z"}
			GET /cards/card_x → 404 {"error":{"code":"not_found","message":`},
		{`"empty_metadata":"array"`, `POST /cards {BIN,"amount":50} → 201 "metadata":[] & "created_at":"2026-03-31T15:00:00.000Z"`},
		{`"timestamps":"bare"`, `POST /cards {BIN,"amount":50} → 201 "metadata":{} & "created_at":"2026-03-31T15:00:00.000"`},
		{`"error_body":"extended"`, `GET /cards/card_x → 404 "error":"not_found" & "message": & "status":404 & "request_id":"req_ & "details":`},
		{`"error_body":"text"`, `
			GET /cards/card_x → 404 card_x & !{
			GET /nothing → 404 !{
			GET /cards?page=0 → 400 page & !{
			GET /_sandbox/nothing → 404 {"error":"not_found"`},
		{`"card_values":"tidied"`, `
			POST /cards {"bin_id":"bin_general_visa_eu","amount":50,"label":" ads ","spending_limit":9999} → 201 "label":"ads" & "spending_limit":5000.00
			GET /cards/LAST → 200 "label":"ads" & !9999
			POST /cards {BIN,"amount":50,"allowed_categories":["travel","food"]} → 201 "allowed_categories":["FOOD","TRAVEL"]
			POST /_sandbox/authorizations {"card_id":"LAST","amount":1,MERCHANT} → 201 category_not_allowed`},
		{`"cards_hidden_seconds":60`, `
			POST /cards {BIN,"amount":50} → 201
			GET /cards/LAST → 404 "not_found"
			GET /cards/LAST/details → 404 "not_found"
			GET /cards?per_page=100 → 200 !LAST & "total":0
			POST /cards/LAST/freeze → 200
			POST /_sandbox/clock {"advance":"60s"} → 200
			GET /cards/LAST → 200
			GET /cards/LAST/details → 200
			GET /cards?per_page=100 → 200 LAST & "total":10`},
		{`"wallet_fields":["north_pay","south_pay"]`, `
			GET /bins → 200 "bin_ads_visa_eu","network":"visa","category":"ads","3ds":true,"north_pay":true,"south_pay":false} & !wallet_`},
		{`"amounts":"floats"`, `
			POST /cards {BIN,"amount":50,"auto_freeze_at":5.5,"label":"metadata"} → 201 "auto_freeze_at":5.500000000000004
			POST /cards {BIN,"amount":50,"metadata":{"rate":1.50}} → 201 "metadata":{"rate":1.50}
			GET /cards → 200 "balance":50.000000000000004 & "page":1,"per_page":25,
			GET /_sandbox/ledger → 200 "balance":50.00}`},
	} {
		s.Put("/_sandbox/quirks", "{"+c[0]+"}").OK(200)
		s.T = &named{t, c[0]}
		s.play(fill, c[1])
		s.T = t
	}
	s.Balanced()
	s.Put("/_sandbox/quirks", `{"error_body":"text"}`).OK(200)
	o := s.as("sk_live_x").Send(t.Context(), http.MethodGet, "/bins", "")
	if o.Status != 401 || json.Valid([]byte(o.Raw)) || !strings.HasPrefix(o.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("without a key: %d %q, %v", o.Status, o.Raw, o.Header)
	}
	s.Put("/_sandbox/quirks", `{"error_body":"extended"}`).OK(200)
	if extended := s.Get("/cards/card_x"); extended.Text("request_id") != extended.Header.Get("X-Request-Id") {
		t.Errorf("answered %s with %v", extended.Raw, extended.Header)
	}
}

func TestQuirkIdempotencyConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, withoutNetwork)
		s.Quirks(map[string]any{"idempotency": "conflict"})
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

func TestQuirkRetryAfter(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	s.Put("/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
	s.Get("/api/v1/bins").OK(200)
	s.Advance("19500ms")
	for kind, want := range map[string]string{"seconds": "41", "date": "a date", "absent": ""} {
		s.Put("/_sandbox/quirks", `{"retry_after":"`+kind+`"}`).OK(200)
		a := s.Get("/bins").OK(429)
		got := a.Header.Get("Retry-After")
		if until, err := http.ParseTime(got); err == nil {
			sent, err := http.ParseTime(a.Header.Get("Date"))
			if wait := until.Sub(sent).Seconds(); err == nil && wait >= 41 && wait <= 43 { // dates have whole seconds
				got = "a date"
			}
		}
		if got != want {
			t.Errorf("%s: Retry-After is %q", kind, got)
		}
	}
}
