package sandbox_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// BenchmarkSandbox measures the built sandbox with 10,000 cards and 100,000
// transactions, and fails where a figure misses its target.
func BenchmarkSandbox(b *testing.B) {
	file := seeded(b)
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			r, _ := measured(b, file)
			b.StopTimer()
			r.Kill()
			b.StartTimer()
		}
	})
	c, log := measured(b, file)
	c.Unlimited()
	for _, path := range []string{
		"/wallet/balance", "/cards?per_page=100", "/cards?per_page=100&page=100", "/cards?per_page=100&status=active&page=90",
		"/transactions?per_page=100", "/transactions?per_page=100&page=1000", "/transactions?per_page=100&type=decline&page=1000",
		"/transactions?per_page=100&type=settlement", "/transactions?per_page=100&from=2026-01-12&to=2026-01-12",
		"/transactions?per_page=100&to=2026-01-01&page=43", "/transactions?per_page=100&to=2026-01-02&type=settlement",
		"/transactions?per_page=100&to=2025-12-31", "/transactions?per_page=100&from=2027-01-01", "/transactions?per_page=100&page=100000", "/transactions?per_page=100&card_id=" + cardID(5000),
	} {
		b.Run("GET "+path, within(20*time.Millisecond, func() { c.Get(path).OK(http.StatusOK) }))
	}
	look := visitor(b, log)
	for _, path := range []string{
		"/", "/cards", "/cards?page=200", "/cards?q=campaign", "/cards?q=nothing", "/cards/" + cardID(5000),
		"/transactions", "/transactions?page=2000", "/transactions?type=decline", "/transactions?q=campaign+77", "/transactions?q=campaign",
		"/transactions?q=campaign+1&from=2026-01-05&to=2026-01-09", "/?days=90", "/transactions?q=" + cardID(5000),
		"/3ds", "/deposits", "/webhooks", "/requests", "/ledger", "/ledger?page=200",
	} {
		b.Run("page "+path, within(100*time.Millisecond, func() { look(b, path) }))
	}
	b.Run("read", parallel(3_000, func() { c.Get("/cards/" + cardID(1+rand.IntN(10_000))).OK(http.StatusOK) }))
	b.Run("fund", parallel(1_500, func() {
		c.Post("/cards/"+cardID(1+rand.IntN(10_000))+"/fund", `{"amount":0.01}`).OK(http.StatusOK)
	}))
}

func cardID(n int) string { return fmt.Sprintf("card_benchmark%08d", n) }

// seeded is a file that was filled behind the service's back: issuing so much would
// take minutes. The ledger stays balanced.
func seeded(b *testing.B) string {
	b.Helper()
	s := open(b, wallet(2_000_000*usd.Dollar))
	s.close()
	execSQL(b, s.path+"?_pragma=journal_mode(off)&_pragma=synchronous(off)", string(read(b, "testdata/bench.sql")))
	return s.path
}

// measured is a running sandbox, and the path of its log.
func measured(b *testing.B, file string) (running *sandboxtest.Process, logged string) {
	b.Helper()
	log := sandboxtest.Must(os.Create(filepath.Join(b.TempDir(), "log")))
	defer func() { _ = log.Close() }()
	return sandboxtest.StartProcess(b, log, "--data="+file), log.Name()
}

// within measures something that is to take no longer, at the median.
func within(target time.Duration, do func()) func(*testing.B) {
	return func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			begun := time.Now()
			do()
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		if median := took[len(took)/2]; median > target {
			b.Errorf("the median is %v, want %v", median, target)
		}
	}
}

// parallel measures something that several clients are to do so often in a second.
func parallel(target float64, do func()) func(*testing.B) {
	return func(b *testing.B) {
		var (
			mu   sync.Mutex
			took []time.Duration
		)
		b.SetParallelism(4)
		b.RunParallel(func(next *testing.PB) {
			var own []time.Duration
			for next.Next() {
				begun := time.Now()
				do()
				own = append(own, time.Since(begun))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
		})
		slices.Sort(took)
		rate := float64(b.N) / b.Elapsed().Seconds()
		b.ReportMetric(rate, "requests/s")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
		if rate < target && b.N > 1000 {
			b.Errorf("%.0f requests/s, want %.0f", rate, target)
		}
	}
}

// visitor logs in to the dashboard by the link in a log, and returns what looks at a page.
func visitor(b *testing.B, log string) func(*testing.B, string) {
	b.Helper()
	jar := sandboxtest.Must(cookiejar.New(nil))
	client := &http.Client{Jar: jar}
	get := func(b *testing.B, address string) {
		b.Helper()
		response := sandboxtest.Must(client.Get(address))
		defer func() { _ = response.Body.Close() }()
		page, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || strings.Contains(string(page), `name="key"`) {
			b.Fatalf("%s answered %d: %s %v", address, response.StatusCode, page, err)
		}
	}
	var link []string
	sandboxtest.Eventually(b, func() bool {
		text, err := os.ReadFile(log)
		link = regexp.MustCompile(`link="?(http://[^/]+)([^"\s]+)`).FindStringSubmatch(string(text))
		return err == nil && link != nil
	})
	get(b, link[1]+link[2])
	return func(b *testing.B, path string) { b.Helper(); get(b, link[1]+path) }
}
