package transport

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http/httpproxy"
)

// Only an error code of the service shows that a change was not made.
func TestFateOfResponses(t *testing.T) {
	t.Parallel()
	type responses struct {
		statuses []int
		codes    []string
	}
	for name, test := range map[string]struct {
		fate      Fate
		final     bool
		responses []responses
	}{
		"done": {Done, true, []responses{
			{[]int{200, 201, 202, 204, 299}, []string{"", "insufficient_funds"}},
		}},
		"unknown": {Unknown, false, []responses{
			{
				[]int{0, 100, 199, 300, 302, 307, 399, 408, 500, 502, 503, 504, 599},
				[]string{"", "internal", "insufficient_funds", "idempotency_key_reused"},
			},
			{
				[]int{400, 401, 402, 403, 404, 405, 409, 410, 413, 422, 425, 429, 451, 499},
				[]string{""},
			},
			{
				[]int{409},
				[]string{"Conflict", "conflict", "request_in_progress", "card_state_conflict"},
			},
			{
				[]int{400, 409, 422, 425},
				[]string{"idempotency_key_in_use", "request_in_flight", "still_processing", "CONCURRENT_request"},
			},
		}},
		"rate limited": {NotDone, false, []responses{
			{[]int{429}, []string{"rate_limited", "too_many_requests", "idempotency_key_reused"}},
		}},
		"refused": {NotDone, true, []responses{
			{
				[]int{400, 402, 409, 422},
				[]string{
					"insufficient_funds", "insufficient_card_balance",
					"card_frozen", "card_already_frozen", "card_terminated", "card_already_terminated",
					"Bin_Not_Found", "invalid_request", "invalid_idempotency_key", "duplicate_label",
				},
			},
			{
				[]int{400, 401, 402, 403, 404, 410, 422},
				[]string{
					"planned", "unauthorized", "not_found", "request_not_processed",
					"merchant_blocked", "limit_exceeded", "onboarding_incomplete",
				},
			},
		}},
		"key refused": {Unknown, true, []responses{
			{
				[]int{400, 403, 409, 422},
				[]string{
					"idempotency_key_reused", "idempotency_error", "duplicate_request",
					"already_processed", "already_funded", "key_reused",
				},
			},
		}},
	} {
		for _, response := range test.responses {
			for _, status := range response.statuses {
				for _, code := range response.codes {
					fate, final := fateOf(status, code)
					if fate != test.fate || final != test.final {
						t.Errorf("%s: %d %q: fate %d, final %t, want %d, %t", name, status, code, fate, final, test.fate, test.final)
					}
					e := &Error{Status: status, Code: code}
					if status >= 500 && e.LacksFunds() {
						t.Errorf("%d %q: LacksFunds reports true", status, code)
					}
				}
			}
		}
	}
}

// The zero value of a failure must not say that a change was not made.
func TestZeroValuesAreSafe(t *testing.T) {
	t.Parallel()
	var f failure
	if f.fate != Unknown || f.final {
		t.Errorf("%+v", f)
	}
}

// Over HTTP/2, net/http may repeat a request by itself.
func TestRequestsAreMadeOverHTTP1(t *testing.T) {
	t.Parallel()
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Proto", r.Proto)
	}))
	service.EnableHTTP2 = true
	service.StartTLS()
	defer service.Close()
	transport, err := newTransport(service.URL, &httpproxy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	transport.TLSClientConfig.RootCAs.AddCert(service.Certificate())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, service.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	err = response.Body.Close()
	if err != nil {
		t.Error(err)
	}
	protocol := response.Header.Get("Proto")
	if protocol != "HTTP/1.1" {
		t.Errorf("the request was made over %q, want HTTP/1.1", protocol)
	}
}

// An invalid proxy address is an error, unless requests to the base URL use no proxy.
func TestWrongProxyIsRefused(t *testing.T) {
	t.Parallel()
	const base = "https://cards.example.com/api/v1"
	const loopback = "https://127.0.0.1:8420/api/v1"
	for name, test := range map[string]struct {
		base        string
		environment httpproxy.Config
		want        string // the invalid variable, or ""
	}{
		"none":                      {base, httpproxy.Config{}, ""},
		"valid":                     {base, httpproxy.Config{HTTPSProxy: "http://me:hunter2@proxy.example.com:3128"}, ""},
		"without a scheme":          {base, httpproxy.Config{HTTPSProxy: "proxy.example.com:3128"}, ""},
		"SOCKS":                     {base, httpproxy.Config{HTTPSProxy: "socks5://proxy.example.com"}, ""},
		"a port without digits":     {base, httpproxy.Config{HTTPSProxy: "http://me:hunter2@proxy.example.com:port"}, "HTTPS_PROXY"},
		"a password with a percent": {base, httpproxy.Config{HTTPSProxy: "http://me:100%@proxy.example.com:3128"}, "HTTPS_PROXY"},
		"a misspelt scheme":         {base, httpproxy.Config{HTTPSProxy: "htp://me:hunter2@proxy.example.com:3128"}, "HTTPS_PROXY"},
		"no host":                   {base, httpproxy.Config{HTTPSProxy: "http://:3128"}, "HTTPS_PROXY"},
		"a space":                   {base, httpproxy.Config{HTTPSProxy: " "}, "HTTPS_PROXY"},
		"for http only":             {base, httpproxy.Config{HTTPProxy: "http://proxy.example.com:port"}, ""},
		"for http":                  {"http://sandbox:8420/api/v1", httpproxy.Config{HTTPProxy: "http://proxy.example.com:port"}, "HTTP_PROXY"},
		"excluded by NO_PROXY":      {base, httpproxy.Config{HTTPSProxy: "http://proxy.example.com:port", NoProxy: "example.com"}, ""},
		"to a loopback address":     {loopback, httpproxy.Config{HTTPSProxy: "http://proxy.example.com:port"}, ""},
	} {
		_, err := newTransport(test.base, &test.environment)
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		invalid, ok := errors.AsType[*ConfigError](err)
		if !ok || invalid.Field != test.want || !invalid.Secret {
			t.Errorf("%s: %v, want a secret *ConfigError about %s", name, err, test.want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error contains the password: %v", name, err)
		}
	}
}

// An invalid id is marked, whichever other fields its object has.
func TestInvalidIDIsMarked(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"id": "card 1"}`, `{"id": "card 1", "auto_freeze_at": null}`, `{"id": "card 1", "ID": "card_2"}`} {
		var card struct {
			ID string `json:"id"`
		}
		err := DecodeObject([]byte(body), &card, "id")
		if err != nil || !strings.Contains(card.ID, "(invalid id, hash ") {
			t.Errorf("%s is read as %q: %v", body, card.ID, err)
		}
	}
}

// A null field hides the same field in another case, whatever the random order of the map's keys is.
func TestVariantOfNullIsIgnored(t *testing.T) {
	t.Parallel()
	for range 100 {
		var card struct {
			Balance *int `json:"balance"`
		}
		err := DecodeObject([]byte(`{"Balance": 5, "balance": null}`), &card)
		if err != nil || card.Balance != nil {
			t.Fatalf("balance is %v: %v", card.Balance, err)
		}
	}
}
