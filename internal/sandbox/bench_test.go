package sandbox_test

import (
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
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
	s := sandboxtest.Start(b)
	s.Put("/_sandbox/limits", `{"requests_per_minute":`+limit+`,"requests_per_hour":`+limit+`,"creates_per_minute":0,"details_per_minute":0}`).OK(200)
	path := "/cards/" + s.Issue("50") + call
	b.SetParallelism(clients / 2) // of two processors
	b.ResetTimer()
	b.RunParallel(func(next *testing.PB) {
		for next.Next() {
			if a := s.Send(b.Context(), method, path, body); a.Status != http.StatusOK {
				b.Errorf("answered %d %s %v", a.Status, a.Raw, a.Err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
