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

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/provider"
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

// client speaks to a provider's server as Terraform does.
type client struct {
	server tfprotov6.ProviderServer
	shape  tftypes.Type
}

func connect(t testing.TB, server tfprotov6.ProviderServer, address string) client {
	t.Helper()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	configured, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
		Config: block(t, schemas.Provider.ValueType(), map[string]any{"base_url": address, "api_key": "sk_live_test"}),
	})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatal(err, configured.Diagnostics)
	}
	return client{server, schemas.DataSourceSchemas[typeName].ValueType()}
}

// block is an object with these attributes, the others null.
func block(t testing.TB, shape tftypes.Type, attributes map[string]any) *tfprotov6.DynamicValue {
	t.Helper()
	values := map[string]tftypes.Value{}
	for name, inner := range shape.(tftypes.Object).AttributeTypes {
		values[name] = tftypes.NewValue(inner, attributes[name])
	}
	encoded, err := tfprotov6.NewDynamicValue(shape, tftypes.NewValue(shape, values))
	if err != nil {
		t.Fatal(err)
	}
	return &encoded
}

func (c client) read(t testing.TB, attributes map[string]any) *tfprotov6.DynamicValue {
	t.Helper()
	resp, err := c.server.ReadDataSource(t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: block(t, c.shape, attributes)})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		t.Fatal(d.Summary, d.Detail)
	}
	return resp.State
}

// TestMemory sums up a hundred thousand transactions, of which a thousand are listed.
func TestMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const transactions, limit = 100_000, 25
	peak := peakOf(t, transactions)
	t.Logf("%d MB", peak)
	if peak > limit {
		t.Errorf("summing %d transactions took %d MB, want at most %d", transactions, peak, limit)
	}
}

// peakOf returns the most MB that the heap grows by, less its garbage, while this many
// transactions are read.
func peakOf(t testing.TB, count int) uint64 {
	t.Helper()
	var mu sync.Mutex // pages are read side by side
	var peak uint64
	c := connect(t, provider.NewServer("test")(), history(t, count, func() {
		mu.Lock()
		defer mu.Unlock()
		peak = max(peak, heap())
	}))
	before := heap()
	c.read(t, nil)
	return (max(peak, before) - before) >> 20
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse
}
