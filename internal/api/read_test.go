package api_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	good := respond(200, cardBody)
	type script = []http.HandlerFunc
	for name, test := range map[string]struct {
		steps  script
		tries  int
		status int // of the error; 0 for success, -1 for no response
	}{
		"at once":                    {steps: script{good}, tries: 1},
		"after a dropped response":   {steps: script{drop, good}, tries: 2},
		"after a truncated body":     {steps: script{truncate, good}, tries: 2},
		"not after a missing field":  {steps: script{respond(200, `{"id":"card_1","status":"active"}`)}, tries: 1, status: -1},
		"after another card":         {steps: script{respond(200, strings.Replace(cardBody, "card_1", "card_2", 1)), good}, tries: 2},
		"after 500, 502, 503":        {steps: script{respond(500, ""), respond(502, ""), respond(503, ""), good}, tries: 4},
		"after 408":                  {steps: script{respond(408, ""), good}, tries: 2},
		"as often as configured":     {steps: script{respond(500, "")}, tries: 5, status: 500},
		"a lost response for ever":   {steps: script{drop}, tries: 5, status: -1},
		"not after 401":              {steps: script{respond(401, "")}, tries: 1, status: 401},
		"not after 403":              {steps: script{respond(403, "")}, tries: 1, status: 403},
		"not after 404":              {steps: script{respond(404, `{"error":"not_found","message":""}`)}, tries: 1, status: 404},
		"after the 404 of a gateway": {steps: script{respond(404, "<html>nginx</html>"), good}, tries: 2},
		"after the 410 of a gateway": {steps: script{respond(410, ""), good}, tries: 2},
		"not after 410":              {steps: script{respond(410, `{"error":"gone","message":""}`)}, tries: 1, status: 410},
		"not after 409":              {steps: script{respond(409, "")}, tries: 1, status: 409},
		"not after a redirect":       {steps: script{respond(307, "", "Location", "/api/v1/cards/card_2")}, tries: 1, status: 307},
		"not after 300":              {steps: script{respond(300, cardBody)}, tries: 1, status: 300},
		"429 does not count":         {steps: append(slices.Repeat(script{respond(429, "")}, 12), good), tries: 13},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := steps(test.steps...)
			card, err := newClient(t, service).GetCard(t.Context(), "card_1")
			if got := len(service.requests()); got != test.tries {
				t.Errorf("%d tries, want %d", got, test.tries)
			}
			failed, isResponse := errors.AsType[*api.Error](err)
			lost, isLost := errors.AsType[*api.RequestError](err)
			switch {
			case test.status == 0:
				if err != nil || card.Balance != 50*usd.Dollar || card.Label != "ads" {
					t.Errorf("card %+v, error %v", card, err)
				}
			case test.status > 0 && (!isResponse || failed.Status != test.status || failed.Attempts != test.tries):
				t.Errorf("error %v, want status %d", err, test.status)
			case test.status < 0 && (!isLost || !lost.Sent || lost.Attempts != test.tries):
				t.Errorf("error %v, want a lost response", err)
			}
		})
	}
}

// How the header is read is tested in ratelimit.
func TestRetryAfterIsFollowed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first         http.HandlerFunc
		atLeast, most time.Duration
	}{
		"429 as it says": {respond(429, "", "Retry-After", "17"), 17 * time.Second, 17 * time.Second},
		"429 without":    {respond(429, ""), 500 * time.Millisecond, time.Second},
		"503 as it says": {respond(503, "", "Retry-After", "17"), 17 * time.Second, 17 * time.Second},
		"503 without":    {respond(503, ""), 250 * time.Millisecond, 500 * time.Millisecond},
	} {
		clock := newFakeClock()
		err := try(t.Context(), newClient(t, steps(test.first, respond(200, cardBody)), on(clock)), "read")
		if got := clock.total(); err != nil || got < test.atLeast || got > test.most {
			t.Errorf("%s: %v, waited %s, want %s to %s", name, err, got, test.atLeast, test.most)
		}
	}
}

func TestPauseThatOutlastsTheOperationEndsIt(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"read", "freeze"} {
		service := steps(respond(429, `{"error":"rate_limited","message":"slow down"}`, "Retry-After", "7200"))
		clock := newFakeClock()
		client := newClient(t, service, on(clock))
		err := try(t.Context(), client, call)
		if failed, ok := errors.AsType[*api.Error](err); !ok || failed.Status != 429 || failed.Code != "rate_limited" || !failed.RetryAt.Equal(clock.Now().Add(2*time.Hour)) {
			t.Errorf("%s: error %v", call, err)
		}
		if err := try(t.Context(), client, "wallet"); err == nil || !strings.Contains(err.Error(), "asked to wait until 2026-03-01T14:00:00Z") {
			t.Errorf("another call during the pause: %v", err)
		}
		if n := len(service.requests()); n != 1 || clock.total() != 0 {
			t.Errorf("%s: %d requests, waited %s", call, n, clock.total())
		}
	}
}

// A connection that is refused, or ends before TLS begins, is tried again as often as
// any, but for a read of a run that has changed nothing; one to a stranger is not.
func TestConnectionThatCannotBeMade(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1" // no other test is given this port
	stranger := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(stranger.Close)
	restarting := sandboxtest.Listen(t, func(connection net.Conn) { _ = connection.Close() })
	for name, test := range map[string]struct {
		address  string
		calls    []string
		attempts int
		says     string
	}{
		"read":                {nobody, []string{"wallet"}, 3, "connection refused"},
		"change":              {nobody, []string{"freeze"}, 5, "connection refused"},
		"read after a change": {nobody, []string{"freeze", "wallet"}, 5, "connection refused"},
		"broken handshake":    {"https://" + restarting.String(), []string{"freeze"}, 5, ""},
		"untrusted":           {stranger.URL, []string{"freeze"}, 1, "certificate"},
	} {
		client := newClient(t, nil, func(c *api.Config) { c.BaseURL = test.address + "/api/v1" })
		var err error
		for _, call := range test.calls {
			err = try(t.Context(), client, call)
		}
		if lost, ok := errors.AsType[*api.RequestError](err); !ok || lost.Sent || lost.Attempts != test.attempts || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
