package transaction_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// history serves this many transactions in pages of a thousand, in two
// currencies and with a type that is not documented. It calls asked before each.
func history(t testing.TB, count int, asked func()) string {
	t.Helper()
	const perPage = 1000
	types := []string{"authorization", "settlement", "refund", "decline", "chargeback"}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked()
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		w.Header().Set("Content-Type", "application/json")
		out := bufio.NewWriter(w)
		_, _ = fmt.Fprint(out, `{"data":[`)
		for i := (page - 1) * perPage; i < min(page*perPage, count); i++ {
			if i%perPage > 0 {
				_, _ = fmt.Fprint(out, ",")
			}
			_, _ = fmt.Fprintf(out, `{"id":"txn_%024d","card_id":"card_%024d","type":%q,"amount":%d.%02d,"currency":%q,"fee":0.%02d,"merchant":{"name":"Merchant \u20ac %d","mcc":"7311"},"created_at":"2026-03-01T00:00:%02d.%03dZ"}`,
				count-i, i%50, types[i%len(types)], i%997, i%100, []string{"USD", "EUR"}[i%2], i%3, i%200, 59-i*59/count, i%1000)
		}
		_, _ = fmt.Fprintf(out, `],"page":%d}`, page)
		_ = out.Flush()
	}))
	t.Cleanup(service.Close)
	return service.URL + "/api/v1"
}

// TestMemory sums up a hundred thousand transactions, of which a thousand are listed.
func TestMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const transactions, limit = 100_000, 25
	var mu sync.Mutex // pages are read side by side
	var peak uint64   // of the heap, less its garbage
	p := acctest.Configure(t, object{"api_key": "sk_live_test", "base_url": history(t, transactions, func() {
		mu.Lock()
		defer mu.Unlock()
		peak = max(peak, heap())
	})})
	before := heap()
	if _, diags := p.ReadDataSource(typeName, object{}); diags.Errors() != "" {
		t.Fatal(diags.Errors())
	}
	took := (max(peak, before) - before) >> 20
	t.Logf("%d MB", took)
	if took > limit {
		t.Errorf("summing %d transactions took %d MB, want at most %d", transactions, took, limit)
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse
}
