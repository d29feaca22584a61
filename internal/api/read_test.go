package api_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	good := respond(200, cardBody)
	tests := map[string]struct {
		steps  []http.HandlerFunc
		tries  int
		status int // of the error; 0 for success, -1 for no response
	}{
		"at once":                    {steps: []http.HandlerFunc{good}, tries: 1},
		"after a dropped response":   {steps: []http.HandlerFunc{drop, good}, tries: 2},
		"after a truncated body":     {steps: []http.HandlerFunc{truncate(cardBody), good}, tries: 2},
		"after a body of no JSON":    {steps: []http.HandlerFunc{respond(200, "<html>"), good}, tries: 2},
		"after a body of no object":  {steps: []http.HandlerFunc{respond(200, "null"), good}, tries: 2},
		"after a body of others":     {steps: []http.HandlerFunc{respond(200, `{"ok":true}`), good}, tries: 2},
		"not after a missing field":  {steps: []http.HandlerFunc{respond(200, `{"id":"card_1","status":"active"}`), good}, tries: 1, status: -1},
		"not after a wrong type":     {steps: []http.HandlerFunc{respond(200, strings.Replace(cardBody, `"active"`, `7`, 1)), good}, tries: 1, status: -1},
		"after another card":         {steps: []http.HandlerFunc{respond(200, strings.Replace(cardBody, "card_1", "card_2", 1)), good}, tries: 2},
		"after 500, 502, 503":        {steps: []http.HandlerFunc{respond(500, ""), respond(502, ""), respond(503, ""), good}, tries: 4},
		"after 408":                  {steps: []http.HandlerFunc{respond(408, ""), good}, tries: 2},
		"as often as configured":     {steps: []http.HandlerFunc{respond(500, "")}, tries: 5, status: 500},
		"a lost response for ever":   {steps: []http.HandlerFunc{drop}, tries: 5, status: -1},
		"not after 401":              {steps: []http.HandlerFunc{respond(401, ""), good}, tries: 1, status: 401},
		"not after 403":              {steps: []http.HandlerFunc{respond(403, ""), good}, tries: 1, status: 403},
		"not after 404":              {steps: []http.HandlerFunc{respond(404, `{"error":"not_found","message":""}`), good}, tries: 1, status: 404},
		"after the 404 of a gateway": {steps: []http.HandlerFunc{respond(404, "<html>nginx</html>"), good}, tries: 2},
		"after the 410 of a gateway": {steps: []http.HandlerFunc{respond(410, ""), good}, tries: 2},
		"not after 410":              {steps: []http.HandlerFunc{respond(410, `{"error":"gone","message":""}`), good}, tries: 1, status: 410},
		"not after 409":              {steps: []http.HandlerFunc{respond(409, ""), good}, tries: 1, status: 409},
		"not after a redirect":       {steps: []http.HandlerFunc{respond(307, "", "Location", "/api/v1/cards/card_2"), good}, tries: 1, status: 307},
		"not after 300":              {steps: []http.HandlerFunc{respond(300, cardBody), good}, tries: 1, status: 300},
		"429 does not count":         {steps: append(repeat(12, respond(429, "")), good), tries: 13},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &script{steps: test.steps}
			card, err := newClient(t, service).GetCard(t.Context(), "card_1")
			if got := len(service.requests()); got != test.tries {
				t.Errorf("%d tries, want %d", got, test.tries)
			}
			var failed *api.Error
			switch {
			case test.status == 0:
				if err != nil || card.Balance != 50*usd.Dollar || card.Label != "ads" {
					t.Errorf("card %+v, error %v", card, err)
				}
			case test.status > 0:
				if !errors.As(err, &failed) || failed.Status != test.status || failed.Attempts != test.tries {
					t.Errorf("error %v, want status %d", err, test.status)
				}
			default:
				var lost *api.RequestError
				if !errors.As(err, &lost) || !lost.Sent || lost.Attempts != test.tries {
					t.Errorf("error %v, want a lost response", err)
				}
			}
		})
	}
}

func repeat(n int, step http.HandlerFunc) []http.HandlerFunc {
	steps := make([]http.HandlerFunc, n)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

func TestRetryAfterIsFollowed(t *testing.T) {
	t.Parallel()
	// The service's clock is an hour ahead.
	service := newFakeClock().Now().Add(time.Hour)
	date, in40 := service.Format(http.TimeFormat), service.Add(40*time.Second).Format(http.TimeFormat)
	for name, test := range map[string]struct {
		first         http.HandlerFunc
		atLeast, most time.Duration
	}{
		"429 in seconds":  {respond(429, "", "Retry-After", "17"), 17 * time.Second, 17 * time.Second},
		"429 as a date":   {respond(429, "", "Retry-After", in40, "Date", date), 40 * time.Second, 41 * time.Second},
		"429 without":     {respond(429, ""), 500 * time.Millisecond, time.Second},
		"429 in nonsense": {respond(429, "", "Retry-After", "soon"), 500 * time.Millisecond, time.Second},
		"503 in seconds":  {respond(503, "", "Retry-After", "17"), 17 * time.Second, 17 * time.Second},
		"503 without":     {respond(503, ""), 250 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newFakeClock()
			client := newClient(t, &script{steps: []http.HandlerFunc{test.first, respond(200, cardBody)}}, on(clock))
			if _, err := client.GetCard(t.Context(), "card_1"); err != nil {
				t.Fatal(err)
			}
			if got := clock.total(); got < test.atLeast || got > test.most {
				t.Errorf("waited %s, want %s to %s", got, test.atLeast, test.most)
			}
		})
	}
}

// Dates have no fractions of a second: the moment that a service means may be
// almost a second after the date that it gives.
func TestRetryAfterADateIsNotTooSoon(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		ahead  time.Duration // the service's clock before ours
		dated  bool          // the response has a Date
	}{
		"429, clocks agree":  {429, 0, true},
		"429, an hour ahead": {429, time.Hour, true},
		"429, an hour late":  {429, -time.Hour, true},
		"429, no Date":       {429, 0, false},
		"503, an hour ahead": {503, time.Hour, true},
		"503, no Date":       {503, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newFakeClock()
			if err := clock.Wait(t.Context(), 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			until := clock.Now().Add(40*time.Second + 800*time.Millisecond)
			requests := 0
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				if !clock.Now().Before(until) {
					_, _ = w.Write([]byte(cardBody))
					return
				}
				w.Header().Set("Retry-After", until.Add(test.ahead).Format(http.TimeFormat))
				w.Header()["Date"] = nil // net/http would add one
				if test.dated {
					w.Header().Set("Date", clock.Now().Add(test.ahead).Format(http.TimeFormat))
				}
				w.WriteHeader(test.status)
			}), on(clock))
			if _, err := client.GetCard(t.Context(), "card_1"); err != nil || requests != 2 {
				t.Errorf("%v after %d requests, want 2", err, requests)
			}
			if late := clock.Now().Sub(until); late > 2*time.Second {
				t.Errorf("came %s late", late)
			}
		})
	}
}

func TestPauseThatOutlastsTheOperationEndsIt(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*api.Client) error{
		"read":   func(c *api.Client) error { _, err := c.GetCard(t.Context(), "card_1"); return err },
		"change": func(c *api.Client) error { _, err := c.FreezeCard(t.Context(), "card_1"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &script{steps: []http.HandlerFunc{respond(429, `{"error":"rate_limited","message":"slow down"}`, "Retry-After", "7200")}}
			clock := newFakeClock()
			client := newClient(t, service, on(clock))
			var failed *api.Error
			if err := call(client); !errors.As(err, &failed) || failed.Status != 429 || failed.Code != "rate_limited" || !failed.RetryAt.Equal(clock.Now().Add(2*time.Hour)) {
				t.Errorf("error %v", err)
			}
			if _, err := client.WalletBalance(t.Context()); err == nil || !strings.Contains(err.Error(), "asked to wait until 2026-03-01T14:00:00Z") {
				t.Errorf("another call during the pause: %v", err)
			}
			if n := len(service.requests()); n != 1 || clock.total() != 0 {
				t.Errorf("%d requests, waited %s", n, clock.total())
			}
		})
	}
}

func TestConnectionThatCannotBeMade(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		call     func(*api.Client) error
		attempts int
	}{
		"read":   {func(c *api.Client) error { _, err := c.WalletBalance(t.Context()); return err }, 3},
		"change": {func(c *api.Client) error { _, err := c.FreezeCard(t.Context(), "card_1"); return err }, 5},
		"read after a change": {func(c *api.Client) error {
			_, _ = c.FreezeCard(t.Context(), "card_1")
			_, err := c.WalletBalance(t.Context())
			return err
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, http.NotFoundHandler(), func(c *api.Config) { c.BaseURL = "http://" + address + "/api/v1" })
			err := test.call(client)
			var lost *api.RequestError
			if !errors.As(err, &lost) || lost.Sent || lost.Attempts != test.attempts || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestCertificateThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	client := newClient(t, nil, func(c *api.Config) { c.BaseURL = server.URL + "/api/v1" })
	_, err := client.FreezeCard(t.Context(), "card_1")
	if lost, ok := errors.AsType[*api.RequestError](err); !ok || lost.Sent || lost.Attempts != 1 || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
}

// A service that hangs costs one try its time, and no more.
func TestTryEndsByItsTime(t *testing.T) {
	t.Parallel()
	hang := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() // the body hangs
		<-r.Context().Done()
	}
	brief := func(c *api.Config) { c.RequestTimeout = 700 * time.Millisecond }
	read := &script{steps: []http.HandlerFunc{hang, respond(200, cardBody)}}
	if _, err := newClient(t, read, brief).GetCard(t.Context(), "card_1"); err != nil || len(read.requests()) != 2 {
		t.Errorf("%v after %d tries", err, len(read.requests()))
	}
	change := &script{steps: []http.HandlerFunc{hang, respond(200, strings.Replace(cardBody, "active", "frozen", 1))}}
	state, err := newClient(t, change, brief).FreezeCard(t.Context(), "card_1")
	if got := change.requests(); err != nil || state.Status != api.StatusFrozen || len(got) != 2 || got[1].Method != http.MethodGet {
		t.Errorf("%+v, %v after %d requests", state, err, len(got))
	}
}
