package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// inMemory is a transport to a handler without a network, for synctest.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	m.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

// A pause is not over because a request from before it was answered.
func TestPauseOutlastsTheRequestsBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var refused atomic.Bool
		service := inMemory{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			card := strings.TrimPrefix(r.URL.Path, "/api/v1/cards/")
			switch {
			case card == "card_refused" && !refused.Swap(true):
				time.Sleep(time.Second)
				respond(429, "", "Retry-After", "30")(w, r)
				return
			case card == "card_slow":
				time.Sleep(2 * time.Second)
			}
			respond(200, strings.Replace(cardBody, "card_1", card, 1))(w, r)
		})}
		client, err := api.New(api.Config{BaseURL: "https://cards.example.com/api/v1", APIKey: testKey, Transport: service})
		if err != nil {
			t.Fatal(err)
		}
		get := func(id string) {
			if _, err := client.GetCard(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		get("card_1") // else one call goes ahead of the others
		var wg sync.WaitGroup
		wg.Go(func() { get("card_refused") })
		wg.Go(func() { get("card_slow") })
		time.Sleep(3 * time.Second)
		began := time.Now()
		get("card_1")
		if took := time.Since(began); took < 28*time.Second {
			t.Errorf("took %s, want what is left of the pause", took)
		}
		wg.Wait()
	})
}

// A change that is held up for long says so, lost response or not.
func TestLongPauseIsTold(t *testing.T) {
	t.Parallel()
	for seconds, told := range map[string]bool{"30": false, "90": true} {
		service := &script{steps: []http.HandlerFunc{respond(429, `{"error":"rate_limited"}`, "Retry-After", seconds), respond(200, `{"id":"card_1","status":"frozen","balance":1}`)}}
		state, err := newClient(t, service).FreezeCard(t.Context(), "card_1")
		if err != nil || (state.Delay != nil) != told || told && (state.Delay.LostResponse || state.Delay.Attempts != 2 || state.Delay.Took < 90*time.Second) {
			t.Errorf("%s s: %+v, %v", seconds, state.Delay, err)
		}
	}
}

// Others may spend the creates or the details of the key: all else goes on.
func TestRefusalOfCreatesOrDetailsPausesNothingElse(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *api.Client) error{
		"creates": func(ctx context.Context, c *api.Client) error { _, err := c.IssueCard(ctx, request("ads")); return err },
		"details": func(ctx context.Context, c *api.Client) error { _, err := c.CardDetails(ctx, "card_1"); return err },
		"reads":   func(ctx context.Context, c *api.Client) error { _, err := c.GetCard(ctx, "card_1"); return err },
	}
	for refused, window := range map[string]string{"creates": "creates", "details": "details", "reads": "minute"} {
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &limitedService{sizes: map[string]int{"minute": 1000, "hour": 10_000, "creates": 50, "details": 30}}
				service.sizes[window] = 0
				client := service.client(t)
				var wg sync.WaitGroup
				wg.Go(func() {
					if err := calls[refused](t.Context(), client); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				time.AfterFunc(10*time.Second, func() {
					service.mu.Lock()
					defer service.mu.Unlock()
					service.sizes[window] = 1000
				})
				for name, call := range calls {
					if name == refused {
						continue
					}
					began := time.Now()
					if err := call(t.Context(), client); err != nil {
						t.Error(err)
					}
					if took := time.Since(began); (took > 0) != (refused == "reads") {
						t.Errorf("the %s took %s", name, took)
					}
					if refused == "reads" {
						break // the others find the pause over
					}
				}
				wg.Wait()
			})
		})
	}
}
