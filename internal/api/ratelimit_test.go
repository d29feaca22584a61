package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
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

func (s *limitedService) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	names := []string{"minute", "hour"}
	switch {
	case strings.HasSuffix(r.URL.Path, "/details"):
		names = append(names, "details")
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/cards"):
		names = append(names, "creates")
	}
	ok := true
	for _, name := range names {
		span := time.Minute
		if name == "hour" {
			span = time.Hour
		}
		for len(s.seen[name]) > 0 && time.Since(s.seen[name][0]) >= span {
			s.seen[name] = s.seen[name][1:]
		}
		ok = ok && len(s.seen[name]) < s.sizes[name]
	}
	body, status := cardBody, http.StatusOK
	switch {
	case !ok:
		body, status = `{"error":"rate_limited","message":""}`, http.StatusTooManyRequests
		s.refused++
	default:
		s.accepted++
		for _, name := range names {
			s.seen[name] = append(s.seen[name], time.Now())
		}
	}
	s.mu.Unlock()
	time.Sleep(s.latency)
	switch {
	case status != http.StatusOK:
	case strings.HasSuffix(r.URL.Path, "/details"):
		body = `{"id":"card_1","pan":"0000000000000000","cvv":"000","exp_month":1,"exp_year":2030}`
	case strings.HasSuffix(r.URL.Path, "/cards") && r.Method == http.MethodGet:
		body = `{"data":[],"total":0}`
	case strings.HasSuffix(r.URL.Path, "/cards"):
		body = strings.Replace(cardBody, "card_1", "card_"+r.Header.Get("X-Idempotency-Key"), 1)
	}
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(status)
	_, _ = recorder.WriteString(body)
	return recorder.Result(), nil
}

func (s *limitedService) client(t *testing.T, options ...func(*api.Config)) *api.Client {
	t.Helper()
	s.seen = map[string][]time.Time{}
	if s.sizes == nil {
		s.sizes = map[string]int{"minute": 1000, "hour": 10_000, "creates": 50, "details": 30}
	}
	config := api.Config{BaseURL: "https://cards.example.com/api/v1", APIKey: testKey, Transport: s}
	for _, option := range options {
		option(&config)
	}
	client, err := api.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// One process alone is never refused, and is as fast as the limits let it be.
func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, c *api.Client) error { _, err := c.GetCard(ctx, "card_1"); return err }
	details := func(ctx context.Context, c *api.Client) error { _, err := c.CardDetails(ctx, "card_1"); return err }
	create := func(ctx context.Context, c *api.Client) error {
		_, err := c.IssueCard(ctx, api.IssueCardRequest{BinID: "bin_1", Amount: 50 * usd.Dollar})
		return err
	}
	for name, test := range map[string]struct {
		call   func(context.Context, *api.Client) error
		calls  int
		limits api.Limits
		most   time.Duration
	}{
		"requests a minute":          {get, 2500, api.Limits{}, 125 * time.Second},
		"requests an hour":           {get, 10_500, api.Limits{}, time.Hour + 15*time.Second},
		"details a minute":           {details, 100, api.Limits{}, 185 * time.Second},
		"creates a minute":           {create, 120, api.Limits{}, 125 * time.Second},
		"a share of the requests":    {get, 25, api.Limits{RequestsPerMinute: 10}, 125 * time.Second},
		"a share of the hour":        {get, 25, api.Limits{RequestsPerHour: 20}, time.Hour + 5*time.Second},
		"a share of the details":     {details, 7, api.Limits{DetailsPerMinute: 3}, 125 * time.Second},
		"a share of the creates":     {create, 7, api.Limits{CreatesPerMinute: 3}, 125 * time.Second},
		"fewer requests than slots":  {get, 1000, api.Limits{}, 60 * time.Second},
		"creates and their requests": {create, 20, api.Limits{RequestsPerMinute: 10}, 185 * time.Second},
		"creates within the hour":    {create, 7, api.Limits{RequestsPerHour: 5}, time.Hour + 5*time.Second},
		"details and their requests": {details, 20, api.Limits{RequestsPerMinute: 10}, 65 * time.Second},
		"details within the hour":    {details, 7, api.Limits{RequestsPerHour: 5}, time.Hour + 5*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &limitedService{latency: 100 * time.Millisecond, sizes: map[string]int{"minute": 1000, "hour": 10_000, "creates": 50, "details": 30}}
				for window, limit := range map[string]int{"minute": test.limits.RequestsPerMinute, "hour": test.limits.RequestsPerHour, "creates": test.limits.CreatesPerMinute, "details": test.limits.DetailsPerMinute} {
					if limit > 0 {
						service.sizes[window] = limit
					}
				}
				client := service.client(t, func(c *api.Config) { c.Limits = test.limits })
				began := time.Now()
				work := make(chan struct{})
				var wg sync.WaitGroup
				for range 40 {
					wg.Go(func() {
						for range work {
							if err := test.call(t.Context(), client); err != nil {
								t.Error(err)
							}
						}
					})
				}
				for range test.calls {
					work <- struct{}{}
				}
				close(work)
				wg.Wait()
				if service.refused > 0 || service.accepted < test.calls {
					t.Errorf("%d refused, %d accepted", service.refused, service.accepted)
				}
				if took := time.Since(began); took > test.most {
					t.Errorf("took %s, want at most %s", took, test.most)
				}
			})
		})
	}
}

// A slot comes free a second later than the limits say, for a service whose
// clock is slower or whose windows end on the second.
func TestLimitsLeaveASecond(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits api.Limits
		window time.Duration
	}{
		"a minute": {api.Limits{RequestsPerMinute: 1}, time.Minute},
		"an hour":  {api.Limits{RequestsPerHour: 1}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newFakeClock()
			client := newClient(t, &script{steps: []http.HandlerFunc{respond(200, cardBody)}}, on(clock), func(c *api.Config) { c.Limits = test.limits })
			for range 2 {
				if _, err := client.GetCard(t.Context(), "card_1"); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := clock.total(), test.window+time.Second; got != want {
				t.Errorf("waited %s, want %s", got, want)
			}
		})
	}
}

// Waiting for one budget keeps nobody from another.
func TestWaitingForDetailsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &limitedService{}
		client := service.client(t)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if _, err := client.CardDetails(t.Context(), "card_1"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if _, err := client.GetCard(t.Context(), "card_1"); err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		wg.Wait()
	})
}

func TestWaitingForLimitsEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &limitedService{}
		client := service.client(t, func(c *api.Config) { c.Limits.RequestsPerMinute = 1 })
		if _, err := client.GetCard(t.Context(), "card_1"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := client.GetCard(ctx, "card_1")
		lost, ok := errors.AsType[*api.RequestError](err)
		if !ok || lost.Sent || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// Others on the key may spend its limits: then every caller waits, nobody fails.
func TestRefusalsForPacePauseEveryCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &limitedService{latency: 10 * time.Millisecond, sizes: map[string]int{"minute": 20, "hour": 10_000, "creates": 50, "details": 30}}
		client := service.client(t, func(c *api.Config) { c.MaxRetries = 0 })
		began := time.Now()
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() {
				if _, err := client.GetCard(t.Context(), "card_1"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		took := time.Since(began)
		if took > 6*time.Minute || service.accepted != 60 || service.refused > 150 {
			t.Errorf("%d calls took %s with %d refusals", service.accepted, took, service.refused)
		}
		t.Logf("60 calls at 20 a minute took %s with %d refusals", took, service.refused)
	})
}

func TestRefusalsForPaceEndWithTheOperation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &limitedService{sizes: map[string]int{}}
		for name, call := range map[string]func(context.Context, *api.Client) error{
			"read":   func(ctx context.Context, c *api.Client) error { _, err := c.GetCard(ctx, "card_1"); return err },
			"change": func(ctx context.Context, c *api.Client) error { _, err := c.FreezeCard(ctx, "card_1"); return err },
		} {
			client := service.client(t, func(c *api.Config) { c.OperationTimeout = 5 * time.Minute })
			began := time.Now()
			err := call(t.Context(), client)
			if kindOf(err) != "refused" || time.Since(began) > 5*time.Minute || time.Since(began) < 3*time.Minute {
				t.Errorf("%s: %v after %s", name, err, time.Since(began))
			}
		}
	})
}

// Requests that were on their way together are refused together: one refusal.
func TestRefusalsOfTheSameMomentCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &limitedService{latency: 10 * time.Millisecond, sizes: map[string]int{"minute": 1000, "hour": 10_000}}
		client := service.client(t)
		if _, err := client.GetCard(t.Context(), "card_1"); err != nil { // else one call goes ahead of the others
			t.Fatal(err)
		}
		resize := func(sizes map[string]int) {
			service.mu.Lock()
			defer service.mu.Unlock()
			service.sizes = sizes
		}
		resize(map[string]int{})
		time.AfterFunc(5*time.Millisecond, func() { resize(map[string]int{"minute": 1000, "hour": 10_000}) })
		began := time.Now()
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if _, err := client.GetCard(t.Context(), "card_1"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); service.refused != 40 || took > 3*time.Second {
			t.Errorf("%d refusals, took %s", service.refused, took)
		}
	})
}
