package api_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// journal lists transactions, newest first, and may grow while it is read.
type journal struct {
	size    int                   // of a page; 0 honours per_page
	shown   func(number int) int  // the page that is shown for a number; nil is that one
	pastEnd int                   // status past the end; 0 is an empty page
	deep    int                   // the last page that is shown, with a pastEnd; 0 is all
	perDay  int                   // transactions of one instant, a day before the next; below 0 their times cannot be read
	refuses func(url.Values) bool // a request as invalid; nil is none
	invalid int                   // the status of that; 0 is 400

	mu    sync.Mutex
	count int
	asked []url.Values
	grow  func(request int) int // transactions that arrive before it
}

func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	number, _ := strconv.Atoi(query.Get("page"))
	size, _ := strconv.Atoi(query.Get("per_page"))
	size = cmp.Or(j.size, size)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked = append(j.asked, query)
	if j.refuses != nil && j.refuses(query) {
		write(w, max(j.invalid, 400), map[string]string{"error": "invalid_request", "message": fmt.Sprintf("refusal %d", len(j.asked))})
		return
	}
	if j.grow != nil {
		j.count += j.grow(len(j.asked))
	}
	if j.shown != nil {
		number = j.shown(number)
	}
	created := func(i int) string {
		if j.perDay < 0 {
			return "a long, long time ago"
		}
		return time.Date(2026, 1, 1+i/max(1, j.perDay), 12, 0, 0, 0, time.UTC).Format(time.RFC3339)
	}
	count := j.count
	for to := query.Get("to"); to != "" && count > 0 && created(count)[:len(to)] > to; {
		count--
	}
	newest := count - (number-1)*size
	data := []map[string]any{}
	for i := newest; i > max(0, newest-size); i-- {
		data = append(data, map[string]any{"id": fmt.Sprintf("txn_%d", i), "card_id": "card_1", "type": "authorization", "amount": "1.50", "currency": "USD", "fee": nil, "created_at": created(i)})
	}
	if (len(data) == 0 || j.deep > 0 && number > j.deep) && number > 1 && j.pastEnd > 0 {
		write(w, j.pastEnd, map[string]string{"error": "not_found", "message": ""})
		return
	}
	write(w, 200, map[string]any{"data": data, "page": number})
}

// read returns the numbers of the transactions that a client reads.
func (j *journal) read(t *testing.T, filter api.TransactionFilter) (numbers []int, failed error) {
	t.Helper()
	client := newClient(t, nil, unlimited, func(c *api.Config) { c.Transport, c.RequestTimeout = sandboxtest.Direct(j), time.Minute })
	for transaction, err := range client.Transactions(t.Context(), filter) {
		if failed = err; err != nil {
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(transaction.ID, "txn_"))
		if err != nil || transaction.Amount.String() != "1.50" {
			t.Fatalf("%+v", transaction)
		}
		numbers = append(numbers, n)
	}
	return numbers, failed
}

// every is how many arrive with each nth request, but the first.
func every(nth, arrive int) func(int) int {
	return func(request int) int {
		if request == 1 || request%nth != nth-1 {
			return 0
		}
		return arrive
	}
}

// However a list grows while it is read, by many pages between any two requests too,
// and whatever a service repeats of it, what was there is read once and in order; of a long
// history, with few ids in memory.
func TestTransactionsAreEachReadOnce(t *testing.T) {
	t.Parallel()
	short := []int{0, 1, 99, 100, 101, 250, 1200}
	long := []int{15_000}        // what is remembered of a page is forgotten after 10,000
	const size, pages = 1000, 15 // of those
	type row struct {
		counts []int
		change func(*journal)
	}
	tests := map[string]row{
		"pages as asked for":     {short, func(*journal) {}},
		"pages of 25":            {short, func(j *journal) { j.size = 25 }},
		"404 past the end":       {short, func(j *journal) { j.pastEnd = 404 }},
		"arrivals now and then":  {short, func(j *journal) { j.grow = every(9, 3) }},
		"a page arrives":         {short, func(j *journal) { j.grow = func(n int) int { return map[int]int{2: 100}[n] } }},
		"pages arrive":           {short, func(j *journal) { j.grow = every(4, 100) }},
		"pages of 25 arrive":     {short, func(j *journal) { j.size, j.grow = 25, every(3, 25) }},
		"arrivals all the time":  {short, func(j *journal) { j.grow = every(1, 1) }},
		"nothing repeats":        {long, func(j *journal) { j.size = size }},
		"last page past the end": {long, func(j *journal) { j.size, j.shown = size, func(n int) int { return min(n, pages) } }},
		"first page past the end": {long, func(j *journal) {
			j.size, j.shown = size, func(n int) int { return map[bool]int{true: n, false: 1}[n <= pages] }
		}},
		"begins again at the end":  {long, func(j *journal) { j.size, j.shown = size, func(n int) int { return (n-1)%pages + 1 } }},
		"all of it on each page":   {long, func(j *journal) { j.size, j.shown = size*pages, func(int) int { return 1 } }},
		"thousands arrive at once": {long, func(j *journal) { j.size, j.grow = size, func(n int) int { return map[int]int{12: 9000}[n] } }},
		"pages arrive twice, and one repeats partly": {[]int{2600}, func(j *journal) {
			j.size, j.grow = 100, func(n int) int { return map[int]int{5: 150, 9: 400}[n] }
		}},
		"pages arrive, and the last page repeats past the end": {[]int{2600}, func(j *journal) {
			j.size, j.grow = 100, func(n int) int { return map[int]int{5: 300}[n] }
			j.shown = func(n int) int { return min(n, j.count/j.size) }
		}},
		"a page arrives before a page, and one before its check": {[]int{2600}, func(j *journal) {
			j.size, j.grow = 100, func(n int) int { return map[int]int{5: 100, 6: 100}[n] }
		}},
		"hundreds arrive repeatedly": {long, func(j *journal) { j.size, j.grow = size, every(5, 700) }},
	}
	step := 1
	if testing.Short() {
		step = 5
	}
	for at := 2; at < 24; at += step {
		for _, arrive := range []int{300, 900, 1600} {
			burst := func(j *journal) { j.grow = func(n int) int { return map[int]int{at: arrive}[n] } }
			tests[fmt.Sprintf("%d at request %d", arrive, at)] = row{[]int{2600}, burst}
		}
	}
	for name, test := range tests {
		for _, count := range test.counts {
			t.Run(fmt.Sprintf("%d, %s", count, name), func(t *testing.T) {
				t.Parallel()
				service := &journal{count: count}
				test.change(service)
				got, err := service.read(t, api.TransactionFilter{})
				got = slices.DeleteFunc(got, func(n int) bool { return n > count }) // arrived meanwhile
				for i, n := range got {
					if n != count-i {
						t.Fatalf("read txn_%d, want txn_%d", n, count-i)
					}
				}
				if err != nil || len(got) != count {
					t.Errorf("%d transactions of %d, %v", len(got), count, err)
				}
			})
		}
	}
}

// A refusal is the end where nothing is older, and else how deep the service goes.
func TestTransactionsEndWithARefusedPage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		count, size, status, deep, perDay, read int
		dates, ends                             bool // whether times are refused, and whether it is the end
	}{
		{1, 25, 400, 0, 1, 1, false, true},
		{25, 25, 400, 0, 1, 25, false, true},
		{74, 25, 400, 0, 1, 74, false, true},
		{1024, 0, 400, 0, 1, 1024, false, true},
		{75, 25, 400, 0, 1, 75, false, true},
		{75, 25, 400, 0, 99, 75, false, true},
		{75, 25, 400, 0, 1, 75, true, true},
		{75, 25, 400, 0, 99, 75, true, false}, // a date does not tell
		{74, 25, 400, 2, 1, 50, false, false},
		{100, 25, 400, 2, -1, 50, false, false},
		{100, 25, 400, 2, 1, 50, true, false},
		{200, 0, 403, 0, 1, 200, false, false},
	} {
		service := &journal{count: test.count, size: test.size, pastEnd: test.status, deep: test.deep, perDay: test.perDay}
		service.refuses = func(query url.Values) bool { return test.dates && len(query.Get("to")) > len(time.DateOnly) }
		got, err := service.read(t, api.TransactionFilter{})
		if (err == nil) != test.ends || len(got) != test.read {
			t.Errorf("%+v: %d transactions, %v", test, len(got), err)
		}
	}
}

// Pages are read one after the other, as far as they are wanted.
func TestTransactionPagesAreReadAsTheyAreWanted(t *testing.T) {
	t.Parallel()
	service := &journal{count: 10_000}
	for _, err := range newClient(t, service).Transactions(t.Context(), api.TransactionFilter{}) {
		if err != nil || len(service.asked) != 1 {
			t.Errorf("asked %q for one transaction, %v", service.asked, err)
		}
		break
	}
	for _, test := range []struct{ size, arrive, requests int }{
		{size: 100, requests: 101},
		{size: 100, arrive: 100, requests: 103}, // one more page, and a look at the front
		{size: 100, arrive: 50, requests: 102},
		{size: 300, requests: 35},
		{size: 1000, requests: 11},
	} {
		service := &journal{count: 10_000, size: test.size, grow: func(n int) int { return map[int]int{2: test.arrive}[n] }}
		got, err := service.read(t, api.TransactionFilter{})
		if err != nil || len(got) < 10_000 || len(service.asked) != test.requests {
			t.Errorf("%+v: %d transactions by %d requests, %v", test, len(got), len(service.asked), err)
		}
	}
}

// A parameter that is refused is left out, and not sent again.
func TestTransactionsAreAskedForAsTheServiceWants(t *testing.T) {
	t.Parallel()
	march := api.TransactionFilter{From: time.Date(2026, 3, 1, 2, 0, 0, 0, time.FixedZone("", 7200)), To: time.Date(2026, 4, 1, 0, 0, 0, -1, time.UTC)}
	const times, dates = "from=2026-02-28T23:59:59Z&page=1&%sto=2026-04-01T00:00:01Z", "from=2026-02-28&page=1&%sto=2026-04-01"
	perPage := func(query url.Values) bool { return query.Has("per_page") }
	instants := func(query url.Values) bool { return len(query.Get("from")+query.Get("to")) > 20 }
	either := func(query url.Values) bool { return perPage(query) || instants(query) }
	for name, test := range map[string]struct {
		refuses func(url.Values) bool
		invalid int
		filter  api.TransactionFilter
		last    string // what it comes to
		calls   int    // until then
	}{
		"anything goes":               {nil, 400, march, fmt.Sprintf(times, "per_page=100&"), 1},
		"no per_page":                 {perPage, 400, march, fmt.Sprintf(times, ""), 2},
		"no per_page, without period": {perPage, 400, api.TransactionFilter{}, "page=1", 2},
		"no times":                    {instants, 400, march, fmt.Sprintf(dates, "per_page=100&"), 3},
		"neither, by 422":             {either, 422, march, fmt.Sprintf(dates, ""), 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &journal{refuses: test.refuses, invalid: test.invalid}
			client := newClient(t, service)
			for range 2 {
				if err := lastError(client.Transactions(t.Context(), test.filter)); err != nil {
					t.Error(err)
				}
			}
			last, _ := url.QueryUnescape(service.asked[len(service.asked)-1].Encode())
			if last != test.last || len(service.asked) != test.calls+1 {
				t.Errorf("after %d calls %s is asked for, want %s after %d", len(service.asked), last, test.last, test.calls+1)
			}
		})
	}
	all := &journal{count: 30, size: 25, refuses: perPage}
	if got, err := all.read(t, api.TransactionFilter{CardID: "card_1"}); err != nil || len(got) != 30 {
		t.Errorf("%d transactions of two pages, %v", len(got), err)
	}
	wrong := &journal{refuses: func(url.Values) bool { return true }}
	if _, err := wrong.read(t, api.TransactionFilter{CardID: "card_x"}); err == nil || !strings.Contains(err.Error(), "refusal 1") || len(wrong.asked) != 2 {
		t.Errorf("%v after %d requests, want the first refusal after two", err, len(wrong.asked))
	}
}

// The card, the period and the type are applied to what a service shows too much.
func TestFiltersAreAppliedAgain(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, at := range []string{"2026-04-01T00:00:00Z", "2026-03-31T23:59:59.999", "2026-03-31T23:59:59.5Z", "yesterday", "2026-03-01T00:00:00Z", "2026-03-01 00:00:00", "2026-03-01T01:00:00+02:00", "2026-02-28T23:59:59.999Z"} {
		rows = append(rows, fmt.Sprintf(`{"id":%q,"card_id":"card_1","type":"settlement","amount":1,"created_at":%q}`, strings.ReplaceAll(at, " ", "_"), at))
	}
	for _, its := range [][2]string{{"another", `"refund"`}, {"unreadable", "7"}, {"own_word", `"capture"`}} {
		rows = append(rows, fmt.Sprintf(`{"id":%q,"card_id":"card_1","type":%s,"amount":1,"created_at":"2026-03-01T00:00:00Z"}`, its[0], its[1]))
	}
	for _, its := range [][2]string{{"other_card", `"card_2"`}, {"without_card", "null"}, {"spaced_card", `"card_1 "`}, {"loud_card", `"CARD_1"`}} {
		id, card := its[0], its[1]
		rows = append(rows, fmt.Sprintf(`{"id":%q,"card_id":%s,"type":"settlement","amount":1,"created_at":"2026-03-01T00:00:00Z"}`, id, card))
	}
	client := newClient(t, respond(200, `{"data":[`+strings.Join(rows, ",")+`],"page":1}`))
	filter := api.TransactionFilter{CardID: "card_1", Type: api.TransactionSettlement, From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 4, 1, 0, 0, 0, -1, time.UTC)}
	var got []string
	for transaction, err := range client.Transactions(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, transaction.ID)
	}
	if want := []string{"2026-03-31T23:59:59.999", "2026-03-31T23:59:59.5Z", "yesterday", "2026-03-01T00:00:00Z", "2026-03-01_00:00:00", "unreadable", "own_word", "without_card", "spaced_card", "loud_card"}; !slices.Equal(got, want) {
		t.Errorf("selected %q, want %q", got, want)
	}
}

func TestTransactionAmounts(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"type":"refund","amount":-157.20,"fee":0`:                                "refund of 157.20 USD, fee 0.00",
		`"type":"settlement","amount":"-20.5","currency":"USD","fee":-0.3`:        "settlement of 20.50 USD, fee 0.30",
		`"type":"settlement","amount":60.300000000000004,"currency":"USD"`:        "settlement of 60.30 USD, fee 0.00",
		`"type":"SETTLEMENT","amount":3,"currency":"usd"`:                         "settlement of 3.00 USD, fee 0.00",
		`"type":"settlement","amount":1,"currency":"USD","fee":0.003`:             "settlement of 1.00 USD, fee 0.003",
		`"type":"settlement","amount":1.234,"currency":"KWD","fee":null`:          "settlement of 1.234 KWD, fee 0.00",
		`"type":"settlement","amount":0.0000000001,"currency":"BTC","fee":"1e-9"`: "settlement of 0.0000000001 BTC, fee 0.000000001",
		`"type":"settlement","amount":1,"merchant":"Ads","created_at":7`:          "settlement of 1.00 USD, fee 0.00",
		`"type":"settlement","amount":"1,50"`:                                     `amount is "1,50": not a decimal number`,
		`"type":"settlement","amount":{"value":1}`:                                "amount is \"{\\\"value\\\":1}\": not a decimal number",
		`"type":"settlement","fee":1`:                                             "amount is missing",
		`"type":7,"amount":1`:                                                     "type is a JSON number",
	} {
		var got []string
		body := `{"data":[{"id":"txn_1","card_id":"card_1",` + fields + `},{"id":"txn_2","type":"refund","amount":1}],"page":1}`
		for transaction, err := range newClient(t, respond(200, body)).Transactions(t.Context(), api.TransactionFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%s of %s %s, fee %s", transaction.Type, transaction.Amount, transaction.Currency, transaction.Fee)
			if transaction.Problem != "" {
				var isUnread bool
				if text, isUnread = strings.CutPrefix(transaction.Problem, "transaction txn_1 cannot be read: the response does not have the documented shape: "); !isUnread || transaction.Amount.String() != "0.00" {
					t.Errorf("%+v", transaction)
				}
			}
			got = append(got, text)
		}
		if want := []string{want, "refund of 1.00 USD, fee 0.00"}; !slices.Equal(got, want) {
			t.Errorf("%s is read as\n%q, want\n%q", fields, got, want)
		}
	}
}
