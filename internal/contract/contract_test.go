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
	wider := map[string]bool{}
	for _, match := range regexp.MustCompile(`x-wider: ([^}\n]+?) *[}\n]`).FindAllStringSubmatch(text, -1) {
		wider[match[1]] = true
	}
	for _, cells := range sandboxtest.Table(t, "testdata/exchanges.txt", 6) {
		name, of, want := cells[0], cells[1], cells[5]
		e, found := documented()[of]
		if !found {
			t.Fatalf("no exchange %q", of)
		}
		e.change(cells[2], cells[3], cells[4])
		reports := e.reports(t)
		switch all := strings.Join(reports, "\n"); {
		case want == "" && (all != "" || !wider[name]):
			t.Errorf("%s: reported %q, want nothing, and openapi.yaml to mark it", name, all)
		case !strings.Contains(all, want):
			t.Errorf("%s: reported %q, want %q", name, all, want)
		case want != "" && !strings.HasPrefix(all, "contract: "+e.method+" /api/v1/"):
			t.Errorf("%s: reported %q, want method and path", name, all)
		}
		delete(wider, name)
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
	sandboxtest.Equal(t, "what the client read", got.Body.String(), e.response)
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
