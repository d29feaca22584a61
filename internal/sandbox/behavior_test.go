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
				o := s.WithoutRetries().Send(t.Context(), http.MethodPost, card+"/fund", `{"amount":5}`)
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
	isHit := func(call string) bool {
		method, path, _ := strings.Cut(call, " ")
		return s.Call(method, "/api/v1"+path, "").Status == 555
	}
	for _, test := range []struct {
		fault      string
		hit, spare []string
	}{
		{`"method":"GET","path":"/cards"`, []string{"GET /cards"}, []string{"POST /cards", "GET /cards/card_x", "GET /bins"}},
		{`"method":"GET","path":"/cards/*"`, []string{"GET /cards/card_x"}, []string{"GET /cards", "GET /cards/card_x/details"}},
		{`"method":"*","path":"/cards/*/*"`, []string{"GET /cards/card_x/details", "POST /cards/card_x/fund"}, []string{"GET /cards", "GET /cards/card_x", "GET /bins"}},
		{`"method":"*","path":"/*"`, []string{"GET /bins", "POST /webhooks", "GET /nothing"}, []string{"GET /cards/card_x", "GET /wallet/balance", "GET /"}},
		{`"method":"*","path":"/*/balance"`, []string{"GET /wallet/balance"}, []string{"GET /wallet/deposit-address", "GET /balance"}},
		{`"method":"POST","path":"/cards/card_x/*"`, []string{"POST /cards/card_x/freeze"}, []string{"POST /cards/card_xy/freeze", "GET /cards/card_x/details"}},
	} {
		s.Fault(`{` + test.fault + `,"times":0,"when":"before","then":{"status":555}}`)
		for _, call := range test.hit {
			sandboxtest.Equal(t, test.fault+": "+call+" is hit", isHit(call), true)
		}
		for _, call := range test.spare {
			sandboxtest.Equal(t, test.fault+": "+call+" is hit", isHit(call), false)
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
	s.checkCalls(nil, []call{
		{method: "POST", path: "/_sandbox/faults", body: `{"method":"GET","path":"/bins","times":2,"when":"after","delay_ms":1,"then":"pass"}`, status: 201, has: []string{`"id":`}},
		{method: "POST", path: "/_sandbox/faults", body: `{"method":"GET","path":"/bins","then":{"status":500,"body":{"a":null}}}`, status: 201, has: []string{`"id":`}},
		{method: "POST", path: "/_sandbox/faults", body: `{"method":"*","path":"/*","times":0,"when":"before","then":{"status":429}}`, status: 201, has: []string{`"id":`}},
		{method: "GET", path: "/_sandbox/faults", status: 200, has: []string{`"times":2,"when":"after","delay_ms":1,"then":"pass"}`, second, third}},
		{method: "GET", path: "/bins", status: 200},
		{method: "GET", path: "/_sandbox/faults", status: 200, has: []string{`"times":1,"when":"after"`, second, third}},
		{method: "GET", path: "/bins", status: 200},
		{method: "GET", path: "/_sandbox/faults", status: 200, has: []string{second, third}, lacks: []string{`"after"`}},
		{method: "GET", path: "/bins", status: 500},
		{method: "GET", path: "/bins", status: 429},
		{method: "GET", path: "/bins", status: 429},
		{method: "GET", path: "/_sandbox/faults", status: 200, has: []string{`{"data":[{`, third}, lacks: []string{"},"}},
		{method: "POST", path: "/_sandbox/faults", body: `{"method":"GET","path":"/cards","times":0,"then":{"status":503}}`, status: 201},
		{method: "DELETE", path: "/_sandbox/faults/LAST", body: `{"x":1}`, status: 400, has: []string{`"invalid_request"`}},
		{method: "DELETE", path: "/_sandbox/faults/LAST", status: 200, has: []string{`{"data":[{`, third}, lacks: []string{"503"}},
		{method: "DELETE", path: "/_sandbox/faults/999", status: 404, has: []string{`"not_found"`}},
		{method: "DELETE", path: "/_sandbox/faults/x", status: 404, has: []string{`"not_found"`}},
		{method: "DELETE", path: "/_sandbox/faults/-1", status: 404, has: []string{`"not_found"`}},
		{method: "POST", path: "/_sandbox/faults", body: `{"method":"GET","path":"/cards","times":1000000,"delay_ms":100000,"then":{"status":599,"body":"` + strings.Repeat("x", 65534) + `"}}`, status: 201},
		{method: "DELETE", path: "/_sandbox/faults", status: 200, has: []string{`"data":[]`}},
		{method: "GET", path: "/bins", status: 200},
		{method: "POST", path: "/_sandbox/simulate", body: `{"days":1,"purchases_per_day":1,"declines":100,"seed":0}`, status: 400, has: []string{"no active card"}},
		{method: "POST", path: "/_sandbox/simulate", body: `{"days":366,"purchases_per_day":1,"declines":0,"seed":9007199254740992}`, status: 400, has: []string{"no active card"}},
		{method: "POST", path: "/_sandbox/simulate", body: `{"days":10,"purchases_per_day":500}`, status: 400, has: []string{"no active card"}},
		{method: "POST", path: "/_sandbox/faults", body: `{"method":"*","path":"/*","times":0,"when":"before","then":"drop"}`, status: 201},
		{method: "POST", path: "/_sandbox/reset", status: 200},
		{method: "GET", path: "/bins", status: 200},
	})
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
		sandboxtest.Equal(t, "the card, before the delay", s.Get(card).Text("balance"), "50.00")
		<-answered
		time.Sleep(2 * time.Second)
		sandboxtest.Equal(t, "the card, after the delay", s.Get(card).Text("balance"), "55.00")
		go fund(t.Context())
		synctest.Wait()
		s.close()
		<-answered
	})
}

// A call that is committed later takes effect at its time by the service's clock, whoever
// looks first, and counts once with an earlier attempt under its key.
func TestFaultCommitsLater(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	card := "/cards/" + s.Issue("50")
	later := func(path, then string) {
		s.Fault(`{"method":"POST","path":"` + path + `","when":"later","later_seconds":45,"then":` + then + `}`)
	}
	fund := func(key string) sandboxtest.Response {
		return s.WithoutRetries().Send(t.Context(), http.MethodPost, card+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, key)
	}
	holds := func(when, balance string) {
		t.Helper()
		sandboxtest.Equal(t, when+": the card holds", s.Get(card).Text("balance"), balance)
	}

	later("/cards/*/fund", `"drop"`)
	if o := fund("lost"); !errors.Is(o.Err, io.EOF) {
		t.Errorf("answered %d %q, %v", o.Status, o.Raw, o.Err)
	}
	s.Advance("44999ms")
	holds("before its time", "50.00")
	s.Advance("1ms")
	holds("at its time", "55.00")
	s.Advance("1h")
	holds("an hour later", "55.00")

	later("/cards", `{"status":503}`)
	before := s.Get("/_sandbox/clock").Text("now")
	s.Post("/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":60}`).OK(503)
	sandboxtest.Equal(t, "cards at once", s.Get("/cards").Text("total"), "1")
	s.Advance("1h")
	issued := s.Get("/cards/" + s.Get("/cards").Data()[0]["id"].(string))
	due := sandboxtest.Must(time.Parse(time.RFC3339, before)).Add(45 * time.Second)
	sandboxtest.Equal(t, "created_at", issued.Text("created_at"), due.Format("2006-01-02T15:04:05.000Z"))

	for idempotency, c := range map[string]struct {
		status  int // of the second attempt
		balance string
	}{
		"honoured": {200, "60.00"},
		"conflict": {409, "55.00"},
		"ignored":  {200, "60.00"},
	} {
		s.Quirks(map[string]any{"idempotency": idempotency})
		s.Post(card+"/withdraw", nil).OK(200)
		s.Post(card+"/fund", `{"amount":55}`).OK(200)
		later("/cards/*/fund", `{"status":500}`)
		fund(idempotency).OK(500)
		fund(idempotency).OK(c.status)
		holds(idempotency+", at once", c.balance)
		s.Advance("45s")
		want := "60.00"
		if idempotency == "ignored" {
			want = "65.00"
		}
		holds(idempotency+", later", want)
		fund(idempotency).OK(200)
	}

	later("/cards/*/fund", `"truncate"`)
	s.WithoutRetries().Send(t.Context(), http.MethodPost, card+"/fund", `{"amount":9999}`)
	s.Get("/cards/card_x").Refused(404, "not_found", "")
	s.Advance("1m")
	s.Get("/bins").OK(200)
	s.Balanced()

	later("/cards", `"drop"`)
	s.WithoutRetries().Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":60}`)
	s.Post("/_sandbox/reset", "").OK(200)
	s.Advance("240h")
	sandboxtest.Equal(t, "cards after a reset", s.Get("/cards").Text("total"), "0")
	s.Balanced()
}

// However many calls find a fault at once, it is applied as often as it says.
func TestAFaultIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 10 {
		s.Fault(`{"method":"GET","path":"/bins","times":1,"then":{"status":429}}`)
		sandboxtest.Equal(t, "calls of 12 that did not meet the fault", admitted(12, func() sandboxtest.Response { return s.Get("/bins") }), 11)
	}
}

// Settings are as documented, take what is named, refuse what they cannot be and stay
// then, and are as documented again after a reset.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	type refusal struct{ body, message string }
	for _, test := range []struct {
		path, usual, others string
		refused             []refusal
	}{
		{
			path:   "/_sandbox/limits",
			usual:  `{"requests_per_minute":1000,"creates_per_minute":50,"requests_per_hour":10000,"details_per_minute":30}`,
			others: `{"requests_per_minute":0,"creates_per_minute":50,"requests_per_hour":0,"details_per_minute":7}`,
			refused: []refusal{
				{`{"requests_per_minute":-1}`, "from 0"},
				{`{"requests_per_hour":1000000001}`, "from 0 to 1000000000"},
				{`{"requests_per_minute":1.5}`, "integer"},
				{`{"requests_per_minute":"5"}`, "integer"},
				{`{"requests_per_day":5}`, `"requests_per_day"`},
				{"[]", "object"},
			},
		},
		{
			path:   "/_sandbox/quirks",
			usual:  `{"idempotency":"honoured","cards_per_page":100,"cards_total":"present","withdraw_amount":"honoured","transactions_per_page":"honoured","transaction_period":"days","transaction_signs":"unsigned","challenge_status":"honoured","repeated_state":"ok","terminated_status":400,"frozen_money":"allowed","error_body":"json","retry_after":"seconds","wallet_fields":["wallet_a_pay","wallet_b_pay"],"amounts":"decimals","balance":"less_holds","card_values":"as_asked","cards_hidden_seconds":0,"wallet_decimals":2,"timestamps":"utc","empty_metadata":"object","exp_year_digits":4}`,
			others: `{"idempotency":"conflict","cards_per_page":7,"cards_total":"absent","withdraw_amount":"ignored","transactions_per_page":"ignored","transaction_period":"midnights","transaction_signs":"refunds","challenge_status":"ignored","repeated_state":"conflict","terminated_status":422,"frozen_money":"refused","error_body":"text","retry_after":"absent","wallet_fields":["x_pay","wallets"],"amounts":"strings","balance":"settled","card_values":"tidied","cards_hidden_seconds":5,"wallet_decimals":6,"timestamps":"bare","empty_metadata":"array","exp_year_digits":2}`,
			refused: []refusal{
				{`{"idempotency":"maybe"}`, "honoured, ignored, conflict"},
				{`{"cards_per_page":101}`, "1 to 100"},
				{`{"cards_per_page":0}`, "1 to 100"},
				{`{"cards_total":true}`, "string"},
				{`{"withdraw_amount":"no"}`, "honoured, ignored"},
				{`{"transactions_per_page":""}`, "honoured"},
				{`{"repeated_state":"409"}`, "ok, conflict"},
				{`{"terminated_status":410}`, "400, 404, 409, 422"},
				{`{"terminated_status":"409"}`, "integer"},
				{`{"frozen_money":"x"}`, "allowed"},
				{`{"error_body":"html"}`, "extended"},
				{`{"retry_after":"never"}`, "seconds, date, absent"},
				{`{"wallet_fields":["a_pay"]}`, "two different"},
				{`{"wallet_fields":["a_pay","a_pay"]}`, "two different"},
				{`{"wallet_fields":["a_pay","id"]}`, "no other field"},
				{`{"wallet_fields":["a_pay","B_PAY"]}`, "lower case"},
				{`{"amounts":"binary"}`, "plain"},
				{`{"transaction_period":"weeks"}`, "days, midnights, dates_only"},
				{`{"transaction_signs":"both"}`, "unsigned, refunds, spending"},
				{`{"challenge_status":"x"}`, "honoured, ignored"},
				{`{"wallet_decimals":7}`, "2 to 6"},
				{`{"timestamps":"cet"}`, "utc, bare"},
				{`{"empty_metadata":"null"}`, "object, array"},
				{`{"exp_year_digits":3}`, "one of 2, 4"},
				{`{"exp_year_digits":5}`, "2 to 4"},
				{`{"terminated_status":423}`, "400 to 422"},
				{`{"wallet_fields":["a_pay","` + strings.Repeat("a", 61) + `"]}`, "lower case"},
				{`{"balance":"x"}`, "less_holds, settled"},
				{`{"card_values":"x"}`, "as_asked, tidied"},
				{`{"cards_hidden_seconds":601}`, "0 to 600"},
				{`{"colour":"red"}`, `"colour"`},
			},
		},
	} {
		shows := func(when, want string) {
			t.Helper()
			sandboxtest.Equal(t, when+": "+test.path+" shows", s.Get(test.path).OK(200).Raw, want+"\n")
		}
		shows("at first", test.usual)
		for range 2 {
			s.Put(test.path, test.others).OK(200)
			for _, refused := range test.refused {
				s.Put(test.path, refused.body).Refused(400, "invalid_request", refused.message)
			}
			shows("after what was refused", test.others)
			s.Put(test.path, `{}`).OK(200)
			shows("after {}", test.usual)
		}
		s.Put(test.path, test.others).OK(200)
		s.Post("/_sandbox/reset", "").OK(200)
		shows("after a reset", test.usual)
	}
}

// The sandbox is every other service that its document may be of.
func TestQuirks(t *testing.T) {
	t.Parallel()
	s := start(t, sandboxtest.Stopped(time.Date(2026, 3, 31, 15, 0, 0, 0, time.UTC)))
	words := s.populate()
	for _, test := range []struct {
		quirks string
		calls  []call
	}{
		{`{"balance":"settled"}`, []call{
			{method: "GET", path: "/cards/CARD", status: 200, has: []string{`"balance":93.00`}},
			{method: "GET", path: "/cards?status=active", status: 200, has: []string{`"balance":93.00`}},
			{method: "GET", path: "/wallet/balance", status: 200, has: []string{`"cards_total_balance":143.00`}},
			{method: "POST", path: "/cards/CARD/withdraw", body: `{"amount":54}`, status: 400, has: []string{`"insufficient_card_balance"`, "53.00"}},
			{method: "POST", path: "/cards/CARD/fund", body: `{"amount":7}`, status: 200, has: []string{`"card_balance":100.00`}},
			{method: "POST", path: "/_sandbox/settlements", body: `{"transaction_id":"OPEN","amount":35}`, status: 201},
			{method: "GET", path: "/cards/CARD", status: 200, has: []string{`"balance":65.00`}},
			{method: "POST", path: "/_sandbox/refunds", body: `{"transaction_id":"LAST","amount":5}`, status: 201},
			{method: "GET", path: "/cards/CARD", status: 200, has: []string{`"status":"active","balance":70.00`}},
			{method: "POST", path: "/_sandbox/authorizations", body: `{"card_id":"CARD","amount":10,"merchant":{"name":"Big Ads","mcc":"7311"}}`, status: 201},
			{method: "POST", path: "/_sandbox/settlements", body: `{"transaction_id":"LAST","amount":55}`, status: 201},
			{method: "GET", path: "/cards/CARD", status: 200, has: []string{`"status":"frozen","balance":15.00`}},
			{method: "POST", path: "/cards/CARD/unfreeze", status: 200},
			{method: "POST", path: "/_sandbox/authorizations", body: `{"card_id":"CARD","amount":8,"merchant":{"name":"Big Ads","mcc":"7311"}}`, status: 201},
			{method: "GET", path: "/cards/CARD", status: 200, has: []string{`"status":"active","balance":15.00`}},
			{method: "POST", path: "/cards/FROZEN/unfreeze", status: 200},
			{method: "POST", path: "/_sandbox/authorizations", body: `{"card_id":"FROZEN","amount":8,"merchant":{"name":"Big Ads","mcc":"7311"}}`, status: 201},
			{method: "DELETE", path: "/cards/FROZEN", status: 200, has: []string{`"returned_to_wallet":42.00`}},
			{method: "GET", path: "/cards/FROZEN", status: 200, has: []string{`"status":"terminated","balance":0.00`}},
		}},
		{`{"idempotency":"ignored"}`, []call{
			{method: "POST", path: "/cards/CARD/fund", body: `{"amount":5}`, key: "k", status: 200, has: []string{`"card_balance":12.00`}},
			{method: "POST", path: "/cards/CARD/fund", body: `{"amount":5}`, key: "k", status: 200, has: []string{`"card_balance":17.00`}},
			{method: "POST", path: "/cards/CARD/fund", body: `{"amount":6}`, key: "k", status: 200, has: []string{`"card_balance":23.00`}},
		}},
		{`{"transactions_per_page":"ignored"}`, []call{
			{method: "GET", path: "/transactions?per_page=x", status: 200, has: []string{"DECLINE"}},
		}},
		{`{"transactions_per_page":"refused"}`, []call{
			{method: "GET", path: "/transactions?per_page=100", status: 400, has: []string{`"invalid_request"`, "per_page"}},
			{method: "GET", path: "/transactions?page=2", status: 200, has: []string{`"data":[]`}},
		}},
		{`{"transaction_period":"days"}`, []call{
			{method: "GET", path: "/transactions?to=2026-03-31", status: 200, has: []string{"DECLINE"}},
			{method: "GET", path: "/transactions?to=2026-03-30", status: 200, has: []string{`"data":[]`}},
			{method: "GET", path: "/transactions?from=2026-04-01", status: 200, has: []string{`"data":[]`}},
			{method: "GET", path: "/transactions?to=2026-03-31T15:00:00Z", status: 200, has: []string{"DECLINE"}},
		}},
		{`{"transaction_period":"midnights"}`, []call{
			{method: "GET", path: "/transactions?to=2026-03-31", status: 200, has: []string{`"data":[]`}},
			{method: "GET", path: "/transactions?to=2026-04-01", status: 200, has: []string{"DECLINE"}},
			{method: "GET", path: "/transactions?from=2026-03-31", status: 200, has: []string{"DECLINE"}},
			{method: "GET", path: "/transactions?to=2026-03-31T15:00:00Z", status: 200, has: []string{"DECLINE"}},
		}},
		{`{"transaction_period":"dates_only"}`, []call{
			{method: "GET", path: "/transactions?to=2026-03-31", status: 200, has: []string{"DECLINE"}},
			{method: "GET", path: "/transactions?to=2026-03-30", status: 200, has: []string{`"data":[]`}},
			{method: "GET", path: "/transactions?from=2026-03-31T15:00:00Z", status: 400, has: []string{"must be a date"}},
			{method: "GET", path: "/transactions?to=2026-03-31T15:00:00Z", status: 400, has: []string{"must be a date"}},
		}},
		{`{"transaction_signs":"unsigned"}`, []call{
			{method: "GET", path: "/transactions", status: 200, has: []string{`"refund","amount":4.00`, `"settlement","amount":10.00`}},
		}},
		{`{"transaction_signs":"refunds"}`, []call{
			{method: "GET", path: "/transactions", status: 200, has: []string{`"refund","amount":-4.00`, `"settlement","amount":10.00`, `"fee":1.00`}},
		}},
		{`{"transaction_signs":"spending"}`, []call{
			{method: "GET", path: "/transactions", status: 200, has: []string{`"refund","amount":4.00`, `"settlement","amount":-10.00`, `"amount":-40.00`, `"fee":-1.00`}},
		}},
		{`{"challenge_status":"ignored"}`, []call{
			{method: "GET", path: "/3ds?status=pending", status: 200, has: []string{`"CHALLENGE"`, `"DONE"`, `"otp":null,"status":"approved"`}, lacks: []string{`"otp":null,"status":"pending"`}},
		}},
		{`{"wallet_decimals":6}`, []call{
			{method: "GET", path: "/wallet/balance", status: 200, has: []string{`"pending_deposits":1.001234`, `"cards_total_balance":23.00`}},
			{method: "POST", path: "/cards/CARD/fund", body: `{"amount":1}`, status: 200, has: []string{`"card_balance":24.00`, `"wallet_balance":9865.001234`}},
		}},
		{`{"timestamps":"bare","empty_metadata":"array","exp_year_digits":2,"error_body":"nested"}`, []call{
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50,"label":"created_at"}`, status: 201, has: []string{`"created_at":"2026-03-31T15:00:00.000"`, `"metadata":[]`}},
			{method: "GET", path: "/cards/LAST/details", status: 200, has: []string{`"exp_year":29`}},
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50,"metadata":{"created_at":"2026-01-01T00:00:00Z"}}`, status: 201, has: []string{`{"created_at":"2026-01-01T00:00:00Z"}`}},
			{method: "GET", path: "/cards/card_x", status: 404, has: []string{`{"error":{"code":"not_found","message":`}},
		}},
		{`{"empty_metadata":"array"}`, []call{
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50}`, status: 201, has: []string{`"metadata":[]`, `"created_at":"2026-03-31T15:00:00.000Z"`, `"expires_at":"2029-03-31"`}},
		}},
		{`{"timestamps":"bare"}`, []call{
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50}`, status: 201, has: []string{`"metadata":{}`, `"created_at":"2026-03-31T15:00:00.000"`}},
		}},
		{`{"error_body":"extended"}`, []call{
			{method: "GET", path: "/cards/card_x", status: 404, has: []string{`"error":"not_found"`, `"message":`, `"status":404`, `"request_id":"req_`, `"details":`}},
		}},
		{`{"error_body":"text"}`, []call{
			{method: "GET", path: "/cards/card_x", status: 404, has: []string{"card_x"}, lacks: []string{"{"}},
			{method: "GET", path: "/nothing", status: 404, lacks: []string{"{"}},
			{method: "GET", path: "/cards?page=0", status: 400, has: []string{"page"}, lacks: []string{"{"}},
			{method: "GET", path: "/_sandbox/nothing", status: 404, has: []string{`{"error":"not_found"`}},
		}},
		{`{"card_values":"tidied"}`, []call{
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_general_visa_eu","amount":50,"label":" ads ","spending_limit":9999}`, status: 201, has: []string{`"label":"ads"`, `"spending_limit":5000.00`}},
			{method: "GET", path: "/cards/LAST", status: 200, has: []string{`"label":"ads"`}, lacks: []string{"9999"}},
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50,"allowed_categories":["travel","food"]}`, status: 201, has: []string{`"allowed_categories":["FOOD","TRAVEL"]`}},
			{method: "POST", path: "/_sandbox/authorizations", body: `{"card_id":"LAST","amount":1,"merchant":{"name":"Big Ads","mcc":"7311"}}`, status: 201, has: []string{"category_not_allowed"}},
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50}`, status: 201, has: []string{`"allowed_categories":[]`}},
		}},
		{`{"cards_hidden_seconds":60}`, []call{
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50}`, status: 201},
			{method: "GET", path: "/cards/LAST", status: 404, has: []string{`"not_found"`}},
			{method: "GET", path: "/cards/LAST/details", status: 404, has: []string{`"not_found"`}},
			{method: "GET", path: "/cards?per_page=100", status: 200, has: []string{`"total":0`}, lacks: []string{"LAST"}},
			{method: "POST", path: "/cards/LAST/freeze", status: 200},
			{method: "POST", path: "/_sandbox/clock", body: `{"advance":"60s"}`, status: 200},
			{method: "GET", path: "/cards/LAST", status: 200},
			{method: "GET", path: "/cards/LAST/details", status: 200},
			{method: "GET", path: "/cards?per_page=100", status: 200, has: []string{"LAST", `"total":11`}},
		}},
		{`{"wallet_fields":["north_pay","south_pay"]}`, []call{
			{method: "GET", path: "/bins", status: 200, has: []string{`{"3ds":true,"category":"ads","id":"bin_ads_visa_eu","network":"visa","north_pay":true,"south_pay":false}`}, lacks: []string{"wallet_"}},
		}},
		{`{"amounts":"floats"}`, []call{
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50,"auto_freeze_at":5.5,"label":"metadata"}`, status: 201, has: []string{`"auto_freeze_at":5.500000000000004`}},
			{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50,"metadata":{"rate":1.50}}`, status: 201, has: []string{`"metadata":{"rate":1.50}`}},
			{method: "GET", path: "/cards", status: 200, has: []string{`"balance":50.000000000000004`, `"page":1,"per_page":25,`}},
			{method: "GET", path: "/_sandbox/ledger", status: 200, has: []string{`"balance":50.00}`}},
		}},
		{`{"frozen_money":"refused"}`, []call{
			{method: "POST", path: "/cards/CARD/freeze", status: 200},
			{method: "POST", path: "/cards/CARD/fund", body: `{"amount":1}`, status: 400, has: []string{`"error":"card_frozen","message":"card CARD is frozen; unfreeze it first"`}},
			{method: "POST", path: "/cards/CARD/withdraw", status: 400, has: []string{`"card_frozen"`}},
			{method: "GET", path: "/cards/CARD/details", status: 400, has: []string{`"card_frozen"`}},
			{method: "GET", path: "/cards/CARD", status: 200, has: []string{`"status":"frozen"`}},
			{method: "POST", path: "/cards/CARD/unfreeze", status: 200},
			{method: "POST", path: "/cards/CARD/fund", body: `{"amount":1}`, status: 200},
		}},
		{`{"repeated_state":"conflict"}`, []call{
			{method: "POST", path: "/cards/CARD/unfreeze", status: 409, has: []string{`"error":"card_active","message":"card CARD is already active"`}},
			{method: "POST", path: "/cards/CARD/freeze", status: 200},
			{method: "POST", path: "/cards/CARD/freeze", status: 409, has: []string{`"error":"card_frozen","message":"card CARD is already frozen"`}},
			{method: "POST", path: "/cards/CARD/unfreeze", status: 200},
		}},
		{`{"terminated_status":404}`, []call{
			{method: "GET", path: "/cards/ENDED", status: 200, has: []string{`"status":"terminated"`}},
			{method: "POST", path: "/cards/ENDED/fund", body: `{"amount":1}`, status: 404, has: []string{`"not_found"`, "ENDED"}},
			{method: "DELETE", path: "/cards/ENDED", status: 404, has: []string{`"not_found"`, "ENDED"}},
		}},
		{`{"terminated_status":409}`, []call{
			{method: "DELETE", path: "/cards/ENDED", status: 409, has: []string{`"error":"card_terminated","message":"card ENDED is terminated, which is permanent"`}},
		}},
		{`{"withdraw_amount":"ignored"}`, []call{
			{method: "POST", path: "/cards/CARD/withdraw", body: `{"amount":1}`, status: 200, has: []string{`"card_balance":0.00`}},
		}},
		{`{"cards_total":"absent","cards_per_page":2}`, []call{
			{method: "GET", path: "/cards?per_page=100", status: 200, has: []string{`"page":1,"per_page":2}`}, lacks: []string{`"total"`}},
		}},
	} {
		s.Put("/_sandbox/quirks", test.quirks).OK(200)
		s.T = &named{t, test.quirks}
		s.checkCalls(words, test.calls)
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
		sandboxtest.Equal(t, "the card holds", s.Get("/api/v1/cards/"+id).Text("balance"), "57.00")
	})
}

func TestQuirkRetryAfter(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	s.Put("/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
	s.Get("/api/v1/bins").OK(200)
	s.Advance("19500ms")
	for kind, want := range map[string]string{"seconds": "41", "date": "Sun, 15 Mar 2026 12:01:01 GMT", "absent": ""} {
		s.Put("/_sandbox/quirks", `{"retry_after":"`+kind+`"}`).OK(200)
		sandboxtest.Equal(t, kind+": Retry-After", s.Get("/bins").OK(429).Header.Get("Retry-After"), want)
	}
}
