package transaction_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// A day is that whole day, whatever the service takes a date for.
func TestDaysOfAnyService(t *testing.T) {
	t.Parallel()
	for _, period := range []string{"days", "midnights", "dates_only"} {
		t.Run(period, func(t *testing.T) {
			t.Parallel()
			s, _, ids := spent(t) // on 15 March, at noon
			s.AddQuirks(object{"transaction_period": period})
			p := s.Protocol(nil)
			for _, c := range []struct {
				config object
				want   int
			}{
				{object{"from": "2026-03-15", "to": "2026-03-15"}, len(ids)},
				{object{"to": "2026-03-15"}, len(ids)},
				{object{"from": "2026-03-15T11:59:59Z", "to": "2026-03-15T18:00:00+02:00"}, len(ids)},
				{object{"to": "2026-03-14"}, 0},
				{object{"from": "2026-03-16"}, 0},
				{object{"to": "2026-03-15T11:59:59Z"}, 0},
				{object{"from": "2026-03-15T16:00:00Z"}, 0},
			} {
				if _, found := read(t, p, c.config); len(found) != c.want {
					t.Errorf("%v has %d transactions, want %d", c.config, len(found), c.want)
				}
			}
		})
	}
}

// One transaction that cannot be read leaves the others readable.
func TestTransactionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const rows = `{"id":"txn_1","card_id":"card_1","type":"settlement","amount":12.345,"currency":"KWD","fee":0.001,"merchant":{"name":"A","mcc":"7311"},"created_at":"2026-03-01T00:00:00"},
		{"id":"txn_2","card_id":"card_1","type":"settlement","amount":{"value":5},"currency":"USD","fee":1},
		{"id":"txn_3","card_id":"card_1","type":"refund","amount":0.1,"currency":"USD","fee":0.003}`
	got, diags := showing(t, rows).ReadDataSource(typeName, object{})
	for _, want := range []string{"Transactions that are in no sum: 1", "txn_2", "amount is"} {
		if !strings.Contains(diags.Warnings(), want) || diags.Errors() != "" {
			t.Errorf("the warning lacks %q: %q, %q", want, diags.Warnings(), diags.Errors())
		}
	}
	list, _ := got["transactions"].([]any)
	if len(list) != 3 {
		t.Fatalf("read %v", got)
	}
	for i, want := range []any{acctest.Number("12.345"), nil, acctest.Number("0.1")} {
		if one, _ := list[i].(object); one["amount"] != want {
			t.Errorf("transaction %d is of %v, want %v", i+1, one["amount"], want)
		}
	}
	if kwd, usd := summaryOf(got, "KWD"), summaryOf(got, "USD"); kwd["net_spend"] != acctest.Number("12.346") || usd["net_spend"] != acctest.Number("-0.097") {
		t.Errorf("the sums are %v", got["summary"])
	}
}

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
