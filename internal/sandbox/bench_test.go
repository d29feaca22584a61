package sandbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

// clients is how many callers the benchmarks run side by side.
const clients = 10

// BenchmarkReadCard and its kin measure whole requests over loopback.
func BenchmarkReadCard(b *testing.B) {
	requests(b, "0", http.MethodGet, "", "")
}

// BenchmarkReadCardCounted has limits that are never reached: each read then
// costs a write.
func BenchmarkReadCardCounted(b *testing.B) {
	requests(b, "1000000000", http.MethodGet, "", "")
}

func BenchmarkFundCard(b *testing.B) {
	requests(b, "0", http.MethodPost, "/fund", `{"amount":0.01}`)
}

func requests(b *testing.B, limit, method, call, body string) {
	b.Helper()
	box, err := sandbox.Open(b.Context(), sandbox.Options{
		Path: filepath.Join(b.TempDir(), "s.db"), InitialBalance: sandbox.DefaultInitialBalance,
	})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(box.Handler())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	b.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
		if err := box.Close(); err != nil {
			b.Error(err)
		}
	})
	do := func(method, path, body string) (string, error) {
		request, err := http.NewRequestWithContext(b.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		request.Header.Set("Authorization", "Bearer "+box.APIKey())
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		raw, err := io.ReadAll(response.Body)
		if response.StatusCode > http.StatusCreated {
			return "", fmt.Errorf("answered %d: %s", response.StatusCode, raw)
		}
		return string(raw), err
	}
	limits := `{"requests_per_minute":` + limit + `,"requests_per_hour":` + limit + `,"creates_per_minute":0,"details_per_minute":0}`
	if _, err := do(http.MethodPut, "/_sandbox/limits", limits); err != nil {
		b.Fatal(err)
	}
	raw, err := do(http.MethodPost, "/api/v1/cards", `{"bin_id":"`+adsBIN+`","amount":50}`)
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(raw, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	b.SetParallelism(clients / 2) // of two processors
	b.ResetTimer()
	b.RunParallel(func(next *testing.PB) {
		for next.Next() {
			if _, err := do(method, "/api/v1/cards/"+id+call, body); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
