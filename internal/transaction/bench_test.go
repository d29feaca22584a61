package transaction_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// BenchmarkHistory sums up a hundred thousand transactions, of which a thousand are listed.
// The bound is ten times what was measured.
func BenchmarkHistory(b *testing.B) {
	const most = 250 // MB
	for b.Loop() {
		var mu sync.Mutex // pages are read side by side
		var peak uint64   // of the heap, without its garbage
		provider := history(b, 100_000, 50, func() {
			mu.Lock()
			defer mu.Unlock()
			peak = max(peak, heap())
		})
		before := heap()
		_, diags := provider.ReadDataSource("vcard_transactions", acctest.Object{})
		diags.Must(b)
		took := (max(peak, before) - before) / 1_000_000
		b.ReportMetric(float64(took), "MB")
		if took > most {
			b.Errorf("the sums took %d MB, want at most %d", took, most)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse
}
