package contract_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Documented exchanges pass, and so does every documented error on each endpoint.
func TestDocumentedExchangesPass(t *testing.T) {
	t.Parallel()
	codes := map[int]string{0: "", 400: "invalid_request", 401: "unauthorized", 403: "api_not_enabled", 404: "not_found", 429: "rate_limited"}
	for name, e := range documented() {
		for status, code := range codes {
			if status > 0 {
				e.status, e.response, e.responseHeader = status, `{"error": "`+code+`", "message": "no"}`, map[string]string{"Retry-After": "7"}
			}
			if reports := e.reports(t); len(reports) > 0 {
				t.Errorf("%s, %d: reported %q, want nothing", name, status, reports)
			}
			e = documented()[name]
		}
	}
}

// TestExchanges changes one thing of a good exchange. Most changes are breaks, which the
// report names. The others are what the contract allows on purpose although the sandbox
// does not have it by default: one for each x-wider, and no other.
func TestExchanges(t *testing.T) {
	t.Parallel()
	text := sandboxtest.File(t, "openapi/openapi.yaml")
	keys21 := "{" + regexp.MustCompile(".").ReplaceAllString("abcdefghijklmnopqrst", `"$0": "v", `) + `"u": "v"}`
	wider := map[string]bool{}
	for _, match := range regexp.MustCompile(`x-wider: ([^}\n]+?) *[}\n]`).FindAllStringSubmatch(text, -1) {
		wider[match[1]] = true
	}
	for _, test := range []struct{ name, of, part, old, replacement, want string }{
		{"a period of times without a zone", "list transactions", "path", "", "/transactions?from=2026-03-01T00:00:00&to=2026-03-02T00:00:00", ""},
		{"a filter of challenges by a status of the service's own", "list 3DS challenges", "path", "", "/3ds?status=authenticated", ""},
		{"amounts without decimals and below zero", "fund card", "answers", `"card_balance": 75.5`, `"card_balance": -75`, ""},
		{"times of any precision, with Z or +00:00", "list transactions", "answers", "03:04:05.678Z", "03:04:05+00:00", ""},
		{"networks of any name", "list cards", "answers", `"visa"`, `"local scheme"`, ""},
		{"categories of any name", "create card", "answers", `["advertising"]`, `["ads/online"]`, ""},
		{"metadata of any depth", "create card", "answers", `{"team": "ads"}`, `{"team": {"ads": [1, null]}}`, ""},
		{"transactions in any currency", "list transactions", "answers", `"USD"`, `"KWD"`, ""},
		{"card numbers of 12 to 19 digits", "card details", "answers", "0000123412341234", "0000123412341234567", ""},
		{"codes of four digits", "card details", "answers", `"957"`, `"9571"`, ""},
		{"BINs of any category", "list BINs", "answers", `"ads"`, `"anything"`, ""},
		{"challenges in any status", "list 3DS challenges", "answers", `"pending"`, `"authenticated"`, ""},
		{"mobile wallets of any brand", "list BINs", "answers", "wallet_a_pay", "orchard_pay", ""},

		{"undocumented path", "get card", "path", "", "/card/card_1", "request: there is no such call"},
		{"undocumented method", "get card", "method", "", "PUT", "request: there is no such call"},
		{"empty id", "card details", "path", "", "/cards//details", "request: path parameter card_id: required"},
		{"undocumented parameter", "list BINs", "path", "", "/bins?page=1", `query parameter "page" is not documented`},
		{"repeated parameter", "list cards", "path", "", "/cards?page=1&page=2", "query parameter page: given more than once"},
		{"parameter not in enum", "list cards", "path", "", "/cards?status=lost", "query parameter status: enum"},
		{"parameter not an integer", "list cards", "path", "", "/cards?page=1e0", "query parameter page: cannot be read"},
		{"parameter below its minimum", "list cards", "path", "", "/cards?page=0", "query parameter page: minimum"},
		{"parameter above its maximum", "list cards", "path", "", "/cards?per_page=101", "query parameter per_page: maximum"},
		{"unknown currency", "deposit addresses", "path", "", "/wallet/deposit-address?currency=doge", "query parameter currency: enum"},
		{"no such day", "list transactions", "path", "", "/transactions?from=2026-02-30", "query parameter from: format"},
		{"broken query", "list cards", "path", "", "/cards?page=%zz", "the query cannot be parsed"},
		{"no key", "list BINs", "header", "Authorization", "", "header Authorization"},
		{"wrong key form", "list BINs", "header", "Authorization", "Bearer planted", "header Authorization"},
		{"empty idempotency key", "fund card", "header", "X-Idempotency-Key", "", "header parameter X-Idempotency-Key: minLength"},
		{"no content type", "fund card", "header", "Content-Type", "", "request: header Content-Type"},
		{"other charset", "fund card", "header", "Content-Type", "application/json; charset=latin1", "the charset of JSON is utf-8"},
		{"body on a call without", "freeze card", "asks", "", `{}`, "body: this call has none"},
		{"no body", "fund card", "asks", `{"amount": 25.50}`, "", "body: required"},
		{"not JSON", "fund card", "asks", "}", "", "body: not one strict JSON value"},
		{"two values", "fund card", "asks", "}", `}{}`, "body: not one strict JSON value"},
		{"duplicate key", "fund card", "asks", `{`, `{"amount": 1, `, "body: not one strict JSON value"},
		{"nested", "fund card", "asks", `25.50`, strings.Repeat(`[`, 1e5), "body: not one strict JSON value"},
		{"invalid UTF-8", "create card", "asks", `tf-1`, "\xff", "body: not one strict JSON value"},
		{"amount as text", "fund card", "asks", `25.50`, `"25.50"`, "body: /amount: type"},
		{"amount with three decimals", "fund card", "asks", `25.50`, `25.500`, "/amount: an amount is a plain number"},
		{"amount beyond a float's precision", "fund card", "asks", `25.50`, `25.50000000000000000001`, "/amount: an amount is a plain number"},
		{"amount with an exponent", "fund card", "asks", `25.50`, `5e1`, "/amount: an amount is a plain number"},
		{"load under the minimum", "create card", "asks", `"amount": 50`, `"amount": 49.99`, "/amount: minimum"},
		{"missing property", "create card", "asks", `"bin_id": "bin_1", `, ``, "/bin_id: required"},
		{"unknown property", "create card", "asks", `{"bin_id"`, `{"colour": 1, "bin_id"`, `property colour is unsupported`},
		{"long label", "create card", "asks", `tf-1`, strings.Repeat("ä", 65), "/label: maxLength"},
		{"too much metadata", "create card", "asks", `{"team": "ads"}`, keys21, "/metadata: maxProperties"},
		{"plain http", "create webhook", "asks", `https://`, `http://`, "/url: format"},
		{"no host", "create webhook", "asks", `https://example.com`, `https://`, "/url: format"},
		{"unknown event", "create webhook", "asks", `"*"`, `"card.lost"`, "/events: oneOf"},
		{"* among others", "create webhook", "asks", `"*"`, `"*", "card.created"`, "/events: oneOf"},

		{"wrong success status", "create card", "status", "200", createdCard, "response: status 200 is not documented"},
		{"server error", "list BINs", "status", "500", `{"error": "internal", "message": "no"}`, "response: status 500 is not documented"},
		{"redirect", "list BINs", "status", "308", `{}`, "response: status 308 is not documented"},
		{"no response type", "list BINs", "answer header", "Content-Type", "", "response: status 200: header Content-Type"},
		{"text response", "list BINs", "answer header", "Content-Type", "text/plain", "response: status 200: header Content-Type"},
		{"replay mark", "fund card", "answer header", "Idempotent-Replayed", "yes", "header Idempotent-Replayed: enum"},
		{"empty response", "list BINs", "status", "200", ``, "response: status 200: body: not one strict JSON value"},
		{"number in the summary", "get card", "answers", `{`, `{"pan": "0000123412341234", `, `property pan is unsupported`},
		{"code in the summary", "get card", "answers", `{`, `{"cvv": "957", `, `property cvv is unsupported`},
		{"time in a list item", "list cards", "answers", `{"id"`, `{"created_at": "2026-01-02T03:04:05Z", "id"`, `/data/0: property created_at is unsupported`},
		{"no time in the summary", "get card", "answers", `, "created_at": "2026-01-02T03:04:05Z"`, ``, "/created_at: required"},
		{"missing total", "list cards", "answers", `, "total": 101`, ``, "/total: required"},
		{"total on transactions", "list transactions", "answers", `"page": 1`, `"page": 1, "total": 1`, `property total is unsupported`},
		{"balance with three decimals", "list cards", "answers", `50.00`, `50.001`, "/data/0/balance: an amount is a plain number"},
		{"balance as text", "get card", "answers", `50.00`, `"50.00"`, "/balance: type"},
		{"count with decimals", "wallet balance", "answers", `"cards_active": 1`, `"cards_active": 1.0`, "/cards_active: an integer has neither"},
		{"unknown state", "get card", "answers", `active`, `lost`, "/status: enum"},
		{"frozen card that is active", "freeze card", "answers", `frozen`, `active`, "/status: enum"},
		{"unset threshold left out", "create card", "answers", `"auto_freeze_at": null,`, ``, "/auto_freeze_at: required"},
		{"null label", "create card", "answers", `"label": "tf-1"`, `"label": null`, "/label: nullable"},
		{"id of another kind", "fund card", "answers", `card_1`, `txn_1`, "/card_id: pattern"},
		{"local time", "get card", "answers", `05Z`, `05+02:00`, "/created_at: format"},
		{"expiry with a time", "create card", "answers", `2029-01-31`, `2029-01-31T00:00:00Z`, "/expires_at: format"},
		{"uppercase network", "get card", "answers", `visa`, `Visa`, "/network: pattern"},
		{"third wallet", "list BINs", "answers", `"3ds"`, `"wallet_c_pay": true, "3ds"`, "/data/0: maxProperties"},
		{"wallet name", "list BINs", "answers", `wallet_a_pay`, `wallet_a`, `/data/0: property wallet_a is unsupported`},
		{"wallet value", "list BINs", "answers", `"wallet_a_pay": true`, `"wallet_a_pay": 1`, "/data/0/wallet_a_pay: type"},
		{"third error field", "get card", "status", "404", `{"error": "not_found", "message": "no", "request_id": "1"}`, `property request_id is unsupported`},
		{"no error code", "get card", "status", "404", `{"message": "no"}`, "/error: required"},
		{"unknown readiness", "get card", "status", "403", `{"error": "forbidden", "message": "no"}`, "/error: enum"},
		{"waiting time", "rate limited", "answer header", "Retry-After", "1.5", "header Retry-After: format"},
		{"negative waiting time", "rate limited", "answer header", "Retry-After", "-1", "header Retry-After: format"},
	} {
		e, found := documented()[test.of]
		if !found {
			t.Fatalf("no exchange %q", test.of)
		}
		e.change(test.part, test.old, test.replacement)
		reports := e.reports(t)
		switch all := strings.Join(reports, "\n"); {
		case test.want == "" && (all != "" || !wider[test.name]):
			t.Errorf("%s: reported %q, want nothing, and openapi.yaml to mark it", test.name, all)
		case !strings.Contains(all, test.want):
			t.Errorf("%s: reported %q, want %q", test.name, all, test.want)
		case test.want != "" && !strings.HasPrefix(all, "contract: "+e.method+" /api/v1/"):
			t.Errorf("%s: reported %q, want method and path", test.name, all)
		}
		delete(wider, test.name)
	}
	if len(wider) > 0 {
		t.Errorf("openapi.yaml marks %v, which no exchange has", wider)
	}
}

// TestReportsHoldNoValues breaks each field of the responses that carry secrets
// and of the requests that do, and looks for them in the reports.
func TestReportsHoldNoValues(t *testing.T) {
	t.Parallel()
	secrets := []string{"0000123412341234", "957", "271828", "planted"}
	for name := range documented() {
		for kind, breaks := range map[string]*strings.Replacer{
			"status": strings.NewReplacer(), "cut": strings.NewReplacer("}", ""), "fields": strings.NewReplacer(`":`, `_":`),
			"types": strings.NewReplacer(`": "`, `": ["`, `", "`, `"], "`, `"}`, `"]}`), // every text becomes an array that holds it
			"forms": strings.NewReplacer(`": "`, `": "?`), "names": strings.NewReplacer(`{"`, `{"0000123412341234": 0, "`),
		} {
			e := documented()[name]
			e.response, e.body = breaks.Replace(e.response), breaks.Replace(e.body)
			if kind == "status" {
				e.status = 500
			}
			e.header = map[string]string{"Authorization": "Basic planted"}
			reports := e.reports(t)
			if len(reports) < 2 && kind != "forms" { // not every text has one
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

func TestOptions(t *testing.T) {
	t.Parallel()
	tolerant, asked := []contract.Option{contract.TolerateBadRequests()}, []contract.Option{contract.RequestsOnly()}
	const refusal = `{"error": "invalid_request", "message": "no"}`
	for name, test := range map[string]struct {
		options  []contract.Option
		path     string
		status   int
		response string
		want     []string // of the request whose amount is a text
	}{
		"refused":               {tolerant, "/cards", 400, refusal, nil},
		"accepted":              {tolerant, "/cards", 201, createdCard, []string{"request: body"}},
		"refused in a bad form": {tolerant, "/cards", 400, "no", []string{"response: status 400: body"}},
		"unknown path":          {tolerant, "/nowhere", 404, refusal, nil},
		"unknown path accepted": {tolerant, "/nowhere", 201, createdCard, []string{"there is no such call", "status 201 is not documented"}},
		"an odd response":       {asked, "/cards", 502, "<html>", []string{"request: body"}},
	} {
		e := documented()["create card"]
		e.path, e.status, e.response, e.body = test.path, test.status, test.response, `{"amount": "a lot"}`
		reports := e.reports(t, test.options...)
		all := strings.Join(reports, "\n")
		if len(reports) < len(test.want) || len(test.want) == 0 && all != "" || strings.Contains(all, "response: ") && test.status == 502 {
			t.Errorf("%s: reported %q, want %q", name, reports, test.want)
		}
		sandboxtest.Says(t, name+": the reports", all, test.want...)
	}
}

// exchange is a request and the response that a scripted service gives.
type exchange struct {
	method, path string
	header       map[string]string
	body         string

	status         int
	responseHeader map[string]string
	response       string
}

const (
	listItem = `"id": "card_1", "bin_id": "bin_1", "network": "visa", "last4": "1234",
		"status": "active", "balance": 50.00, "spending_limit": 5000, "label": "tf-1"`
	createdCard = `{` + listItem + `, "allowed_categories": ["advertising"], "auto_freeze_at": null,
		"metadata": {"team": "ads"}, "created_at": "2026-01-02T03:04:05Z", "expires_at": "2029-01-31"}`
	balances    = `{"card_id": "card_1", "card_balance": 75.5, "wallet_balance": 0.05}`
	transaction = `{"id": "txn_1", "card_id": "card_1", "type": "settlement", "amount": 12.34, "currency": "USD",
		"fee": 0.00, "merchant": {"name": "Ads", "mcc": "7311"}, "created_at": "2026-01-02T03:04:05.678Z"}`
	challenge = `{"id": "3ds_1", "card_id": "card_1", "merchant": "Ads", "amount": 9.99, "otp": "271828",
		"status": "pending", "expires_at": "2026-01-02T03:09:05Z"}`
	bin     = `{"id": "bin_1", "network": "visa", "category": "ads", "3ds": true, "wallet_a_pay": true, "wallet_b_pay": false}`
	webhook = `{"id": "wh_1", "url": "https://example.com/in", "events": ["card.created", "3ds.challenge"],
		"secret": "whsec_planted", "created_at": "2026-01-02T03:04:05Z"}`
	details = `{"id": "card_1", "pan": "0000123412341234", "cvv": "957", "exp_month": 1, "exp_year": 2029}`
)

// documented holds a good exchange of each of the 15 endpoints.
func documented() map[string]exchange {
	of := func(call, asks, response string) exchange {
		method, path, _ := strings.Cut(call, " ")
		return exchange{method: method, path: path, body: asks, status: http.StatusOK, response: response}
	}
	all := map[string]exchange{
		"create card": of("POST /cards", `{"bin_id": "bin_1", "amount": 50, "label": "tf-1", "spending_limit": 100.5, "allowed_categories": ["advertising"],
			"auto_freeze_at": 5, "metadata": {"team": "ads"}}`, createdCard),
		"list cards":          of("GET /cards?status=frozen&bin_id=bin_1&page=2&per_page=100", "", `{"data": [{`+listItem+`}], "page": 2, "per_page": 100, "total": 101}`),
		"get card":            of("GET /cards/card_1", "", `{`+listItem+`, "created_at": "2026-01-02T03:04:05Z"}`),
		"terminate card":      of("DELETE /cards/card_1", "", `{"id": "card_1", "status": "terminated", "returned_to_wallet": 12.34}`),
		"card details":        of("GET /cards/card_1/details", "", details),
		"freeze card":         of("POST /cards/card_1/freeze", "", `{"id": "card_1", "status": "frozen", "balance": 12.34}`),
		"unfreeze card":       of("POST /cards/card_1/unfreeze", "", `{"id": "card_1", "status": "active", "balance": 12.34}`),
		"fund card":           of("POST /cards/card_1/fund", `{"amount": 25.50}`, balances),
		"withdraw":            of("POST /cards/card_1/withdraw", `{"amount": 0.01}`, balances),
		"withdraw it all":     of("POST /cards/card_1/withdraw", "", balances),
		"list transactions":   of("GET /transactions?card_id=card_1&type=decline&from=2026-01-01&to=2026-01-31T23:59:59Z&page=1&per_page=25", "", `{"data": [`+transaction+`], "page": 1}`),
		"wallet balance":      of("GET /wallet/balance", "", `{"balance": 9949.00, "currency": "USDT", "pending_deposits": 0, "cards_active": 1, "cards_total_balance": 50}`),
		"deposit addresses":   of("GET /wallet/deposit-address?currency=btc", "", `{"data": [{"currency": "btc", "network": "Bitcoin", "address": "bc1q"}]}`),
		"list BINs":           of("GET /bins", "", `{"data": [`+bin+`], "total": 9}`),
		"list 3DS challenges": of("GET /3ds?status=pending", "", `{"data": [`+challenge+`]}`),
		"rate limited":        of("GET /cards/card_1", "", `{"error": "rate_limited", "message": "no"}`),
		"create webhook":      of("POST /webhooks", `{"url": "https://example.com/in", "events": ["*"], "secret": "planted"}`, webhook),
	}
	for name, other := range map[string]exchange{
		"create card":    {status: 201, header: map[string]string{"X-Idempotency-Key": "6f1c"}, responseHeader: map[string]string{"Idempotent-Replayed": "true"}},
		"rate limited":   {status: 429, responseHeader: map[string]string{"Retry-After": "7"}},
		"create webhook": {status: 201},
	} {
		e := all[name]
		e.status, e.header, e.responseHeader = other.status, other.header, other.responseHeader
		all[name] = e
	}
	return all
}

// change changes one part, and panics where it would change nothing.
func (e *exchange) change(part, old, replacement string) {
	replace := func(text *string) {
		if !strings.Contains(*text, old) {
			panic("nothing to replace: " + old)
		}
		*text = strings.Replace(*text, old, replacement, 1)
	}
	switch part {
	case "method":
		e.method = replacement
	case "path":
		e.path = replacement
	case "header":
		e.header = map[string]string{old: replacement}
	case "asks":
		replace(&e.body)
	case "status":
		e.status, _ = strconv.Atoi(old) // none at all could not be written
		e.response = replacement
	case "answer header":
		e.responseHeader = map[string]string{old: replacement}
	case "answers":
		replace(&e.response)
	default:
		panic("no part " + part)
	}
}

// reports runs the exchange, which the client must see as it is, and returns what the
// checker reported.
func (e exchange) reports(t *testing.T, options ...contract.Option) []string {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), e.method, "/api/v1"+e.path, strings.NewReader(e.body))
	request.Header.Set("Authorization", "Bearer sk_live_planted")
	if e.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range e.header {
		request.Header.Set(name, value)
	}
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for name, value := range e.responseHeader {
			w.Header().Set(name, value)
		}
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, e.response)
	})
	report, got := &reporter{TB: t}, httptest.NewRecorder()
	contract.Handler(report, service, options...).ServeHTTP(got, request)
	if read := got.Body.String(); read != e.response {
		t.Errorf("the client read %q, want %q", read, e.response)
	}
	return report.reports
}

// reporter is a test that keeps its failures.
type reporter struct {
	testing.TB

	reports []string
}

func (r *reporter) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}
