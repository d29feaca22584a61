package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

const catalogue = `{"data": [], "total": 0}`

// outageOf returns the kind of outage that an error is; false for another one.
func outageOf(err error) (transport.OutageKind, bool) {
	if outage, ok := errors.AsType[*transport.OutageError](err); ok {
		return outage.Kind, true
	}
	return 0, false
}

// What the service says of the key or the account is asked once.
func TestRefusedAccountIsAskedOnce(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		`{"error": "unauthorized", "message": "no such key"}`: 401,
		`not even JSON`: 401,
		`{"error": "onboarding_incomplete", "message": "your e-mail"}`: 403,
		`{"error": "api_not_enabled", "message": "ask support"}`:       403,
	} {
		service, clock := steps(respond(status, body)), newFakeClock()
		client := newClient(t, service, on(clock))
		told := 0
		for range 20 {
			outage, ok := errors.AsType[*transport.OutageError](try(t.Context(), client, "bins"))
			if !ok {
				t.Errorf("%s: no outage", body)
			} else if outage.ClaimFirstReport() {
				told++
			}
		}
		if err := try(t.Context(), client, "freeze"); errors.As(err, new(*transport.Error)) || !errors.As(err, new(*transport.OutageError)) {
			t.Errorf("%s: a change fails with %v", body, err)
		}
		if calls := len(service.requests()); calls != 1 || told != 1 || client.HasWritten() {
			t.Errorf("%s: %d calls, told %d times, written %v", body, calls, told, client.HasWritten())
		}
		// It is not remembered for long.
		service.then(respond(200, catalogue))
		_ = clock.Wait(t.Context(), 31*time.Second)
		must(t, client, "bins")
	}
}

// A service that fails is given all its tries once. Nothing that listens is found out
// sooner. An endpoint that fails by itself holds back no other one, and is tried again
// once the service has answered; what concerns the service holds back all.
func TestOutageIsFoundOutOnce(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1/api/v1"
	for name, test := range map[string]struct {
		answer   http.HandlerFunc
		kind     transport.OutageKind
		attempts int64
		atMost   time.Duration
		others   bool // are held back
	}{
		"a server error":      {respond(500, ""), transport.OutageEndpoint, 5, 10 * time.Second, false},
		"one in its words":    {respond(501, `{"error":"internal","message":"no"}`), transport.OutageEndpoint, 5, 10 * time.Second, false},
		"no response":         {drop, transport.OutageEndpoint, 5, 10 * time.Second, false},
		"a bad gateway":       {respond(502, ""), transport.OutageUnavailable, 5, 10 * time.Second, true},
		"maintenance":         {respond(503, ""), transport.OutageUnavailable, 5, 10 * time.Second, true},
		"a gateway's timeout": {respond(504, ""), transport.OutageUnavailable, 5, 10 * time.Second, true},
		"nothing listens":     {nil, transport.OutageUnreachable, 3, 2 * time.Second, true},
		"a refused key":       {respond(401, ""), transport.OutageKeyRefused, 1, 0, true},
	} {
		service := newService(t)
		service.add(api.CardListItem{BinID: "bin_1"})
		if test.answer != nil {
			service.hooks["/cards"] = test.answer
		}
		var attempts atomic.Int64
		client := service.client(t, func(c *api.Config) {
			if test.answer == nil {
				c.BaseURL = nobody
			}
			c.Observe = func(context.Context, transport.Exchange) { attempts.Add(1) }
		})
		for n := range 20 {
			err := try(t.Context(), client, "list")
			if kind, isOut := outageOf(err); !isOut || kind != test.kind {
				t.Errorf("%s: call %d: %v", name, n, err)
			}
		}
		if attempts.Load() != test.attempts || service.clock.total() > test.atMost {
			t.Errorf("%s: %d attempts, waited %s", name, attempts.Load(), service.clock.total())
		}
		for _, call := range []string{"read", "details", "wallet", "read"} {
			if err := try(t.Context(), client, call); (err != nil) != test.others || err != nil && !errors.As(err, new(*transport.OutageError)) {
				t.Errorf("%s: then %s ends with %v", name, call, err)
			}
		}
		for _, passed := range []time.Duration{0, 29 * time.Second, time.Second} {
			service.later(passed)
			isHeld := passed == 29*time.Second || passed == 0 && test.others // else it begins anew
			if attempts.Store(0); try(t.Context(), client, "list") == nil || (attempts.Load() == 0) != isHeld {
				t.Errorf("%s: after %s more there were %d attempts", name, passed, attempts.Load())
			}
		}
	}
}

// A key that is refused is no service that fails: from then on no change is tried either.
func TestRefusalFollowsAnOutage(t *testing.T) {
	t.Parallel()
	service := steps(respond(503, ""))
	client := newClient(t, service, onlyOneTry)
	if kind, _ := outageOf(try(t.Context(), client, "bins")); kind != transport.OutageUnavailable {
		t.Errorf("the outage is %d", kind)
	}
	service.then(respond(401, `{"error":"unauthorized","message":"revoked"}`))
	for range 2 {
		if err := try(t.Context(), client, "freeze"); err == nil || len(service.requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(service.requests()))
		}
	}
}

// A call that fails while another is answered is no outage.
func TestFailuresBesideAnswersAreNoOutage(t *testing.T) {
	t.Parallel()
	service := newService(t)
	service.add(api.CardListItem{BinID: "bin_1"})
	client := service.client(t, onlyOneTry)
	service.hooks["/bins"] = func(w http.ResponseWriter, _ *http.Request) {
		must(t, client, "read")
		w.WriteHeader(http.StatusInternalServerError)
	}
	for range 3 {
		err := try(t.Context(), client, "bins")
		if _, isOut := outageOf(err); err == nil || isOut {
			t.Errorf("%v (%T)", err, err)
		}
	}
}

// What concerns one call, or one field of a response, is no outage. Another server is
// told by its pages, until the service has spoken.
func TestResponsesThatMayBeAnotherServers(t *testing.T) {
	t.Parallel()
	for body, test := range map[string]struct {
		status  int
		another bool
	}{
		`{"error": "forbidden", "message": "not this one"}`: {403, false},
		`{"error": "not_found", "message": "no"}`:           {404, false},
		`{"error": "invalid_request", "message": "no"}`:     {400, false},
		`<html>Bad Request</html>`:                          {400, false},
		`{"data": [{"id": "bin_1", "3ds": "yes"}]}`:         {200, false},
		catalogue + strings.Repeat(" ", 8<<20):              {200, false},
		"<html>log in</html>":                               {200, true},
		"":                                                  {302, true},
		"<html>no such page</html>":                         {404, true},
	} {
		for _, spoken := range []bool{false, true} {
			service := steps(respond(200, catalogue))
			client := newClient(t, service)
			if spoken {
				must(t, client, "bins")
			}
			service.then(respond(test.status, body))
			for range 3 {
				err := try(t.Context(), client, "bins")
				kind, isOut := outageOf(err)
				if err == nil || isOut != (test.another && !spoken) || isOut && kind != transport.OutageOtherServer {
					t.Errorf("%.60s, spoken %t: %v", body, spoken, err)
				}
			}
			if calls := len(service.requests()); !test.another && calls != 3 {
				t.Errorf("%.60s, spoken %t: %d calls", body, spoken, calls)
			}
		}
	}
}

// Whether a change was made is more than that the service is out, which other
// calls still learn from it.
func TestOutageIsNotTheErrorOfAnUndecidedChange(t *testing.T) {
	t.Parallel()
	service := newService(t, lostForGood)
	service.hooks["/cards/card_1"], service.hooks["/bins"] = respond(503, ""), respond(503, "")
	client := service.client(t)
	err := try(t.Context(), client, "freeze")
	if kindOf(err) != "unknown" || errors.As(err, new(*transport.OutageError)) {
		t.Errorf("the change: %v", err)
	}
	if err := try(t.Context(), client, "bins"); !errors.As(err, new(*transport.OutageError)) {
		t.Errorf("another call: %v", err)
	}
}

func TestOutageKeepsNoDuplicateFromBeingFound(t *testing.T) {
	t.Parallel()
	service := newService(t, afterTheLooks)
	service.idempotency("ignored")
	service.hooks["/bins"] = respond(http.StatusUnauthorized, "")
	client := service.client(t)
	service.clock.after = func(d time.Duration) {
		if d == 30*time.Second { // the wait for a lost response
			_ = try(t.Context(), client, "bins")
		}
	}
	if got := toldOf(client.IssueCard(t.Context(), request("ads"))); got != "issued card_1, and card_2" {
		t.Error(got)
	}
}

// An interrupted first call says nothing of the service.
func TestInterruptedFirstCallIsNoOutage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	hang := func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}
	client := newClient(t, steps(hang, respond(200, catalogue)))
	if err := try(ctx, client, "bins"); !errors.Is(err, context.Canceled) || errors.As(err, new(*transport.OutageError)) {
		t.Errorf("interrupted: %v", err)
	}
	must(t, client, "bins")
}
