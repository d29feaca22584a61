package contract_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/contract"
)

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
	return map[string]exchange{
		"create card": {
			method: "POST", path: "/cards", status: 201, response: createdCard,
			body: `{"bin_id": "bin_1", "amount": 50, "label": "tf-1", "spending_limit": 100.5, "allowed_categories": ["advertising"],
				"auto_freeze_at": 5, "metadata": {"team": "ads"}}`,
			header:         map[string]string{"X-Idempotency-Key": "6f1c"},
			responseHeader: map[string]string{"Idempotent-Replayed": "true"},
		},
		"list cards": {
			method: "GET", path: "/cards?status=frozen&bin_id=bin_1&page=2&per_page=100", status: 200,
			response: `{"data": [{` + listItem + `}], "page": 2, "per_page": 100, "total": 101}`,
		},
		"get card": {
			method: "GET", path: "/cards/card_1", status: 200,
			response: `{` + listItem + `, "created_at": "2026-01-02T03:04:05Z"}`,
		},
		"terminate card": {
			method: "DELETE", path: "/cards/card_1", status: 200,
			response: `{"id": "card_1", "status": "terminated", "returned_to_wallet": 12.34}`,
		},
		"card details": {method: "GET", path: "/cards/card_1/details", status: 200, response: details},
		"freeze card": {
			method: "POST", path: "/cards/card_1/freeze", status: 200,
			response: `{"id": "card_1", "status": "frozen", "balance": 12.34}`,
		},
		"unfreeze card": {
			method: "POST", path: "/cards/card_1/unfreeze", status: 200,
			response: `{"id": "card_1", "status": "active", "balance": 12.34}`,
		},
		"fund card":         {method: "POST", path: "/cards/card_1/fund", body: `{"amount": 25.50}`, status: 200, response: balances},
		"withdraw":          {method: "POST", path: "/cards/card_1/withdraw", body: `{"amount": 0.01}`, status: 200, response: balances},
		"withdraw it all":   {method: "POST", path: "/cards/card_1/withdraw", status: 200, response: balances},
		"list transactions": {method: "GET", path: "/transactions?card_id=card_1&type=decline&from=2026-01-01&to=2026-01-31T23:59:59Z&page=1&per_page=25", status: 200, response: `{"data": [` + transaction + `], "page": 1}`},
		"wallet balance": {
			method: "GET", path: "/wallet/balance", status: 200,
			response: `{"balance": 9949.00, "currency": "USDT", "pending_deposits": 0, "cards_active": 1, "cards_total_balance": 50}`,
		},
		"deposit addresses": {
			method: "GET", path: "/wallet/deposit-address?currency=btc", status: 200,
			response: `{"data": [{"currency": "btc", "network": "Bitcoin", "address": "bc1q"}]}`,
		},
		"list BINs": {method: "GET", path: "/bins", status: 200, response: `{"data": [` + bin + `], "total": 9}`},
		"list 3DS challenges": {
			method: "GET", path: "/3ds?status=pending", status: 200, response: `{"data": [` + challenge + `]}`,
		},
		"rate limited": {
			method: "GET", path: "/cards/card_1", status: 429, response: `{"error": "rate_limited", "message": "no"}`,
			responseHeader: map[string]string{"Retry-After": "7"},
		},
		"create webhook": {
			method: "POST", path: "/webhooks", status: 201, response: webhook,
			body: `{"url": "https://example.com/in", "events": ["*"], "secret": "planted"}`,
		},
	}
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
