package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const catalogue = `{"data": [], "total": 0}`

// switched answers with a status and a body that can be changed, and counts.
type switched struct {
	calls  atomic.Int64
	mu     sync.Mutex
	status int
	body   string
	broken string // the only path that answers so; "" for all
}

func (s *switched) set(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body = status, body
}

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 || s.broken != "" && !strings.HasSuffix(r.URL.Path, s.broken) {
		_, _ = fmt.Fprint(w, catalogue)
		return
	}
	w.WriteHeader(s.status)
	_, _ = fmt.Fprint(w, s.body)
}

func readBins(t *testing.T, c *api.Client) error {
	t.Helper()
	_, err := c.Bins(t.Context())
	return err
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
		service, clock := &switched{status: status, body: body}, newFakeClock()
		client := newClient(t, service, on(clock))
		var told atomic.Int64
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				outage, ok := errors.AsType[*api.OutageError](readBins(t, client))
				if !ok {
					t.Errorf("%s: no outage", body)
				} else if outage.IsFirstReport() {
					told.Add(1)
				}
			})
		}
		wg.Wait()
		if _, err := client.FreezeCard(t.Context(), "card_1"); errors.As(err, new(*api.Error)) || !errors.As(err, new(*api.OutageError)) {
			t.Errorf("%s: a change fails with %v", body, err)
		}
		if service.calls.Load() != 1 || told.Load() != 1 || client.HasWritten() {
			t.Errorf("%s: %d calls, told %d times, written %v", body, service.calls.Load(), told.Load(), client.HasWritten())
		}
		// It is not remembered for long.
		service.set(0, "")
		_ = clock.Wait(t.Context(), 31*time.Second)
		if err := readBins(t, client); err != nil {
			t.Errorf("%s: after a while: %v", body, err)
		}
	}
}

func TestOtherRefusalsConcernNoOtherCall(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		`{"error": "forbidden", "message": "not this one"}`: 403,
		`{"error": "not_found", "message": "no"}`:           404,
		`{"error": "invalid_request", "message": "no"}`:     400,
		`<html>Bad Request</html>`:                          400,
	} {
		service := &switched{status: status, body: body}
		client := newClient(t, service)
		for range 3 {
			if err := readBins(t, client); err == nil || errors.As(err, new(*api.OutageError)) {
				t.Errorf("%s: %v", body, err)
			}
		}
		if service.calls.Load() != 3 {
			t.Errorf("%s: %d calls", body, service.calls.Load())
		}
	}
}

// A service that fails is given all its tries once; another call confirms it.
func TestFailingServiceIsTriedByTwoCalls(t *testing.T) {
	t.Parallel()
	service, clock := &switched{status: 500}, newFakeClock()
	client := newClient(t, service, on(clock))
	for n := range 20 {
		if err := readBins(t, client); !errors.As(err, new(*api.OutageError)) {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if service.calls.Load() != 6 || clock.total() > 10*time.Second {
		t.Errorf("%d calls, waited %s", service.calls.Load(), clock.total())
	}
}

func TestOneFailingEndpointStopsNoOther(t *testing.T) {
	t.Parallel()
	service := &switched{status: 500, broken: "/cards"}
	client := newClient(t, service)
	for range 3 {
		if _, err := client.ListCards(t.Context(), api.CardFilter{}, api.Page{}); err == nil {
			t.Error("the list works")
		}
		if err := readBins(t, client); err != nil {
			t.Errorf("another endpoint: %v", err)
		}
	}
}

// A call that fails while another is answered is no outage.
func TestFailuresBesideAnswersAreNoOutage(t *testing.T) {
	t.Parallel()
	failing, answered := make(chan struct{}), make(chan struct{})
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/card_1") {
			respond(200, cardBody)(w, r)
			return
		}
		failing <- struct{}{}
		<-answered
		w.WriteHeader(http.StatusInternalServerError)
	}), func(c *api.Config) { c.MaxRetries = 0 })
	get := func(id string) error { _, err := client.GetCard(t.Context(), id); return err }
	if err := get("card_1"); err != nil { // else one call goes ahead of the others
		t.Fatal(err)
	}
	for range 3 {
		ended := make(chan error, 1)
		go func() { ended <- get("card_2") }()
		select {
		case <-failing:
		case err := <-ended:
			t.Fatalf("nothing was sent: %v", err)
		}
		if err := get("card_1"); err != nil {
			t.Error(err)
		}
		answered <- struct{}{}
		err := <-ended
		if _, outage := errors.AsType[*api.OutageError](err); err == nil || outage {
			t.Errorf("%v (%T)", err, err)
		}
	}
}

func TestRefusedConnectionIsFoundOutAtOnce(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	clock := newFakeClock()
	var attempts atomic.Int64
	client := newClient(t, http.NotFoundHandler(), on(clock), func(c *api.Config) {
		c.BaseURL = "http://" + address + "/api/v1"
		c.Observe = func(context.Context, api.Exchange) { attempts.Add(1) }
	})
	for range 20 {
		outage, ok := errors.AsType[*api.OutageError](readBins(t, client))
		if !ok || outage.Kind != api.OutageUnreachable {
			t.Errorf("fails with %v", outage)
		}
	}
	if attempts.Load() != 3 || clock.total() > 2*time.Second {
		t.Errorf("%d attempts, waited %s", attempts.Load(), clock.total())
	}
}

func TestOtherServerIsRecognizedBeforeTheServiceHasSpoken(t *testing.T) {
	t.Parallel()
	for status, body := range map[int]string{200: "<html>log in</html>", 302: "", 404: "<html>no such page</html>"} {
		client := newClient(t, &switched{status: status, body: body})
		if outage, ok := errors.AsType[*api.OutageError](readBins(t, client)); !ok || outage.Kind != api.OutageOtherServer {
			t.Errorf("%d: %v", status, outage)
		}
		service := &switched{}
		client = newClient(t, service)
		if err := readBins(t, client); err != nil {
			t.Fatal(err)
		}
		service.set(status, body)
		if err := readBins(t, client); errors.As(err, new(*api.OutageError)) {
			t.Errorf("%d, where the service has spoken before: %v", status, err)
		}
	}
}

// What speaks like the service but for a field is told as what it is.
func TestFirstResponseWithAWrongFieldIsNoOtherServer(t *testing.T) {
	t.Parallel()
	client := newClient(t, &switched{status: 200, body: `{"data": [{"id": "bin_1", "network": 5}]}`})
	if err := readBins(t, client); err == nil || errors.As(err, new(*api.OutageError)) {
		t.Errorf("%v", err)
	}
}

// A change that is under way finds out what became of it, whatever else fails.
func TestOutageKeepsNoChangeFromBeingVerified(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusServiceUnavailable} {
		service := newFakeService(fault{commit: now, response: "drop"})
		card := service.add(api.CardListItem{BinID: "bin_1", Balance: 50 * usd.Dollar})
		var client *api.Client
		var outages, reads atomic.Int64
		client = newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/api/v1/bins":
				w.WriteHeader(status)
				return
			case r.Method == http.MethodPost: // others meet the outage while the response is lost
				for range 2 {
					if err := readBins(t, client); errors.As(err, new(*api.OutageError)) {
						outages.Add(1)
					}
				}
			case outages.Load() > 0:
				reads.Add(1)
			}
			service.ServeHTTP(w, r)
		}), on(service.clock), func(c *api.Config) { c.CommitWait = 10 * time.Second }) // the outage is still remembered then
		state, err := client.FreezeCard(t.Context(), card.ID)
		if err != nil || state.Status != api.StatusFrozen || outages.Load() != 2 || reads.Load() == 0 {
			t.Errorf("%d: %d outages, %d reads: %v, %v", status, outages.Load(), reads.Load(), state, err)
		}
	}
}

// Whether a change was made is more than that the service is out, which other
// calls still learn from it.
func TestOutageIsNotTheErrorOfAnUndecidedChange(t *testing.T) {
	t.Parallel()
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			drop(w, r)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	_, err := client.FreezeCard(t.Context(), "card_1")
	if kindOf(err) != "unknown" || errors.As(err, new(*api.OutageError)) {
		t.Errorf("the change: %v", err)
	}
	if err := readBins(t, client); !errors.As(err, new(*api.OutageError)) {
		t.Errorf("another call: %v", err)
	}
}

// interrupting is a clock on which something happens at the end of each wait for a
// lost response.
type interrupting struct {
	*fakeClock
	what func()
}

func (c interrupting) Wait(ctx context.Context, d time.Duration) error {
	err := c.fakeClock.Wait(ctx, d)
	if d == 30*time.Second {
		c.what()
	}
	return err
}

func TestOutageKeepsNoDuplicateFromBeingFound(t *testing.T) {
	t.Parallel()
	service := newFakeService(afterTheLooks, works)
	service.idempotency = "ignored"
	service.hooks["/bins"] = respond(http.StatusUnauthorized, "")
	var client *api.Client
	client = newClient(t, service, on(interrupting{service.clock, func() { _ = readBins(t, client) }}))
	issuance, err := client.IssueCard(t.Context(), request("ads"))
	if err != nil || len(issuance.PossibleDuplicates) != 1 {
		t.Errorf("%+v, %v", issuance, err)
	}
}

// The first call of all goes ahead alone, and is waited for no longer than the
// caller has time; but for a page of cards, for which many wait already.
func TestFirstCallIsWaitedFor(t *testing.T) {
	t.Parallel()
	begun, answer := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			close(begun)
			<-answer
		}
		_, _ = fmt.Fprint(w, catalogue)
	}))
	first := make(chan error)
	go func() { first <- readBins(t, client) }()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := client.Bins(ctx); !errors.Is(err, context.DeadlineExceeded) || calls.Load() != 1 {
		t.Errorf("an impatient caller: %v, %d calls", err, calls.Load())
	}
	if _, err := client.ListCards(t.Context(), api.CardFilter{}, api.Page{}); err != nil || calls.Load() != 2 {
		t.Errorf("a page of cards: %v, %d calls", err, calls.Load())
	}
	close(answer)
	if err := errors.Join(<-first, readBins(t, client)); err != nil {
		t.Error(err)
	}
}

// An interrupted first call says nothing of the service.
func TestInterruptedFirstCallIsNoOutage(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 2)
	var calls atomic.Int64
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		if calls.Add(1) == 1 {
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprint(w, catalogue)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := client.Bins(ctx); !errors.Is(err, context.Canceled) || errors.As(err, new(*api.OutageError)) {
		t.Errorf("interrupted: %v", err)
	}
	if err := readBins(t, client); err != nil {
		t.Errorf("the next call: %v", err)
	}
}
