package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// journal lists transactions, newest first, and may grow while it is read.
type journal struct {
	size    int                  // of a page; 0 honours per_page
	onePage bool                 // knows no pages
	shown   func(number int) int // the page that is shown for a number; nil is that one
	pastEnd int                  // status past the end; 0 is an empty page

	mu       sync.Mutex
	count    int
	requests []string
	grow     func(request int) int // transactions that arrive before it

	flying, most atomic.Int32
}

func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j.most.Store(max(j.most.Load(), j.flying.Add(1)))
	defer j.flying.Add(-1)
	time.Sleep(time.Millisecond)
	query := r.URL.Query()
	number, _ := strconv.Atoi(query.Get("page"))
	size, _ := strconv.Atoi(query.Get("per_page"))
	if j.size > 0 {
		size = j.size
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests = append(j.requests, query.Get("page"))
	if j.grow != nil {
		j.count += j.grow(len(j.requests))
	}
	if j.onePage {
		number = 1
	}
	if j.shown != nil {
		number = j.shown(number)
	}
	newest := j.count - (number-1)*size
	data := []map[string]any{}
	for i := newest; i > max(0, newest-size); i-- {
		data = append(data, map[string]any{"id": fmt.Sprintf("txn_%d", i), "card_id": "card_1", "type": "authorization", "amount": "1.50", "currency": "USD", "fee": nil})
	}
	if len(data) == 0 && number > 1 && j.pastEnd > 0 {
		write(w, j.pastEnd, map[string]string{"error": "not_found", "message": ""})
		return
	}
	write(w, 200, map[string]any{"data": data, "page": number})
}

func TestTransactionsAreEachReadOnce(t *testing.T) {
	t.Parallel()
	for _, count := range []int{0, 1, 99, 100, 101, 250, 1200} {
		for name, change := range map[string]func(*journal){
			"pages as asked for":    func(*journal) {},
			"pages of 25":           func(j *journal) { j.size = 25 },
			"404 past the end":      func(j *journal) { j.pastEnd = 404 },
			"arrivals now and then": func(j *journal) { j.grow = func(n int) int { return map[bool]int{true: 3}[n > 1 && n%9 == 0] } },
			"a page arrives":        func(j *journal) { j.grow = func(n int) int { return map[int]int{2: 100}[n] } },
			"pages arrive":          func(j *journal) { j.grow = func(n int) int { return map[bool]int{true: 100}[n%4 == 2] } },
			"pages of 25 arrive": func(j *journal) {
				j.size, j.grow = 25, func(n int) int { return map[bool]int{true: 25}[n%3 == 2] }
			},
			"arrivals all the time": func(j *journal) { j.grow = func(n int) int { return map[bool]int{true: 1}[n > 1] } },
		} {
			t.Run(fmt.Sprintf("%d, %s", count, name), func(t *testing.T) {
				t.Parallel()
				service := &journal{count: count}
				change(service)
				var got []int
				for transaction, err := range newClient(t, service, unlimited).Transactions(t.Context(), api.TransactionFilter{}) {
					if err != nil {
						t.Fatal(err)
					}
					var n int
					_, _ = fmt.Sscanf(transaction.ID, "txn_%d", &n)
					if transaction.Amount.String() != "1.50" {
						t.Fatalf("%+v", transaction)
					}
					if n <= count { // not one that arrived meanwhile
						got = append(got, n)
					}
				}
				want := make([]int, count)
				for i := range want {
					want[i] = count - i
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d transactions, the first that differs: %v", len(got), firstDifference(got, want))
				}
				t.Logf("%d requests", len(service.requests))
			})
		}
	}
}

// A refusal is the end behind a page that is not full, and else perhaps how deep the
// service goes.
func TestTransactionsEndWithARefusedPage(t *testing.T) {
	t.Parallel()
	for count, ends := range map[int]bool{1: true, 25: true, 26: true, 74: true, 75: false, 100: false, 1024: true} {
		service := &journal{count: count, size: 25, pastEnd: 400}
		if count > 100 {
			service.size = 0
		}
		var failed error
		n := 0
		for _, err := range newClient(t, service, unlimited).Transactions(t.Context(), api.TransactionFilter{}) {
			if failed = err; err == nil {
				n++
			}
		}
		if (failed == nil) != ends || ends && n != count {
			t.Errorf("%d of %d transactions, %v", n, count, failed)
		}
	}
}

func firstDifference(got, want []int) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("at %d: %d, want %d", i, got[i], want[i])
		}
	}
	return "the length"
}

func TestTransactionPagesAreReadSideBySide(t *testing.T) {
	t.Parallel()
	service := &journal{count: 10_000}
	n := 0
	for _, err := range newClient(t, service, unlimited).Transactions(t.Context(), api.TransactionFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 10_000 || service.most.Load() < 4 || len(service.requests) > 135 {
		t.Errorf("%d transactions by %d requests, %d side by side", n, len(service.requests), service.most.Load())
	}
}

func TestTransactionsAreReadAsFarAsTheyAreWanted(t *testing.T) {
	t.Parallel()
	service := &journal{count: 10_000}
	for _, err := range newClient(t, service).Transactions(t.Context(), api.TransactionFilter{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if len(service.requests) != 1 {
		t.Errorf("read pages %q for one transaction", service.requests)
	}
}

func TestTransactionsOfServiceWithoutPages(t *testing.T) {
	t.Parallel()
	service := &journal{count: 500, onePage: true}
	n := 0
	for _, err := range newClient(t, service).Transactions(t.Context(), api.TransactionFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 100 {
		t.Errorf("%d transactions, want the 100 that there are to see", n)
	}
}

// A long history is read with few ids in memory; what a service may repeat is
// dropped all the same.
func TestLongHistoryIsReadOnce(t *testing.T) {
	t.Parallel()
	const count, size = 25_000, 1000 // what is remembered of a page is forgotten after 10,000
	const pages = count / size
	for name, change := range map[string]func(*journal){
		"nothing repeats":            func(*journal) {},
		"last page past the end":     func(j *journal) { j.shown = func(n int) int { return min(n, pages) } },
		"first page past the end":    func(j *journal) { j.shown = func(n int) int { return map[bool]int{true: n, false: 1}[n <= pages] } },
		"begins again at the end":    func(j *journal) { j.shown = func(n int) int { return (n-1)%pages + 1 } },
		"all of it on each page":     func(j *journal) { j.size, j.onePage = count, true },
		"thousands arrive at once":   func(j *journal) { j.grow = func(n int) int { return map[bool]int{true: 9000}[n == 20] } },
		"hundreds arrive repeatedly": func(j *journal) { j.grow = func(n int) int { return map[bool]int{true: 700}[n > 1 && n%5 == 0] } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &journal{count: count, size: size}
			change(service)
			next := count
			for transaction, err := range newClient(t, service, unlimited, func(c *api.Config) { c.RequestTimeout = time.Minute }).Transactions(t.Context(), api.TransactionFilter{}) {
				if err != nil {
					t.Fatal(err)
				}
				var n int
				_, _ = fmt.Sscanf(transaction.ID, "txn_%d", &n)
				if n > count {
					continue // arrived meanwhile
				}
				if n != next {
					t.Fatalf("read txn_%d, want txn_%d", n, next)
				}
				next--
			}
			if next != 0 {
				t.Errorf("%d transactions were not read", next)
			}
		})
	}
}

func TestTransactionsEndWithTheFirstError(t *testing.T) {
	t.Parallel()
	service := &script{steps: []http.HandlerFunc{respond(200, `{"data":[{"id":"txn_1","type":"refund","amount":1}],"page":1}`), respond(403, "")}}
	var ids []string
	var failed error
	for transaction, err := range newClient(t, service).Transactions(t.Context(), api.TransactionFilter{CardID: "card_1"}) {
		if err != nil {
			failed = err
			continue
		}
		ids = append(ids, transaction.ID)
	}
	if !slices.Equal(ids, []string{"txn_1"}) || failed == nil {
		t.Errorf("%q, %v", ids, failed)
	}
}
