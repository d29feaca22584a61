package sandbox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Each target's seeds are run by a plain go test as well. To look further:
// go test -fuzz '^FuzzFundBody$' ./internal/sandbox

func FuzzIssueBody(f *testing.F) {
	const bin = `{"bin_id":"` + sandboxtest.BIN + `"`
	fuzzBody(f, http.MethodPost, "/api/v1/cards",
		bin+`,"amount":‹amount›}`, bin+`,"amount":50,"spending_limit":‹amount›}`, bin+`,"amount":50,"auto_freeze_at":‹amount›}`,
		bin+`,"amount":50,"label":"x","allowed_categories":["software"],"metadata":{"a":"b","c":1.5,"d":true}}`,
		bin+`,"amount":50,"metadata":{"a":{"b":[1]}}}`, bin+`,"amount":50,"metadata":{"a":1,"a":2}}`, bin+`,"amount":50,"metadata":[]}`,
		bin+`,"amount":50,"label":"`+strings.Repeat("ü", 64)+`"}`, bin+`,"amount":50,"label":"`+strings.Repeat("ü", 65)+`"}`,
		bin+`,"amount":50,"label":"\ud800"}`, bin+`,"amount":50,"label":"\u0000"}`, bin+`,"amount":50,"allowed_categories":[null,1,"x"]}`,
		`{"bin_id":["`+sandboxtest.BIN+`"],"amount":50}`, `{"bin_id":"","amount":50}`, `{"BIN_ID":"`+sandboxtest.BIN+`","amount":50}`)
}

func FuzzFundBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/api/v1/cards/CARD/fund", `{"amount":‹amount›}`, `{"amount":1,"card_id":"CARD"}`)
}

func FuzzWithdrawBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/api/v1/cards/CARD/withdraw", `{"amount":‹amount›}`, `{"amount":85}`)
}

func FuzzFreezeBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/api/v1/cards/CARD/freeze", `{"id":"CARD"}`)
}

func FuzzUnfreezeBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/api/v1/cards/CARD/unfreeze", `{"id":"CARD"}`)
}

func FuzzTerminateBody(f *testing.F) {
	fuzzBody(f, http.MethodDelete, "/api/v1/cards/CARD", `{"id":"CARD"}`)
}

func FuzzWebhookBody(f *testing.F) {
	const events = `","events":["*"]}`
	fuzzBody(f, http.MethodPost, "/api/v1/webhooks",
		`{"url":"https://127.0.0.1:1`+events, `{"url":"https://127.0.0.1:1","events":["card.created","card.created"],"secret":"s"}`,
		`{"url":"http://127.0.0.1`+events, `{"url":"https://`+events, `{"url":"https://[::1`+events, `{"url":"https://a b`+events, `{"url":"https://%zz`+events,
		`{"url":"https://u:p@x`+events, `{"url":"https://x:99999`+events, `{"url":"https:x`+events, `{"url":"\u0000https://x`+events, `{"url":7,"events":["*"]}`,
		`{"url":"https://x","events":"*"}`, `{"url":"https://x","events":[]}`, `{"url":"https://x","events":["*","card.created"]}`,
		`{"url":"https://x","events":[null]}`, `{"url":"https://x","events":["*"],"secret":""}`, `{"url":"https://x","events":["*"],"secret":{}}`)
}

func FuzzAuthorizationBody(f *testing.F) {
	const merchant = `,"merchant":{"name":"Ads","mcc":"7311"}}`
	fuzzBody(f, http.MethodPost, "/_sandbox/authorizations",
		`{"card_id":"CARD","amount":‹amount›`+merchant, `{"card_id":"CARD","amount":1,"fee":‹amount›`+merchant, `{"card_id":"card_x","amount":1`+merchant,
		`{"card_id":"CARD","amount":1}`, `{"card_id":"CARD","amount":1,"merchant":[]}`, `{"card_id":"CARD","amount":1,"merchant":{"name":"","mcc":"1"}}`,
		`{"card_id":"CARD","amount":1,"merchant":{"name":"x","mcc":"73111"}}`, `{"card_id":"CARD","amount":1,"merchant":{"name":"x","mcc":7311}}`)
}

func FuzzSettlementBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/settlements", `{"transaction_id":"AUTHORIZATION","amount":‹amount›}`,
		`{"transaction_id":"AUTHORIZATION"}`, `{"transaction_id":"SETTLEMENT"}`, `{"transaction_id":"txn_x"}`, `{"transaction_id":1}`)
}

func FuzzRefundBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/refunds", `{"transaction_id":"SETTLEMENT","amount":‹amount›}`,
		`{"transaction_id":"SETTLEMENT"}`, `{"transaction_id":"AUTHORIZATION"}`, `{"transaction_id":"txn_x"}`, `{"transaction_id":null}`)
}

func FuzzChallengeBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/3ds-challenges", `{"card_id":"CARD","merchant":"Ads","amount":‹amount›}`,
		`{"card_id":"CARD","merchant":"","amount":1}`, `{"card_id":"x","merchant":"Ads","amount":1}`, `{"card_id":"CARD","merchant":{"name":"Ads"},"amount":1}`)
}

func FuzzCompletionBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/3ds-challenges/CHALLENGE/complete",
		`{"outcome":"approved"}`, `{"outcome":"failed"}`, `{"outcome":"expired"}`, `{"outcome":1}`, `{"outcome":""}`)
}

func FuzzDepositBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/deposits", `{"currency":"btc","amount":‹amount›}`,
		`{"currency":"doge","amount":1}`, `{"currency":"BTC","amount":1}`, `{"currency":1,"amount":1}`)
}

func FuzzConfirmationBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/deposits/DEPOSIT/confirm", `{"id":"DEPOSIT"}`)
}

func FuzzClockBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/clock", `{"advance":"720h"}`, `{"advance":"1ns"}`, `{"advance":"-1h"}`, `{"advance":"0"}`,
		`{"advance":"2562047h47m16.854775807s"}`, `{"advance":"9999999h"}`, `{"advance":"1e5h"}`, `{"advance":1}`)
}

func FuzzLimitsBody(f *testing.F) {
	fuzzBody(f, http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":‹amount›}`, `{"requests_per_minute":1000000001}`, `{"details_per_minute":0}`)
}

func FuzzAccountBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/accounts", `{"state":"ready","initial_balance":‹amount›}`, `{"state":"ready"}`, `{"state":"rich"}`, `{"state":1}`)
}

func FuzzResetBody(f *testing.F) { fuzzBody(f, http.MethodPost, "/_sandbox/reset", `{"all":true}`) }

func FuzzRedeliveryBody(f *testing.F) {
	fuzzBody(f, http.MethodPost, "/_sandbox/deliveries/dlv_x/redeliver", `{"id":"dlv_x"}`)
}

// Whatever quirks are accepted, the service goes on.
func FuzzQuirksBody(f *testing.F) {
	for _, seed := range []string{
		`{"idempotency":"ignored","amounts":"strings"}`, `{"amounts":"plain","error_body":"extended"}`, `{"cards_per_page":1}`, `{"cards_per_page":1e1}`,
		`{"terminated_status":404}`, `{"terminated_status":499}`, `{"wallet_fields":["a_pay","b_pay"]}`, `{"wallet_fields":["\"_pay","b_pay"]}`,
		`{"wallet_fields":["a_pay"]}`, `{"wallet_fields":{}}`, `{"retry_after":"date","error_body":"text"}`, `{"idempotency":null}`, `{`, `{"amounts":""}`,
	} {
		f.Add([]byte(seed))
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		s.ready(t)
		s.survives(t, http.MethodPut, "/_sandbox/quirks", "", string(body), nil)
		for path, status := range map[string]int{"/cards": 200, "/bins": 200, "/cards/card_x": 404, "/wallet/balance": 200, "/transactions": 200} {
			if w := s.request(t, http.MethodGet, "/api/v1"+path, "", "", nil); w.Status != status {
				t.Errorf("%s answered %d %s", path, w.Status, w.Raw)
			}
		}
	})
}

// Whatever faults are accepted, calls are answered by them or in the usual way.
func FuzzFaultsBody(f *testing.F) {
	for _, seed := range []string{
		`{"method":"GET","path":"/bins","times":1,"when":"before","then":{"status":503,"body":{"a":1}}}`, `{"method":"*","path":"/*/*","then":{"status":200,"body":"x"}}`,
		`{"method":"GET","path":"/b{ins,","then":{"status":503}}`, `{"method":"GET","path":"[!-/]*","then":"pass"}`, `{"method":"GET","path":"\\","then":"pass"}`,
		`{"method":"GET","path":"{{{{{*","then":"pass"}`, `{"method":"GET","path":"/bi?s","times":0,"then":{"status":599,"body":null}}`, `{"then":{"status":{}}}`,
		`{"method":"GET","path":"/bins","then":{"status":100}}`, `{"method":"GET","path":"/bins","delay_ms":-1,"then":"pass"}`, `{"method":"GET","path":"\u0000","then":"pass"}`,
	} {
		f.Add([]byte(seed))
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		s.ready(t)
		w := s.survives(t, http.MethodPost, "/_sandbox/faults", "", string(body), nil)
		added := w.Raw
		if w.Status != http.StatusCreated || !strings.Contains(added, `"delay_ms":0,"then":{`) {
			s.request(t, http.MethodDelete, "/_sandbox/faults", "", "", nil)
			return
		}
		if w := s.request(t, http.MethodGet, "/api/v1/bins", "", "", nil); strings.Contains(w.Raw, "internal_error") {
			t.Errorf("after %s: answered %d %s", added, w.Status, w.Raw)
		}
		s.request(t, http.MethodDelete, "/_sandbox/faults", "", "", nil)
	})
}

func FuzzCardsQuery(f *testing.F) {
	fuzzQuery(f, "/api/v1/cards", append(pages(), "status=active", "status=gone", "status=", "bin_id="+sandboxtest.BIN, "bin_id=%ff", "status=active&status=frozen")...)
}

func FuzzTransactionsQuery(f *testing.F) {
	fuzzQuery(f, "/api/v1/transactions", append(pages(),
		"card_id=CARD", "card_id=x", "card_id=", "type=refund", "type=gift", "from=2026-02-30", "to=2026-02-30", "from=2026-02-28&to=2026-02-28",
		"from=2026-03-01&to=2026-02-01", "from=0000-01-01", "from=9999-12-31&to=9999-12-31", "from=-1", "to=2026-01-01T00:00:00", "to=2026-01-01T25:00:00Z",
		"from=2026-01-01T00:00:00%2B23:59", "from=2026-01-01T00:00:00+02:00", "from=2026-01-01T00:00:60Z", "from=20260101", "to=9999-12-31T23:59:59.999999999Z",
		"from=0001-01-01T00:00:00Z&to=0001-01-01")...)
}

func FuzzDepositAddressQuery(f *testing.F) {
	fuzzQuery(f, "/api/v1/wallet/deposit-address", "currency=btc", "currency=BTC", "currency=doge", "currency=", "currency=btc&currency=eth")
}

func FuzzChallengesQuery(f *testing.F) {
	fuzzQuery(f, "/api/v1/3ds", append(pages(), "status=pending", "status=approved", "status=expired", "status=x", "status=")...)
}

// FuzzOtherQueries is for calls that have no parameters.
func FuzzOtherQueries(f *testing.F) {
	paths := []string{
		"/api/v1/cards/CARD", "/api/v1/cards/CARD/details", "/api/v1/wallet/balance", "/api/v1/bins",
		"/_sandbox/clock", "/_sandbox/limits", "/_sandbox/quirks", "/_sandbox/faults", "/_sandbox/requests", "/_sandbox/deliveries", "/_sandbox/ledger",
	}
	for i := range paths {
		f.Add(uint8(i), "page=0")
		f.Add(uint8(i), "%zz;=&\xff")
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, path uint8, query string) {
		s.ready(t)
		s.survives(t, http.MethodGet, s.fill(paths[int(path)%len(paths)]), query, "", nil)
	})
}

// FuzzPath calls whatever a path may name.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"/api/v1/cards/CARD", "/api/v1/cards/‹10 KiB›", "/api/v1/cards/CARD/", "/api/v1/cards//CARD", "/api/v1/cards/\x00", "/api/v1/cards/\xff",
		"/api/v1/cards/..", "/api/v1/cards/../bins", "/api/v1/cards/%2e%2e", "/api/v1/cards/' OR 1=1--", "/api/v1/cards/CARD/fund", "/api/v1/cards/CARD/details/x",
		"", "*", "/", "//", "api/v1/cards", "/_sandbox", "/_sandbox/", "/_sandbox/3ds-challenges/x/complete", "/_sandbox/deposits//confirm", "/API/V1/cards",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "get", ""} {
			f.Add(method, path)
		}
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, method, path string) {
		s.ready(t)
		s.survives(t, method, s.fill(path), "", "", nil)
	})
}

func FuzzHeaders(f *testing.F) {
	f.Add("Bearer KEY", "application/json", "k")
	for _, authorization := range []string{"", "Bearer", "Bearer ", "bearer KEY", "Bearer  KEY", "Basic KEY", "KEY", "Bearer KEY x", "Bearer sk_live_", "Bearer \x00"} {
		f.Add(authorization, "application/json", "")
	}
	for _, kind := range []string{"", "text/json", "application/json;charset=utf-16", "application/json; charset=UTF-8", "application/json;;", "application/json, text/plain"} {
		f.Add("Bearer KEY", kind, "")
	}
	for _, key := range []string{" ", strings.Repeat("k", 255), strings.Repeat("k", 256), "\xff", "k\x00"} {
		f.Add("Bearer KEY", "application/json", key)
	}
	s := newTarget(f)
	f.Fuzz(func(t *testing.T, authorization, kind, key string) {
		s.ready(t)
		header := http.Header{
			"Authorization": {strings.ReplaceAll(authorization, "KEY", s.Key)}, "Content-Type": {kind}, "X-Idempotency-Key": {key},
		}
		first := s.survives(t, http.MethodPost, "/api/v1/cards/"+s.card+"/fund", "", `{"amount":0.01}`, header)
		again := s.survives(t, http.MethodPost, "/api/v1/cards/"+s.card+"/fund", "", `{"amount":0.01}`, header)
		if key != "" && first.Status == http.StatusOK && again.Raw != first.Raw {
			t.Errorf("one key was answered %s and %s", first.Raw, again.Raw)
		}
	})
}
