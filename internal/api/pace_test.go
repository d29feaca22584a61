package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
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
