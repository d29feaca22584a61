package api_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// limitedService is a service in memory that answers 429 to what exceeds a limit.
type limitedService struct {
	mu       sync.Mutex
	seen     map[string][]time.Time // arrivals by window
	sizes    map[string]int
	refused  int
	latency  time.Duration
	accepted int
}

// newLimitedService has the documented limits, but for those that are given.
func newLimitedService(latency time.Duration, other ratelimit.Limits) *limitedService {
	return &limitedService{latency: latency, seen: map[string][]time.Time{}, sizes: map[string]int{
		"minute": cmp.Or(other.RequestsPerMinute, 1000), "hour": cmp.Or(other.RequestsPerHour, 10_000),
		"creates": cmp.Or(other.CreatesPerMinute, 50), "details": cmp.Or(other.DetailsPerMinute, 30),
	}}
}

func (s *limitedService) resize(window string, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[window] = size
}

// accepts counts a request in its windows, where they all have room.
func (s *limitedService) accepts(windows ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range windows {
		span := time.Minute
		if name == "hour" {
			span = time.Hour
		}
		for len(s.seen[name]) > 0 && time.Since(s.seen[name][0]) >= span { //nolint:forbidigo // in a synctest bubble
			s.seen[name] = s.seen[name][1:]
		}
		if len(s.seen[name]) >= s.sizes[name] {
			s.refused++
			return false
		}
	}
	for _, name := range windows {
		s.seen[name] = append(s.seen[name], time.Now())
	}
	s.accepted++
	return true
}

func (s *limitedService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	windows := []string{"minute", "hour"}
	var body string
	switch isList := strings.HasSuffix(r.URL.Path, "/cards"); {
	case strings.HasSuffix(r.URL.Path, "/details"):
		windows, body = append(windows, "details"), `{"id":"card_1","pan":"0000000000000000","cvv":"000","exp_month":1,"exp_year":2030}`
	case isList && r.Method == http.MethodPost:
		windows, body = append(windows, "creates"), strings.NewReplacer("card_1", "card_"+r.Header.Get("X-Idempotency-Key"), `"ads"`, `""`).Replace(cardBody)
	case isList:
		body = `{"data":[],"total":0}`
	default:
		body = strings.Replace(cardBody, "card_1", path.Base(r.URL.Path), 1)
	}
	isAccepted := s.accepts(windows...)
	time.Sleep(s.latency)
	if !isAccepted {
		respond(429, `{"error":"rate_limited","message":""}`)(w, r)
		return
	}
	respond(200, body)(w, r)
}

// inMemory has a client talk to a handler in the time of synctest.
func inMemory(handler http.Handler) func(*api.Config) {
	return func(c *api.Config) { c.Clock, c.Transport = nil, sandboxtest.Direct(handler) }
}

// sideBySide makes a call so many times, n at a time.
func sideBySide(t *testing.T, client *api.Client, call string, times, n int) {
	t.Helper()
	work := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range work {
				must(t, client, call)
			}
		})
	}
	for range times {
		work <- struct{}{}
	}
	close(work)
	wg.Wait()
}

// One process alone is never refused, and is as fast as the limits let it be.
func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	const minute, hour = time.Minute, time.Hour
	for name, test := range map[string]struct {
		call   string
		calls  int
		limits ratelimit.Limits
		most   time.Duration
	}{
		"requests a minute":          {"read", 2500, ratelimit.Limits{}, 2*minute + 5*time.Second},
		"requests an hour":           {"read", 10_500, ratelimit.Limits{}, hour + 15*time.Second},
		"details a minute":           {"details", 100, ratelimit.Limits{}, 3*minute + 5*time.Second},
		"creates a minute":           {"issue apart", 120, ratelimit.Limits{}, 2*minute + 5*time.Second},
		"fewer requests than slots":  {"read", 1000, ratelimit.Limits{}, minute},
		"creates and their requests": {"issue apart", 20, ratelimit.Limits{RequestsPerMinute: 10}, 5*minute + 5*time.Second},
		"creates within the hour":    {"issue apart", 7, ratelimit.Limits{RequestsPerHour: 5}, 3*hour + 5*time.Second},
		"details and their requests": {"details", 20, ratelimit.Limits{RequestsPerMinute: 10}, minute + 5*time.Second},
		"details within the hour":    {"details", 7, ratelimit.Limits{RequestsPerHour: 5}, hour + 5*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := newLimitedService(100*time.Millisecond, test.limits)
				began := time.Now()
				sideBySide(t, newClient(t, nil, inMemory(service), func(c *api.Config) { c.Limits = test.limits }), test.call, test.calls, 40)
				if took := time.Since(began); service.refused > 0 || service.accepted < test.calls || took > test.most { //nolint:forbidigo // in a synctest bubble
					t.Errorf("%d refused, %d accepted in %s, want none, %d in %s", service.refused, service.accepted, took, test.calls, test.most)
				}
			})
		})
	}
}

// A slot comes free a second later than the limits say, for a service whose
// clock is slower or whose windows end on the second.
func TestLimitsLeaveASecond(t *testing.T) {
	t.Parallel()
	for window, limits := range map[time.Duration]ratelimit.Limits{time.Minute: {RequestsPerMinute: 1}, time.Hour: {RequestsPerHour: 1}} {
		clock := newFakeClock()
		client := newClient(t, respond(200, cardBody), on(clock), func(c *api.Config) { c.Limits = limits })
		if must(t, client, "read", "read"); clock.total() != window+time.Second {
			t.Errorf("waited %s of %s", clock.total(), window)
		}
	}
}

// Waiting for one budget keeps nobody from another, and ends with the context.
func TestWaitingForLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, nil, inMemory(newLimitedService(0, ratelimit.Limits{})), func(c *api.Config) { c.Limits.RequestsPerMinute = 32 })
		var wg sync.WaitGroup
		wg.Go(func() { sideBySide(t, client, "details", 31, 31) })
		synctest.Wait()
		began := time.Now()
		for range 2 {
			if err := try(t.Context(), client, "read"); err != nil || time.Since(began) > 0 { //nolint:forbidigo // in a synctest bubble
				t.Errorf("%v after %s", err, time.Since(began)) //nolint:forbidigo // in a synctest bubble
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := try(ctx, client, "read")
		lost, ok := errors.AsType[*transport.RequestError](err)
		if !ok || lost.Sent || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second { //nolint:forbidigo // in a synctest bubble
			t.Errorf("%v after %s", err, time.Since(began)) //nolint:forbidigo // in a synctest bubble
		}
		wg.Wait()
	})
}

// Others on the key may spend its limits: then every caller waits, nobody fails.
func TestRefusalsForPacePauseEveryCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := newLimitedService(10*time.Millisecond, ratelimit.Limits{RequestsPerMinute: 20})
		began := time.Now()
		sideBySide(t, newClient(t, nil, inMemory(service), onlyOneTry), "read", 60, 60)
		if took := time.Since(began); took > 6*time.Minute || service.accepted != 60 || service.refused > 150 { //nolint:forbidigo // in a synctest bubble
			t.Errorf("%d calls took %s with %d refusals", service.accepted, took, service.refused)
		}
	})
}

// What is refused for its pace for ever ends with the operation's time, which a caller may
// shorten, or with what a person sits through; after an interruption, with that of an
// attempt, the wait and a look.
func TestRefusalsForPaceEndWithTheOperation(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, test := range map[string]struct {
		call        string
		within      time.Duration
		lost        bool // the first request, and then the caller is interrupted
		least, most time.Duration
		ends        string
	}{
		"a read":                {"read", 2 * time.Hour, false, 9 * minute, 10 * minute, "refused"},
		"a read of five":        {"read", 5 * minute, false, 3 * minute, 5 * minute, "refused"},
		"a change":              {"freeze", 2 * time.Hour, false, 68 * minute, 70 * minute, "refused"},
		"a change of five":      {"freeze", 5 * minute, false, 3 * minute, 5 * minute, "refused"},
		"a change that is lost": {"freeze", 2 * time.Hour, true, 40 * time.Second, 41 * time.Second, "unknown"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithTimeout(t.Context(), test.within)
			defer interrupt()
			service := steps(respond(429, `{"error":"rate_limited","message":""}`))
			if test.lost {
				service.then(func(http.ResponseWriter, *http.Request) { interrupt(); panic(http.ErrAbortHandler) }, respond(429, "", "Retry-After", "200"))
			}
			began := time.Now()
			err := try(ctx, newClient(t, nil, inMemory(service)), test.call)
			if took := time.Since(began); kindOf(err) != test.ends || took > test.most || took < test.least { //nolint:forbidigo // in a synctest bubble
				t.Errorf("%s: %v after %s", name, err, took)
			}
		})
	}
}

// A create that was lost, and is then held up past its time, is given up at once.
func TestPauseOfCreatesEndsALostOne(t *testing.T) {
	t.Parallel()
	service := newService(t, lostForGood, fault{commit: never, response: "429", pause: "7200", stays: true})
	if err := try(t.Context(), service.client(t), "issue"); kindOf(err) != "unknown" || service.clock.total() > 2*time.Minute {
		t.Errorf("%v after %s", err, service.clock.total())
	}
}

// A pause is not over because a request from before it was answered.
func TestPauseOutlastsTheRequestsBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := steps(respond(200, cardBody), func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			respond(429, "", "Retry-After", "30")(w, r)
		}, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(2 * time.Second)
			respond(200, cardBody)(w, r)
		}, respond(200, cardBody))
		client := newClient(t, nil, inMemory(service))
		must(t, client, "read") // else one call goes ahead of the others
		var wg sync.WaitGroup
		wg.Go(func() { sideBySide(t, client, "read", 2, 2) }) // one is refused, and one is slow
		time.Sleep(3 * time.Second)
		began := time.Now()
		err := try(t.Context(), client, "read")
		if took := time.Since(began); err != nil || took < 28*time.Second { //nolint:forbidigo // in a synctest bubble
			t.Errorf("%v, took %s, want what is left of the pause", err, took)
		}
		wg.Wait()
	})
}

// Others may spend the creates or the details of the key: all else goes on.
func TestRefusalOfCreatesOrDetailsPausesNothingElse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		refused, window, other string
		waits                  bool
	}{
		{"issue", "creates", "details", false},
		{"issue", "creates", "read", false},
		{"details", "details", "issue", false},
		{"details", "details", "read", false},
		{"read", "minute", "issue", true},
		{"read", "minute", "details", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			service := newLimitedService(0, ratelimit.Limits{})
			service.resize(test.window, 0)
			client := newClient(t, nil, inMemory(service))
			var wg sync.WaitGroup
			wg.Go(func() { sideBySide(t, client, test.refused, 1, 1) })
			synctest.Wait()
			time.AfterFunc(10*time.Second, func() { service.resize(test.window, 1000) })
			began := time.Now()
			err := try(t.Context(), client, test.other)
			if took := time.Since(began); err != nil || (took > 0) != test.waits { //nolint:forbidigo // in a synctest bubble
				t.Errorf("%s refused: %s took %s, %v", test.refused, test.other, took, err)
			}
			wg.Wait()
		})
	}
}
