package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestAuthentication(t *testing.T) {
	t.Parallel()
	s := start(t)
	if !strings.HasPrefix(s.Key, "sk_live_sandbox_") {
		t.Error("the key has the wrong form")
	}
	for name, header := range map[string]string{
		"none": "", "another scheme": "Basic " + s.Key, "no scheme": s.Key, "unknown": "Bearer sk_live_sandbox_0", "cut": "Bearer " + s.Key[:30],
	} {
		for _, path := range []string{"/api/v1/bins", "/api/v1/nothing", "/_sandbox/clock"} {
			a := s.Call(http.MethodGet, path, "", "Authorization", header)
			a.Refused(401, "unauthorized", "API key")
			if strings.Contains(a.Raw, s.Key[16:]) {
				t.Errorf("%s: the response shows a key", name)
			}
		}
	}
	s.Call(http.MethodGet, "/api/v1/bins", "", "Authorization", "bearer "+s.Key).OK(200)
}

// An account that is not ready uses the control calls alone; its first deposit ends its
// onboarding.
func TestReadiness(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	for state, codes := range map[string][2]string{
		"email_unconfirmed": {"onboarding_incomplete", "onboarding_incomplete"}, "no_deposit": {"onboarding_incomplete", "api_not_enabled"},
		"api_not_enabled": {"api_not_enabled", "api_not_enabled"}, "ready": {"", ""},
	} {
		newcomer := s.as(s.Post("/_sandbox/accounts", `{"state":"`+state+`"}`).OK(201).Text("api_key"))
		deposit := newcomer.Post("/_sandbox/deposits", `{"currency":"usdt","amount":100}`).OK(201).Text("id")
		for i, code := range codes {
			if got := newcomer.Get("/bins"); code == "" {
				got.OK(200)
			} else {
				got.Refused(403, code, "")
				newcomer.Post("/cards", `{}`).Refused(403, code, "")
			}
			newcomer.Get("/_sandbox/clock").OK(200)
			if i == 0 {
				newcomer.Post("/_sandbox/deposits/"+deposit+"/confirm", "").OK(200)
			}
		}
		newcomer.Balanced()
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	start(t).checkCalls(nil, []call{
		{method: "GET", path: "/", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1/", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v2/cards", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1/cards/", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1//cards", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1/../v1/cards", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/_sandbox/nothing", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "PUT", path: "/api/v1/cards", status: 405, has: []string{`{"error":"method_not_allowed","message":"this path accepts`}},
		{method: "DELETE", path: "/api/v1/cards", status: 405, has: []string{`{"error":"method_not_allowed","message":"this path accepts`}},
		{method: "PATCH", path: "/api/v1/cards/card_x", status: 405, has: []string{`{"error":"method_not_allowed","message":"this path accepts`}},
		{method: "POST", path: "/api/v1/bins", status: 405, has: []string{`{"error":"method_not_allowed","message":"this path accepts`}},
		{method: "GET", path: "/api/v1/webhooks", status: 405, has: []string{`{"error":"method_not_allowed","message":"this path accepts`}},
		{method: "GET", path: "/api/v1/cards/card_x/freeze", status: 405, has: []string{`{"error":"method_not_allowed","message":"this path accepts`}},
		{method: "OPTIONS", path: "/api/v1/cards", status: 405, has: []string{`{"error":"method_not_allowed","message":"this path accepts`}},
		{method: "GET", path: "/api/v1/cards/card_x", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1/cards/" + strings.Repeat("x", 10240), status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1/cards/%00", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1/cards/%2F", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "POST", path: "/api/v1/cards/a%2Ffreeze", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1/cards/card_%ff", status: 404, has: []string{`{"error":"not_found","message":"`}},
		{method: "GET", path: "/api/v1/cards/'%20OR%201=1--", status: 404, has: []string{`{"error":"not_found","message":"`}},
	})
}

// A key is one call's for a day: of its account, method and path. What was refused is
// forgotten. That responses are the same is for modeltest.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	s.checkCalls(s.populate(), []call{
		{method: "POST", path: "/cards/CARD/withdraw", body: `{"amount":60}`, key: "k", status: 400, has: []string{`"insufficient_card_balance"`}},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":10}`, key: "k", status: 200, has: []string{`"card_balance":63.00`}},
		{method: "POST", path: "/cards/CARD/withdraw", body: `{"amount":60}`, key: "k", status: 200, has: []string{`"card_balance":3.00`}},
		{method: "POST", path: "/cards/CARD/withdraw", body: `{"amount":60}`, key: "k", status: 200, has: []string{`"card_balance":3.00`}},
		{method: "POST", path: "/cards/CARD/withdraw", body: `{"amount":61}`, key: "k", status: 400, has: []string{`"idempotency_key_reused"`}},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":10}`, key: "other", status: 200, has: []string{`"card_balance":13.00`}},
		{method: "DELETE", path: "/cards/FROZEN", key: "k", status: 200, has: []string{`"returned_to_wallet":50.00`}},
		{method: "DELETE", path: "/cards/FROZEN", key: "k", status: 200, has: []string{`"returned_to_wallet":50.00`}},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":1}`, key: "a-KEY", status: 400, has: []string{`"invalid_request"`, "API key"}},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":1}`, key: strings.Repeat("k", 256), status: 400, has: []string{`"invalid_request"`, "X-Idempotency-Key"}},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"23h59m59s"}`, status: 200},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":10}`, key: "other", status: 200, has: []string{`"card_balance":13.00`}},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"1s"}`, status: 200},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":10}`, key: "other", status: 200, has: []string{`"card_balance":23.00`}},
		{method: "POST", path: "/cards/CARD/fund", body: `{"amount":1}`, key: strings.Repeat("k", 255), status: 200, has: []string{`"card_balance":24.00`}},
	})
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":500}`).Text("api_key"))
	body := `{"bin_id":"` + sandboxtest.BIN + `","amount":100}`
	mine := s.Post("/cards", body, sandboxtest.IdempotencyKey, "k").OK(201)
	if theirs := other.Post("/cards", body, sandboxtest.IdempotencyKey, "k").OK(201); theirs.Text("id") == mine.Text("id") {
		t.Error("another account's response was replayed")
	}
}

// Thirty calls with one key at the same moment, to two services on one file: one
// effect, and one response for all.
func TestIdempotencyKeyManyAtOnce(t *testing.T) {
	t.Parallel()
	one := open(t)
	two := open(t, on(one.path))
	one.Unlimited()
	if one.Key != two.Key {
		t.Fatal("the keys differ")
	}
	id := one.Issue("50")
	one.Post("/api/v1/cards/"+id+"/freeze", "").OK(200)
	ended := one.Issue("50")
	for name, c := range map[string][3]string{
		"create":    {"POST", "/cards", `{"bin_id":"` + sandboxtest.BIN + `","amount":60}`},
		"fund":      {"POST", "/cards/" + id + "/fund", `{"amount":7}`},
		"withdraw":  {"POST", "/cards/" + id + "/withdraw", `{"amount":3}`},
		"unfreeze":  {"POST", "/cards/" + id + "/unfreeze", ``},
		"terminate": {"DELETE", "/cards/" + ended, ``},
		"webhook":   {"POST", "/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`},
	} {
		var (
			group     sync.WaitGroup
			mu        sync.Mutex
			responses = map[string]int{}
			fresh     int
		)
		for i := range 30 {
			group.Go(func() {
				a := []*service{one, two}[i%2].Call(c[0], "/api/v1"+c[1], c[2], sandboxtest.IdempotencyKey, name)
				mu.Lock()
				defer mu.Unlock()
				responses[fmt.Sprint(a.Status, a.Raw)]++
				if a.Header.Get("Idempotent-Replayed") == "" {
					fresh++
				}
			})
		}
		group.Wait()
		if len(responses) != 1 || fresh != 1 {
			t.Errorf("%s: %d of 30 responses are no replay; they are %v", name, fresh, responses)
		}
	}
	sandboxtest.Equal(t, "the card, after a fund of 7 and a withdrawal of 3", two.Get("/api/v1/cards/"+id).Text("balance"), "54.00")
	sandboxtest.Equal(t, "cards", two.Get("/api/v1/cards").Text("total"), "3")
	one.Advance("24h")
	if one.Get("/_sandbox/clock").Text("now")[:10] != two.Get("/_sandbox/clock").Text("now")[:10] {
		t.Error("the clocks differ")
	}
	two.Balanced()
}

// A call leaves the window of a minute when it is a minute old; what is refused before
// it is looked at is not counted, by any limit.
func TestLimitsCount(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	s.checkCalls(nil, []call{
		{method: "PUT", path: "/_sandbox/limits", body: `{"requests_per_minute":3}`, status: 200},
		{method: "GET", path: "/bins", status: 200},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"16500ms"}`, status: 200},
		{method: "GET", path: "/bins", status: 200},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"16500ms"}`, status: 200},
		{method: "GET", path: "/bins", status: 200},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"16500ms"}`, status: 200},
		{method: "GET", path: "/bins", status: 429, has: []string{`"rate_limited"`, " 11 s"}},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"10499ms"}`, status: 200},
		{method: "GET", path: "/bins", status: 429, has: []string{`"rate_limited"`, " 1 s"}},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"1ms"}`, status: 200},
		{method: "GET", path: "/bins", status: 200},
		{method: "GET", path: "/bins", status: 429, has: []string{`"rate_limited"`, " 17 s"}},
		{method: "POST", path: "/_sandbox/clock", body: `{"advance":"1h"}`, status: 200},
		{method: "PUT", path: "/_sandbox/limits", body: `{"requests_per_minute":4,"creates_per_minute":2,"details_per_minute":1}`, status: 200},
		{method: "POST", path: "/cards", body: "{}", status: 400, has: []string{`"invalid_request"`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50}`, status: 201},
		{method: "POST", path: "/cards", body: "{}", status: 429, has: []string{`"rate_limited"`, " 60 s"}},
		{method: "GET", path: "/cards/LAST/details", status: 200},
		{method: "GET", path: "/cards/LAST/details", status: 429, has: []string{`"rate_limited"`, " 60 s"}},
		{method: "GET", path: "/api/v1/nothing", status: 404, has: []string{`"not_found"`}},
		{method: "GET", path: "/bins", status: 429, has: []string{`"rate_limited"`, " 60 s"}},
	})
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready","initial_balance":100}`).OK(201).Text("api_key"))
	for range 5 {
		s.Get("/_sandbox/clock").OK(200) // never counts
		s.as("sk_live_sandbox_wrong").Get("/bins").Refused(401, "unauthorized", "")
	}
	if read := admitted(6, func() sandboxtest.Response { return other.Get("/bins") }); read != 4 { // of its own key
		t.Errorf("%d calls of another key were let through", read)
	}
	s.Advance("1m")
	for _, again := range []*service{s, other} {
		again.Get("/bins").OK(200)
	}
}

// A limit holds exactly, whatever comes at the same moment.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	s.Call(http.MethodPut, "/_sandbox/limits", `{"requests_per_minute":60,"creates_per_minute":20}`).OK(200)
	if created := admitted(50, func() sandboxtest.Response {
		return s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`)
	}); created != 20 {
		t.Errorf("%d creates were let through, want 20", created)
	}
	sandboxtest.Equal(t, "reads that were let through", admitted(80, func() sandboxtest.Response { return s.Get("/api/v1/bins") }), 40)
	s.Advance("1m")
	sandboxtest.Equal(t, "cards", s.Get("/api/v1/cards").Text("total"), "20")
}

// admitted makes calls side by side, and returns how many were not over the limit.
func admitted(n int, call func() sandboxtest.Response) int64 {
	var (
		group sync.WaitGroup
		count atomic.Int64
	)
	for range n {
		group.Go(func() {
			switch a := call(); a.Status {
			case 200, 201:
				count.Add(1)
			case 429:
			default:
				a.T.Errorf("answered %d: %s", a.Status, a.Raw)
			}
		})
	}
	group.Wait()
	return count.Load()
}

// Each service counts the calls that are made at it, and begins anew when it does.
func TestEachServiceCountsItsOwn(t *testing.T) {
	t.Parallel()
	file := on(filepath.Join(t.TempDir(), "s.db"))
	one, two := open(t, file, stopped), open(t, file, stopped)
	letsThrough := func(s *service, want int64) {
		t.Helper()
		sandboxtest.Equal(t, "calls that were let through", admitted(3, func() sandboxtest.Response { return s.Get("/bins") }), want)
	}
	one.Put("/_sandbox/limits", `{"requests_per_minute":2}`).OK(200)
	letsThrough(one, 2)
	letsThrough(two, 2)
	letsThrough(open(t, file, stopped), 2)
	two.Post("/_sandbox/reset", "").OK(200)
	two.Put("/_sandbox/limits", `{"requests_per_minute":1}`).OK(200)
	letsThrough(two, 1)
}

// Lists of control calls have large pages.
func TestControlListsHavePages(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.subscribe("https://127.0.0.1:1", `"*"`)
	first := s.Issue("50")
	s.Issue("50")
	s.Issue("50")
	s.Freeze(first)
	s.checkCalls(strings.NewReplacer("FIRST", first), []call{
		{method: "GET", path: "/_sandbox/requests?per_page=2", status: 200, has: []string{`"path":"/webhooks"`, `"path":"/cards"`, `"page":1,"per_page":2,"total":5`}, lacks: []string{"/freeze"}},
		{method: "GET", path: "/_sandbox/requests?per_page=2&page=3", status: 200, has: []string{`{"data":[{"method":"POST","path":"/cards/FIRST/freeze"`, `"total":5`}, lacks: []string{`"path":"/cards"`}},
		{method: "GET", path: "/_sandbox/requests?page=9", status: 200, has: []string{`"data":[]`}},
		{method: "GET", path: "/_sandbox/requests?per_page=1001", status: 400, has: []string{`"invalid_request"`, "per_page"}},
		{method: "GET", path: "/_sandbox/deliveries?per_page=3", status: 200, has: []string{`"card.created"`, `"page":1,"per_page":3,"total":4`}, lacks: []string{`"card.frozen"`}},
		{method: "GET", path: "/_sandbox/deliveries?per_page=3&page=2", status: 200, has: []string{`"card.frozen"`, `"total":4`}, lacks: []string{`"card.created"`}},
		{method: "GET", path: "/_sandbox/deliveries?page=9", status: 200, has: []string{`"data":[]`}},
		{method: "GET", path: "/_sandbox/deliveries?per_page=1001", status: 400, has: []string{`"invalid_request"`, "per_page"}},
		{method: "POST", path: "/_sandbox/accounts", body: `{"state":"no_deposit"}`, status: 201},
		{method: "GET", path: "/_sandbox/accounts", status: 200, has: []string{`{"data":[{"account_id":"acct_first","state":"ready"},{"account_id":"acct_`, `"state":"no_deposit"}],"page":1,"per_page":1000,"total":2}`}},
		{method: "GET", path: "/_sandbox/accounts?per_page=1&page=2", status: 200, has: []string{`"state":"no_deposit"}],"page":2,"per_page":1,"total":2}`}, lacks: []string{"acct_first"}},
		{method: "GET", path: "/_sandbox/accounts?per_page=1001", status: 400, has: []string{"per_page must be an integer from 1 to 1000"}},
	})
	ledger := s.Get("/_sandbox/ledger?per_page=4&page=2").OK(200)
	if accounts, _ := ledger.Body["accounts"].([]any); len(accounts) != 4 || ledger.Body["balanced"] != true {
		t.Errorf("the ledger is %s", ledger.Raw)
	}
}

// What is asked for ends at the last moment of a date, and at a time in any zone; a
// clock that was set back stands still, but holds no calls up until it has caught up.
func TestPeriodsOfTransactions(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 23, 59, 59, 999e6, time.UTC)
	var wall atomic.Int64
	s := start(t, func(o *sandboxtest.Options) {
		o.Clock = func() time.Time { return begin.Add(time.Duration(wall.Load())) }
	})
	card := s.Issue("50")
	for _, at := range []time.Duration{0, time.Millisecond, -time.Hour, 24 * time.Hour} {
		wall.Store(int64(at))
		s.authorized(card, "1")
	}
	for query, want := range map[string]int{
		"": 4, "?to=2026-03-01": 1, "?from=2026-03-02": 3, "?from=2026-03-02&to=2026-03-02": 3, "?from=2026-03-03": 0,
		"?from=2026-03-01T23:59:59.999Z": 4, "?from=2026-03-01T23:59:59.9991Z": 3, "?to=2026-03-02T01:59:59.999%2B02:00": 1,
		"?from=2026-03-02T00:00:00Z&to=2026-03-02T00:00:00Z": 2, "?to=2026-03-02T00:00:00.0009Z": 3, "?page=9223372036854775807&per_page=100": 0,
		"?unknown=1": 4, "?card_id=card_x": 0, "?card_id=" + card + "&type=authorization": 4,
	} {
		if shown := s.Get("/transactions" + query).OK(200).Data(); len(shown) != want {
			t.Errorf("%s: %d transactions, want %d: %v", query, len(shown), want, shown)
		}
	}
	if page := s.Get("/cards?page=9223372036854775807&per_page=100").OK(200); len(page.Data()) != 0 || page.Text("total") != "1" {
		t.Errorf("past all ends, there is %s", page.Raw)
	}
	s.Put("/_sandbox/limits", `{"requests_per_minute":2}`).OK(200)
	for _, by := range []time.Duration{0, 5*time.Minute + time.Second, time.Hour} {
		wall.Store(int64(24*time.Hour - by))
		read := admitted(3, func() sandboxtest.Response { return s.Get("/bins") })
		sandboxtest.Equal(t, fmt.Sprint(by, " earlier, calls that were let through"), read, 2)
	}
}

// What modeltest's clients never send: null, an exponent, and as much as is taken; one
// more of anything is refused.
func TestIssueCard(t *testing.T) {
	t.Parallel()
	s := start(t)
	label, metadata := strings.Repeat("ü", 64), map[string]string{}
	for i := range 20 {
		metadata[fmt.Sprintf("%0512d", i)] = strings.Repeat("ü", 512)
	}
	most := sandboxtest.Must(json.Marshal(map[string]any{"bin_id": "bin_general_visa_eu", "amount": 50, "label": label, "metadata": metadata}))
	card := s.Post("/cards", string(most)).OK(201)
	if kept, _ := card.Body["metadata"].(map[string]any); card.Text("label") != label || len(kept) != len(metadata) {
		t.Errorf("kept %s", card.Raw)
	}
	s.checkCalls(s.populate(), []call{
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":1e2,"label":null,"auto_freeze_at":null}`, status: 201, has: []string{`"balance":100.00`, `"label":""`, `"auto_freeze_at":null`}},
		{method: "POST", path: "/cards/LAST/withdraw", body: "{}", status: 200, has: []string{`"card_balance":0.00`}},
	})
	s.checkCalls(nil, []call{
		{method: "GET", path: "/bins", status: 200, has: []string{`{"data":[{"3ds":true,"category":"ads","id":"bin_ads_visa_us","network":"visa","wallet_a_pay":true,"wallet_b_pay":true},{"3ds":true,"category":"ads","id":"bin_ads_visa_eu","network":"visa","wallet_a_pay":true,"wallet_b_pay":false},{"3ds":true,"category":"ads","id":"bin_ads_mastercard_us","network":"mastercard","wallet_a_pay":false,"wallet_b_pay":true},{"3ds":true,"category":"ads","id":"bin_ads_mastercard_eu","network":"mastercard","wallet_a_pay":false,"wallet_b_pay":false},{"3ds":true,"category":"software","id":"bin_software_visa_us","network":"visa","wallet_a_pay":true,"wallet_b_pay":true},{"3ds":true,"category":"software","id":"bin_software_mastercard_us","network":"mastercard","wallet_a_pay":false,"wallet_b_pay":true},{"3ds":true,"category":"general","id":"bin_general_visa_us","network":"visa","wallet_a_pay":true,"wallet_b_pay":false},{"3ds":true,"category":"general","id":"bin_general_visa_eu","network":"visa","wallet_a_pay":false,"wallet_b_pay":false},{"3ds":true,"category":"general","id":"bin_general_mastercard_us","network":"mastercard","wallet_a_pay":true,"wallet_b_pay":true}],"total":9}`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_us","amount":50}`, status: 201, has: []string{`"bin_id":"bin_ads_visa_us","network":"visa"`, `"spending_limit":50000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50}`, status: 201, has: []string{`"bin_id":"bin_ads_visa_eu","network":"visa"`, `"spending_limit":30000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_mastercard_us","amount":50}`, status: 201, has: []string{`"bin_id":"bin_ads_mastercard_us","network":"mastercard"`, `"spending_limit":50000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_mastercard_eu","amount":50}`, status: 201, has: []string{`"bin_id":"bin_ads_mastercard_eu","network":"mastercard"`, `"spending_limit":25000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_software_visa_us","amount":50}`, status: 201, has: []string{`"bin_id":"bin_software_visa_us","network":"visa"`, `"spending_limit":20000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_software_mastercard_us","amount":50}`, status: 201, has: []string{`"bin_id":"bin_software_mastercard_us","network":"mastercard"`, `"spending_limit":15000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_general_visa_us","amount":50}`, status: 201, has: []string{`"bin_id":"bin_general_visa_us","network":"visa"`, `"spending_limit":10000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_general_visa_eu","amount":50}`, status: 201, has: []string{`"bin_id":"bin_general_visa_eu","network":"visa"`, `"spending_limit":5000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_general_mastercard_us","amount":50}`, status: 201, has: []string{`"bin_id":"bin_general_mastercard_us","network":"mastercard"`, `"spending_limit":10000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50,"spending_limit":30000}`, status: 201, has: []string{`"spending_limit":30000.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50,"spending_limit":30000.01}`, status: 400, has: []string{"spending_limit must be above 0 and at most 30000.00 USD, the maximum of bin_ads_visa_eu"}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50,"spending_limit":0.01}`, status: 201, has: []string{`"spending_limit":0.01`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50,"spending_limit":0}`, status: 400, has: []string{"spending_limit must be above 0"}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50,"auto_freeze_at":0}`, status: 201, has: []string{`"auto_freeze_at":0.00`}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50,"auto_freeze_at":-0.01}`, status: 400, has: []string{"auto_freeze_at must not be negative"}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":49.99}`, status: 400, has: []string{"amount must be at least 50.00 USD"}},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50}` + strings.Repeat(" ", 1048536), status: 201},
		{method: "POST", path: "/cards", body: `{"bin_id":"bin_ads_visa_eu","amount":50}` + strings.Repeat(" ", 1048537), status: 400, has: []string{"the body is larger than 1 MiB"}},
	})
	read := s.Get("/cards/" + card.Text("id") + "/details").OK(200)
	sandboxtest.Equal(t, "Cache-Control of details", read.Header.Get("Cache-Control"), "no-store")
}

func TestCategories(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	codes := map[string][]string{
		"advertising": {"7311"}, "software": {"5734", "7372", "5817", "5818"}, "travel": {"3000", "3999", "4511", "7011"},
		"retail": {"5311", "5651", "5732", "5735"}, "food": {"5411", "5812"}, "entertainment": {"5816", "7832", "7999"},
		"utilities": {"4900"}, "telecom": {"4814"}, "education": {"8220"}, "health": {"8099", "5912"}, "transport": {"4121", "5541"},
		"finance": {"6011", "6300"}, "government": {"9311"}, "other": {"0000", "0763", "9999", "5599", "4000", "6541"},
	}
	for category := range codes {
		card := s.Issue("50", `"allowed_categories":["`+category+`"]`)
		for other, merchants := range codes {
			for _, mcc := range merchants {
				accepted := s.Authorize(card, "0.01", mcc).OK(201).Body["decline_reason"] == nil
				sandboxtest.Equal(t, "a card for "+category+" is accepted at a merchant of "+other+", "+mcc, accepted, category == other)
			}
		}
	}
	s.Balanced()
}
