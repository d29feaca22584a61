package transaction_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

type object = acctest.Object

const typeName = "vcard_transactions"

// event is one as the service shows it.
type event struct {
	ID        string
	CardID    string `json:"card_id"`
	Type      string
	Amount    usd.Amount
	Currency  string
	Fee       usd.Amount
	Merchant  struct{ Name, MCC string }
	CreatedAt string `json:"created_at"`
}

// read returns what the data source says, and the ids of its transactions.
func read(t *testing.T, p *acctest.Protocol, config object) (got object, ids []string) {
	t.Helper()
	got, diags := p.ReadDataSource(typeName, config)
	diags.Must(t)
	list, ok := got["transactions"].([]any)
	if !ok {
		t.Fatalf("read %v", got)
	}
	for _, entry := range list {
		one, _ := entry.(object)
		ids = append(ids, fmt.Sprint(one["id"]))
	}
	return got, ids
}

func summaryOf(got object, currency string) object {
	all, _ := got["summary"].(object)
	one, _ := all[currency].(object)
	return one
}

// spent is a service with two cards that were used: one settled and partly
// refunded, the other authorized and declined.
func spent(t *testing.T, options ...contract.Option) (s *acctest.Service, cards []string, newestFirst []string) {
	t.Helper()
	s = acctest.Start(t, options...)
	cards = []string{s.Issue("100"), s.Issue("50")}
	authorization := s.Authorize(cards[0], "40.10", "7311").Transaction()
	settlement := s.Settle(authorization, "35.05").Transaction()
	refund := s.Refund(settlement, "10.01").Transaction()
	open := s.Authorize(cards[1], "20", "7311").Transaction()
	decline := s.Authorize(cards[1], "30.01", "7311").Transaction()
	return s, cards, []string{decline, open, refund, settlement, authorization}
}

// The list and the sums are the same in whatever way the service writes amounts.
func TestTransactions(t *testing.T) {
	t.Parallel()
	for name, quirks := range map[string]object{
		"as documented":     {},
		"refunds negative":  {"transaction_signs": "refunds"},
		"spending negative": {"transaction_signs": "spending"},
		"binary floats":     {"amounts": "floats"},
		"strings, signed":   {"amounts": "strings", "transaction_signs": "refunds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, ids := spent(t, contract.RequestsOnly())
			s.AddQuirks(object{"transaction_signs": "unsigned", "timestamps": "utc"})
			var want struct{ Data []event }
			s.Get("/transactions").Into(&want)
			s.AddQuirks(quirks)
			got, found := read(t, s.Protocol(nil), object{})
			if !slices.Equal(found, ids) || len(want.Data) != len(ids) || got["truncated"] != false {
				t.Fatalf("read %v, want %v, truncated is %v", found, ids, got["truncated"])
			}
			list, _ := got["transactions"].([]any)
			for i, w := range want.Data {
				one := object{
					"id": w.ID, "card_id": w.CardID, "type": w.Type, "amount": plain(w.Amount), "currency": w.Currency, "fee": plain(w.Fee),
					"merchant": object{"name": w.Merchant.Name, "mcc": w.Merchant.MCC}, "created_at": w.CreatedAt,
				}
				if !reflect.DeepEqual(list[i], any(one)) {
					t.Errorf("transaction %d is %v, want %v", i, list[i], one)
				}
			}
			const sums = "map[authorized:60.1 counts:map[authorization:2 decline:1 refund:1 settlement:1] " +
				"declined:30.01 fees:0 net_spend:25.04 refunded:10.01 settled:35.05]"
			if sum := fmt.Sprint(summaryOf(got, "USD")); sum != sums {
				t.Errorf("the sums are\n%s, want\n%s", sum, sums)
			}
		})
	}
}

// plain is an amount as acctest.Number writes it.
func plain(a usd.Amount) acctest.Number { return acctest.Number(a.BigFloat().Text('f', -1)) }

func TestFilters(t *testing.T) {
	t.Parallel()
	s, cards, ids := spent(t)
	p := s.Protocol(nil)
	var clock struct{ Now string }
	s.Post("/_sandbox/clock", object{"advance": "48h"}).Into(&clock)
	late := s.Authorize(cards[0], "5", "7311").Transaction()
	today := clock.Now[:len("2006-01-02")]
	for name, c := range map[string]struct {
		filters object
		want    []string
	}{
		"none":             {object{}, append([]string{late}, ids...)},
		"card":             {object{"card_id": cards[1]}, ids[:2]},
		"card and type":    {object{"card_id": cards[1], "type": "decline"}, ids[:1]},
		"unknown card":     {object{"card_id": "card_none"}, nil},
		"settlements":      {object{"type": "settlement"}, []string{ids[3]}},
		"from a day":       {object{"from": today}, []string{late}},
		"to a day":         {object{"to": today}, append([]string{late}, ids...)},
		"a day":            {object{"from": today, "to": today}, []string{late}},
		"to an early time": {object{"to": clock.Now[:len("2006-01-02")] + "T00:00:00Z"}, ids},
		"a part of a day":  {object{"from": today + "T00:00:01Z", "to": today}, []string{late}},
		"with an offset":   {object{"from": today + "T14:00:00+14:00"}, []string{late}},
	} {
		got, found := read(t, p, c.filters)
		if !slices.Equal(found, c.want) || got["truncated"] != false {
			t.Errorf("%s: read %v, truncated %v; want %v", name, found, got["truncated"], c.want)
		}
		for filter, value := range c.filters {
			if text := fmt.Sprint(value); fmt.Sprint(got[filter]) != text {
				t.Errorf("%s: %s became %v", name, filter, got[filter])
			}
		}
	}
}

func TestSumsByCard(t *testing.T) {
	t.Parallel()
	s, cards, _ := spent(t)
	unused := s.Issue("50")
	p := s.Protocol(nil)
	const first = "authorized:40.1 counts:map[authorization:1 decline:0 refund:1 settlement:1] declined:0 fees:0 net_spend:25.04 refunded:10.01 settled:35.05"
	const second = "authorized:20 counts:map[authorization:1 decline:1 refund:0 settlement:0] declined:30.01 fees:0 net_spend:0 refunded:0 settled:0"
	const refund = "authorized:0 counts:map[authorization:0 decline:0 refund:1 settlement:0] " +
		"declined:0 fees:0 net_spend:-10.01 refunded:10.01 settled:0"
	const declined = "authorized:0 counts:map[authorization:0 decline:1 refund:0 settlement:0] declined:30.01 fees:0 net_spend:0 refunded:0 settled:0"
	for _, c := range []struct {
		filters object
		want    map[string]string
	}{
		{object{}, map[string]string{cards[0]: first, cards[1]: second}},
		{object{"max_results": 1}, map[string]string{cards[0]: first, cards[1]: second}},
		{object{"card_id": cards[1]}, map[string]string{cards[1]: second}},
		{object{"type": "decline"}, map[string]string{cards[1]: declined}},
		{object{"type": "refund"}, map[string]string{cards[0]: refund}},
		{object{"card_id": unused}, map[string]string{}},
	} {
		got, _ := read(t, p, c.filters)
		byCard, _ := got["by_card"].(object)
		if len(byCard) != len(c.want) {
			t.Errorf("%v: there are sums of %d cards, want %d: %v", c.filters, len(byCard), len(c.want), byCard)
		}
		for card, want := range c.want {
			if sums := fmt.Sprint(byCard[card]); sums != "map[USD:map["+want+"]]" {
				t.Errorf("%v: card %s adds up to\n%s, want\n%s", c.filters, card, sums, want)
			}
		}
	}
}

func TestListIsBoundedUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	const count = 1500
	p := acctest.Configure(t, object{"base_url": history(t, count, func() {}), "api_key": "sk_live_test"})
	for _, c := range []struct {
		config    object
		listed    int
		truncated bool
	}{
		{object{}, 1000, true},
		{object{"max_results": 1499}, 1499, true},
		{object{"max_results": 1500}, 1500, false},
		{object{"max_results": 10_000}, 1500, false},
	} {
		got, ids := read(t, p, c.config)
		if len(ids) != c.listed || got["truncated"] != c.truncated {
			t.Errorf("%v: %d are listed, truncated %v; want %d, %v", c.config, len(ids), got["truncated"], c.listed, c.truncated)
		}
		if len(ids) > 0 && ids[0] != fmt.Sprintf("txn_%024d", count) {
			t.Errorf("%v: the list begins with %s", c.config, ids[0])
		}
		counted := 0
		for _, currency := range []string{"USD", "EUR"} {
			counts, _ := summaryOf(got, currency)["counts"].(object)
			for _, n := range counts {
				one, _ := strconv.Atoi(fmt.Sprint(n))
				counted += one
			}
		}
		if counted != count {
			t.Errorf("%v: %d transactions are summed, want %d", c.config, counted, count)
		}
	}
}

// showing is a provider whose service shows these transactions.
func showing(t *testing.T, rows string) *acctest.Protocol {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"data":[%s],"page":1}`, rows)
	}))
	t.Cleanup(service.Close)
	return acctest.Configure(t, object{"base_url": service.URL + "/api/v1", "api_key": "sk_live_test"})
}

func TestSummaryByCurrency(t *testing.T) {
	t.Parallel()
	var rows []string
	for i, row := range []struct{ kind, currency, amount, fee string }{
		{"settlement", "USD", "0.10", "0.01"},
		{"settlement", "USD", "0.20", "0.02"},
		{"refund", "USD", "0.05", "0"},
		{"chargeback", "USD", "7", "15.00"}, // not a documented type
		{"settlement", "EUR", "100000000.01", "0"},
		{"decline", "EUR", "3", "0.30"},
	} {
		rows = append(rows, fmt.Sprintf(`{"id":"txn_%d","card_id":"card_1","type":%q,"amount":%s,"currency":%q,"fee":%s,"merchant":{"name":"A","mcc":"7311"},"created_at":"2026-03-01T00:00:00Z"}`,
			i, row.kind, row.amount, row.currency, row.fee))
	}
	got, _ := read(t, showing(t, strings.Join(rows, ",")), object{})
	for currency, want := range map[string]string{
		"USD": "map[authorized:0 counts:map[authorization:0 chargeback:1 decline:0 refund:1 settlement:2] declined:0 fees:15.03 net_spend:15.28 refunded:0.05 settled:0.3]",
		"EUR": "map[authorized:0 counts:map[authorization:0 decline:1 refund:0 settlement:1] declined:3 fees:0.3 net_spend:100000000.31 refunded:0 settled:100000000.01]",
	} {
		if sum := fmt.Sprint(summaryOf(got, currency)); sum != want {
			t.Errorf("%s adds up to\n%s, want\n%s", currency, sum, want)
		}
	}
	if byCard := fmt.Sprint(got["by_card"]); byCard != fmt.Sprint(object{"card_1": got["summary"]}) {
		t.Errorf("the only card adds up to %s", byCard)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	for name, c := range map[string]struct {
		config object
		want   []string
	}{
		"from after to": {
			object{"from": "2026-03-02", "to": "2026-03-01"},
			[]string{"from must not be after to", "2026-03-02", "2026-03-01"},
		},
		"time after day":      {object{"from": "2026-03-02T00:00:00Z", "to": "2026-03-01"}, []string{"from must not be after to"}},
		"time after time":     {object{"from": "2026-03-01T12:00:01Z", "to": "2026-03-01T14:00:00+02:00"}, []string{"from must not be after to"}},
		"impossible date":     {object{"from": "2026-02-30"}, []string{"from", `"2026-02-30"`, "the calendar or the clock does not have"}},
		"impossible time":     {object{"to": "2026-02-03T25:00:00Z"}, []string{"to", "the calendar or the clock does not have"}},
		"no zone":             {object{"from": "2026-02-03T10:00:00"}, []string{"from", "has no zone", "add Z for UTC"}},
		"no zone, fraction":   {object{"from": "2026-02-03T10:00:00.5"}, []string{"has no zone"}},
		"no zone, no seconds": {object{"from": "2026-02-03T10:00"}, []string{"has no zone"}},
		"no date":             {object{"from": "yesterday"}, []string{"from", `"yesterday"`, "which is neither"}},
		"another order":       {object{"to": "03/01/2026"}, []string{"to", "which is neither"}},
		"empty":               {object{"to": ""}, []string{"to", "which is neither"}},
		"type":                {object{"type": "chargeback"}, []string{"type", `"settlement"`, "chargeback"}},
		"card id":             {object{"card_id": "txn_1"}, []string{"card_id", "must be a card id", "txn_1"}},
		"no results":          {object{"max_results": 0}, []string{"max_results", "between 1 and 10000"}},
		"too many results":    {object{"max_results": 10_001}, []string{"max_results", "between 1 and 10000"}},
	} {
		_, diags := p.ReadDataSource(typeName, c.config)
		if len(diags) != 1 {
			t.Errorf("%s: %d diagnostics, want one error: %s", name, len(diags), diags.Errors())
		}
		sandboxtest.Says(t, name+": the error", diags.Errors(), c.want...)
	}
	if sent := s.Requests(); len(sent) != 0 {
		t.Errorf("bad input was sent to the service: %v", sent)
	}
}

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
