package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
)

func TestDocumentedExchangesPass(t *testing.T) {
	t.Parallel()
	for name, e := range documented() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reports, read := e.overHTTP(t)
			if len(reports) > 0 {
				t.Errorf("reported %q, want nothing", reports)
			}
			if read != e.response {
				t.Errorf("the client read %q, want %q", read, e.response)
			}
		})
	}
}

func TestErrorsPassOnEveryEndpoint(t *testing.T) {
	t.Parallel()
	errors := map[int]string{
		400: `{"error": "invalid_request", "message": "no"}`,
		401: `{"error": "unauthorized", "message": "no"}`,
		403: `{"error": "api_not_enabled", "message": "no"}`,
		404: `{"error": "not_found", "message": "no"}`,
		429: `{"error": "rate_limited", "message": "no"}`,
	}
	for name, e := range documented() {
		for status, body := range errors {
			e.status, e.response, e.responseHeader = status, body, map[string]string{"Retry-After": "7"}
			if reports, _ := e.overHTTP(t); len(reports) > 0 {
				t.Errorf("%s, %d: reported %q, want nothing", name, status, reports)
			}
		}
	}
}

// TestWiderThanTheSandbox sends what the contract allows on purpose although the
// sandbox does not have it by default: one change for each x-wider, and no other.
func TestWiderThanTheSandbox(t *testing.T) {
	t.Parallel()
	response := func(old, replacement string) func(*exchange) {
		return func(e *exchange) { e.response = replaced(e.response, old, replacement) }
	}
	path := func(path string) func(*exchange) { return func(e *exchange) { e.path = path } }
	wider := map[string]struct {
		of     string
		change func(*exchange)
	}{
		"a period of times without a zone":                        {"list transactions", path("/transactions?from=2026-03-01T00:00:00&to=2026-03-02T00:00:00")},
		"a filter of challenges by a status of the service's own": {"list 3DS challenges", path("/3ds?status=authenticated")},
		"amounts without decimals and below zero":                 {"fund card", response(`"card_balance": 75.5`, `"card_balance": -75`)},
		"times of any precision, with Z or +00:00":                {"list transactions", response("03:04:05.678Z", "03:04:05+00:00")},
		"networks of any name":                                    {"list cards", response(`"visa"`, `"local scheme"`)},
		"categories of any name":                                  {"create card", response(`["advertising"]`, `["ads/online"]`)},
		"metadata of any depth":                                   {"create card", response(`{"team": "ads"}`, `{"team": {"ads": [1, null]}}`)},
		"transactions in any currency":                            {"list transactions", response(`"USD"`, `"KWD"`)},
		"card numbers of 12 to 19 digits":                         {"card details", response("0000123412341234", "0000123412341234567")},
		"codes of four digits":                                    {"card details", response(`"957"`, `"9571"`)},
		"BINs of any category":                                    {"list BINs", response(`"ads"`, `"anything"`)},
		"challenges in any status":                                {"list 3DS challenges", response(`"pending"`, `"authenticated"`)},
		"mobile wallets of any brand":                             {"list BINs", response("wallet_a_pay", "orchard_pay")},
	}
	text, err := os.ReadFile("openapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var marked []string
	for _, match := range regexp.MustCompile(`x-wider: ([^}\n]+?) *[}\n]`).FindAllStringSubmatch(string(text), -1) {
		marked = append(marked, match[1])
	}
	slices.Sort(marked)
	if tested := slices.Sorted(maps.Keys(wider)); !slices.Equal(marked, tested) {
		t.Errorf("openapi.yaml marks\n%q, tested are\n%q", marked, tested)
	}
	for name, test := range wider {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := documented()[test.of]
			test.change(&e)
			if reports, _ := e.overHTTP(t); len(reports) > 0 {
				t.Errorf("reported %q, want nothing", reports)
			}
		})
	}
}

// TestBreaksAreReported changes one thing of a good exchange and expects the
// report to name it.
func TestBreaksAreReported(t *testing.T) {
	t.Parallel()
	response := func(old, replacement string) func(*exchange) {
		return func(e *exchange) { e.response = replaced(e.response, old, replacement) }
	}
	asks := func(old, replacement string) func(*exchange) {
		return func(e *exchange) { e.body = replaced(e.body, old, replacement) }
	}
	path := func(path string) func(*exchange) { return func(e *exchange) { e.path = path } }
	header := func(name, value string) func(*exchange) {
		return func(e *exchange) { e.header = map[string]string{name: value} }
	}
	responseHeader := func(name, value string) func(*exchange) {
		return func(e *exchange) { e.responseHeader = map[string]string{name: value} }
	}
	refusal := func(status int, body string) func(*exchange) {
		return func(e *exchange) { e.status, e.response = status, body }
	}

	tests := []struct {
		name, of string
		change   func(*exchange)
		want     string
	}{
		{"undocumented path", "get card", path("/card/card_1"), "request: there is no such call"},
		{"undocumented method", "get card", func(e *exchange) { e.method = "PUT" }, "request: there is no such call"},
		{"empty id", "card details", path("/cards//details"), "request: there is no such call"},
		{"undocumented parameter", "list BINs", path("/bins?page=1"), `query parameter "page" is not documented`},
		{"repeated parameter", "list cards", path("/cards?page=1&page=2"), "query parameter page: given more than once"},
		{"parameter not in enum", "list cards", path("/cards?status=lost"), "query parameter status: value is not one of"},
		{"parameter not an integer", "list cards", path("/cards?page=1e0"), "query parameter page: value must be an integer"},
		{"parameter below its minimum", "list cards", path("/cards?page=0"), "query parameter page: number must be at least 1"},
		{"parameter above its maximum", "list cards", path("/cards?per_page=101"), "query parameter per_page: number must be at most 100"},
		{"unknown currency", "deposit addresses", path("/wallet/deposit-address?currency=doge"), "query parameter currency"},
		{"no such day", "list transactions", path("/transactions?from=2026-02-30"), "query parameter from: string doesn't match the format"},
		{"broken query", "list cards", path("/cards?page=%zz"), "the query cannot be parsed"},
		{"no key", "list BINs", header("Authorization", ""), "header Authorization"},
		{"wrong key form", "list BINs", header("Authorization", "Bearer planted"), "header Authorization"},
		{"empty idempotency key", "fund card", header("X-Idempotency-Key", ""), "header parameter X-Idempotency-Key"},
		{"no content type", "fund card", header("Content-Type", ""), "request: header Content-Type"},
		{"other charset", "fund card", header("Content-Type", "application/json; charset=latin1"), "the charset of JSON is utf-8"},
		{"body on a call without", "freeze card", func(e *exchange) { e.body = `{}` }, "body: this call has none"},
		{"no body", "fund card", func(e *exchange) { e.body = `` }, "body: required"},
		{"not JSON", "fund card", func(e *exchange) { e.body = `{"amount": 5` }, "body: not one strict JSON value"},
		{"two values", "fund card", func(e *exchange) { e.body += `{}` }, "body: not one strict JSON value"},
		{"duplicate key", "fund card", asks(`{`, `{"amount": 1, `), "body: not one strict JSON value"},
		{"nested", "fund card", asks(`25.50`, strings.Repeat(`[`, 1e5)), "body: not one strict JSON value"},
		{"invalid UTF-8", "create card", asks(`tf-1`, "\xff"), "body: not one strict JSON value"},
		{"amount as text", "fund card", asks(`25.50`, `"25.50"`), "body: /amount: value must be a number"},
		{"amount with three decimals", "fund card", asks(`25.50`, `25.500`), "/amount: an amount is a plain number"},
		{"amount beyond a float's precision", "fund card", asks(`25.50`, `25.50000000000000000001`), "/amount: an amount is a plain number"},
		{"amount with an exponent", "fund card", asks(`25.50`, `5e1`), "/amount: an amount is a plain number"},
		{"load under the minimum", "create card", asks(`"amount": 50`, `"amount": 49.99`), "/amount: number must be at least 50"},
		{"missing property", "create card", asks(`"bin_id": "bin_1", `, ``), "/bin_id: property \"bin_id\" is missing"},
		{"unknown property", "create card", asks(`{"bin_id"`, `{"colour": 1, "bin_id"`), `property "colour" is unsupported`},
		{"long label", "create card", asks(`tf-1`, strings.Repeat("ä", 65)), "/label: maximum string length is 64"},
		{"too much metadata", "create card", asks(`{"team": "ads"}`, manyKeys(21)), "/metadata: there must be at most 20 properties"},
		{"plain http", "create webhook", asks(`https://`, `http://`), "/url: string doesn't match the format"},
		{"unknown event", "create webhook", asks(`"*"`, `"card.lost"`), `/events: value doesn't match any schema from "oneOf"`},
		{"* among others", "create webhook", asks(`"*"`, `"*", "card.created"`), `/events: value doesn't match any schema from "oneOf"`},

		{"wrong success status", "create card", func(e *exchange) { e.status = 200 }, "response: status 200 is not documented"},
		{"server error", "list BINs", refusal(500, `{"error": "internal", "message": "no"}`), "response: status 500 is not documented"},
		{"no response type", "list BINs", responseHeader("Content-Type", ""), "response: status 200: header Content-Type"},
		{"text response", "list BINs", responseHeader("Content-Type", "text/plain"), "response: status 200: header Content-Type"},
		{"replay mark", "fund card", responseHeader("Idempotent-Replayed", "yes"), "header Idempotent-Replayed"},
		{"empty response", "list BINs", refusal(200, ``), "response: status 200: body: not one strict JSON value"},
		{"number in the summary", "get card", response(`{`, `{"pan": "0000123412341234", `), `property "pan" is unsupported`},
		{"code in the summary", "get card", response(`{`, `{"cvv": "957", `), `property "cvv" is unsupported`},
		{"time in a list item", "list cards", response(`{"id"`, `{"created_at": "2026-01-02T03:04:05Z", "id"`), `/data/0: property "created_at" is unsupported`},
		{"no time in the summary", "get card", response(`, "created_at": "2026-01-02T03:04:05Z"`, ``), `property "created_at" is missing`},
		{"missing total", "list cards", response(`, "total": 101`, ``), `property "total" is missing`},
		{"total on transactions", "list transactions", response(`"page": 1`, `"page": 1, "total": 1`), `property "total" is unsupported`},
		{"balance with three decimals", "list cards", response(`50.00`, `50.001`), "/data/0/balance: an amount is a plain number"},
		{"balance as text", "get card", response(`50.00`, `"50.00"`), "/balance: value must be a number"},
		{"count with decimals", "wallet balance", response(`"cards_active": 1`, `"cards_active": 1.0`), "/cards_active: an integer has neither"},
		{"unknown state", "get card", response(`active`, `lost`), "/status: value is not one of the allowed values"},
		{"frozen card that is active", "freeze card", response(`frozen`, `active`), "/status: value is not one of the allowed values"},
		{"unset threshold left out", "create card", response(`"auto_freeze_at": null,`, ``), `property "auto_freeze_at" is missing`},
		{"null label", "create card", response(`"label": "tf-1"`, `"label": null`), "/label: Value is not nullable"},
		{"id of another kind", "fund card", response(`card_1`, `txn_1`), "/card_id: string doesn't match the regular expression"},
		{"local time", "get card", response(`05Z`, `05+02:00`), "/created_at: string doesn't match the format"},
		{"expiry with a time", "create card", response(`2029-01-31`, `2029-01-31T00:00:00Z`), "/expires_at: string doesn't match the format"},
		{"uppercase network", "get card", response(`visa`, `Visa`), "/network: string doesn't match"},
		{"third wallet", "list BINs", response(`"3ds"`, `"wallet_c_pay": true, "3ds"`), "/data/0: there must be at most 6 properties"},
		{"wallet name", "list BINs", response(`wallet_a_pay`, `wallet_a`), `/data/0: property "wallet_a" is unsupported`},
		{"wallet value", "list BINs", response(`"wallet_a_pay": true`, `"wallet_a_pay": 1`), "/data/0/wallet_a_pay: value must be a boolean"},
		{"third error field", "get card", refusal(404, `{"error": "not_found", "message": "no", "request_id": "1"}`), `property "request_id" is unsupported`},
		{"no error code", "get card", refusal(404, `{"message": "no"}`), `property "error" is missing`},
		{"unknown readiness", "get card", refusal(403, `{"error": "forbidden", "message": "no"}`), "/error: value is not one of the allowed values"},
		{"waiting time", "get card", func(e *exchange) {
			refusal(429, `{"error": "rate_limited", "message": "no"}`)(e)
			responseHeader("Retry-After", "1.5")(e)
		}, "header Retry-After: string doesn't match the format"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, ok := documented()[test.of]
			if !ok {
				t.Fatalf("no exchange %q", test.of)
			}
			test.change(&e)
			reports, read := e.overHTTP(t)
			if !strings.Contains(strings.Join(reports, "\n"), test.want) {
				t.Errorf("reported %q, want %q", reports, test.want)
			}
			if want := "contract: " + e.method + " /api/v1/"; len(reports) > 0 && !strings.HasPrefix(reports[0], want) {
				t.Errorf("reported %q, want method and path", reports[0])
			}
			if read != e.response {
				t.Errorf("the client read %q, want %q", read, e.response)
			}
		})
	}
}

// TestReportsHoldNoValues breaks each field of the responses that carry secrets
// and of the requests that do, and looks for them in the reports.
func TestReportsHoldNoValues(t *testing.T) {
	t.Parallel()
	secrets := []string{"0000123412341234", "957", "271828", "planted"}
	for name, e := range documented() {
		broken := map[string]exchange{"status": e, "cut": e, "types": e, "fields": e}
		for kind, e := range broken {
			switch kind {
			case "status":
				e.status = 500
			case "cut":
				e.response = e.response[:len(e.response)-1]
				e.body = strings.TrimSuffix(e.body, "}")
			case "types":
				e.response = typesChanged(e.response)
				e.body = typesChanged(e.body)
			case "fields":
				e.response = strings.ReplaceAll(e.response, `":`, `_":`)
				e.body = strings.ReplaceAll(e.body, `":`, `_":`)
			}
			e.header = map[string]string{"Authorization": "Basic planted"}
			reports, _ := e.overHTTP(t)
			if len(reports) < 2 {
				t.Errorf("%s, %s: reported %q, want a break on both sides", name, kind, reports)
			}
			for _, secret := range secrets {
				if all := strings.Join(reports, "\n"); strings.Contains(all, secret) {
					t.Errorf("%s, %s: a report holds %q: %s", name, kind, secret, all)
				}
			}
		}
	}
}

func TestTolerateBadRequests(t *testing.T) {
	t.Parallel()
	bad := documented()["create card"]
	bad.body = `{"amount": "a lot"}`

	accepted := bad
	refused := bad
	refused.status, refused.response = 400, `{"error": "invalid_request", "message": "no"}`
	refusedBadly := bad
	refusedBadly.status, refusedBadly.response = 400, `no`
	unknown := refused
	unknown.path, unknown.status = "/nowhere", 404
	unknownAccepted := accepted
	unknownAccepted.path = "/nowhere"

	tests := map[string]struct {
		exchange
		want []string
	}{
		"refused":               {refused, nil},
		"accepted":              {accepted, []string{"request: body"}},
		"refused in a bad form": {refusedBadly, []string{"response: status 400: body"}},
		"unknown path":          {unknown, nil},
		"unknown path accepted": {unknownAccepted, []string{"there is no such call", "status 201 is not documented"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reports, _ := test.overHTTP(t, contract.TolerateBadRequests())
			all := strings.Join(reports, "\n")
			if len(test.want) == 0 && all != "" {
				t.Errorf("reported %q, want nothing", all)
			}
			for _, want := range test.want {
				if !strings.Contains(all, want) {
					t.Errorf("reported %q, want %q", all, want)
				}
			}
		})
	}
}

func TestRequestsOnly(t *testing.T) {
	t.Parallel()
	odd := documented()["list BINs"]
	odd.status, odd.response, odd.responseHeader = 502, `<html>`, map[string]string{"Content-Type": "text/html"}
	bad := odd
	bad.path = "/bins?page=1"
	if reports, _ := odd.overHTTP(t, contract.RequestsOnly()); len(reports) > 0 {
		t.Errorf("reported %q, want nothing", reports)
	}
	if reports, _ := bad.overHTTP(t, contract.RequestsOnly()); len(reports) != 1 {
		t.Errorf("reported %q, want the request's break alone", reports)
	}
}

func TestOtherPathsPassUnchecked(t *testing.T) {
	t.Parallel()
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	server := httptest.NewServer(contract.Handler(t, service))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/_sandbox/clock", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusTeapot {
		t.Errorf("status %d, want %d", got.StatusCode, http.StatusTeapot)
	}
}

// TestLostResponsesAreNotBreaks covers a service that drops the connection, cuts
// its response short, or is not there at all.
func TestLostResponsesAreNotBreaks(t *testing.T) {
	t.Parallel()
	services := map[string]http.HandlerFunc{
		"dropped": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		},
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"data": `))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(contract.Handler(t, service))
			defer server.Close()
			got, err := server.Client().Do(documented()["list BINs"].request(t, server.URL))
			if err != nil {
				return
			}
			defer got.Body.Close()
			if n, err := got.Body.Read(make([]byte, 200)); n != len(`{"data": `) && err == nil {
				t.Errorf("read %d bytes without an error", n)
			}
		})
	}
}

func BenchmarkHandler(b *testing.B) {
	item := `{` + listItem + `}`
	e := documented()["list cards"]
	e.response = `{"data": [` + strings.Repeat(item+",", 99) + item + `], "page": 2, "per_page": 100, "total": 101}`
	service := contract.Handler(b, http.HandlerFunc(e.serve))
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), e.method, "/api/v1"+e.path, http.NoBody)
		r.Header.Set("Authorization", "Bearer sk_live_planted")
		service.ServeHTTP(httptest.NewRecorder(), r)
	}
}

// replaced fails loudly when a test's change would change nothing.
func replaced(s, old, replacement string) string {
	if !strings.Contains(s, old) {
		panic("nothing to replace: " + old)
	}
	return strings.Replace(s, old, replacement, 1)
}

// typesChanged makes every text of a body an array that holds it.
func typesChanged(body string) string {
	body = strings.ReplaceAll(body, `": "`, `": ["`)
	body = strings.ReplaceAll(body, `", "`, `"], "`)
	return strings.ReplaceAll(body, `"}`, `"]}`)
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d": "v"`, i)
	}
	return `{` + strings.Join(keys, ", ") + `}`
}
