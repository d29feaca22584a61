package transaction_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func (e event) shown() knownvalue.Check {
	return knownvalue.ObjectExact(map[string]knownvalue.Check{
		"id": knownvalue.StringExact(e.ID), "card_id": knownvalue.StringExact(e.CardID), "type": knownvalue.StringExact(e.Type),
		"amount": acctest.Exactly(e.Amount.String()), "fee": acctest.Exactly(e.Fee.String()), "currency": knownvalue.StringExact(e.Currency),
		"merchant": knownvalue.ObjectExact(map[string]knownvalue.Check{
			"name": knownvalue.StringExact(e.Merchant.Name), "mcc": knownvalue.StringExact(e.Merchant.MCC),
		}),
		"created_at": knownvalue.StringExact(e.CreatedAt),
	})
}

// sums are those of one currency: authorized, settled, refunded, declined, fees and net
// spend, then the counts of authorizations, settlements, refunds and declines.
func sums(text string, more ...string) knownvalue.Check {
	all := strings.Fields(text)
	counts := map[string]knownvalue.Check{}
	for i, kind := range []string{"authorization", "settlement", "refund", "decline"} {
		counts[kind] = acctest.Exactly(all[6+i])
	}
	for _, kind := range more {
		counts[kind] = acctest.Exactly("1")
	}
	of := map[string]knownvalue.Check{"counts": knownvalue.MapExact(counts)}
	for i, field := range []string{"authorized", "settled", "refunded", "declined", "fees", "net_spend"} {
		of[field] = acctest.Exactly(all[i])
	}
	return knownvalue.ObjectExact(of)
}

// spent is a service with two cards that were used: one settled and partly
// refunded, the other authorized and declined. The transactions are the newest first.
func spent(t *testing.T) (s *acctest.Service, cards []string, newest []event) {
	t.Helper()
	s = acctest.Start(t, contract.RequestsOnly()) // on 15 March, at noon
	cards = []string{s.Issue("100"), s.Issue("50"), s.Issue("50")}
	authorization := s.Authorize(cards[0], "40.10", "7311").Transaction()
	settlement := s.Settle(authorization, "35.05").Transaction()
	s.Refund(settlement, "10.01").Transaction()
	s.Authorize(cards[1], "20", "7311").Transaction()
	s.Authorize(cards[1], "30.01", "7311").Transaction()
	s.AddQuirks(map[string]any{"transaction_signs": "unsigned", "timestamps": "utc"})
	var shown struct{ Data []event }
	s.Get("/transactions").Into(&shown)
	return s, cards, shown.Data
}

// The list and the sums are the same in whatever way the service writes amounts.
func TestTransactions(t *testing.T) {
	t.Parallel()
	s, cards, newest := spent(t)
	const (
		firstCard  = "40.1 35.05 10.01 0 0 25.04  1 1 1 0"
		secondCard = "20 0 0 30.01 0 0  1 0 0 1"
	)
	listed := []knownvalue.Check{}
	for _, one := range newest {
		listed = append(listed, one.shown())
	}
	config := s.Provider()
	var checks []statecheck.StateCheck
	for i, c := range []struct {
		filters string
		list    []knownvalue.Check
		byCard  map[string]string
	}{
		{``, listed, map[string]string{cards[0]: firstCard, cards[1]: secondCard}},
		{`max_results = 4`, listed[:4], map[string]string{cards[0]: firstCard, cards[1]: secondCard}},
		{`max_results = 5`, listed, map[string]string{cards[0]: firstCard, cards[1]: secondCard}},
		{fmt.Sprintf(`card_id = %q`, cards[1]), listed[:2], map[string]string{cards[1]: secondCard}},
		{fmt.Sprintf(`card_id = %q`, cards[2]), listed[:0], map[string]string{}},
		{`card_id = "card_none"`, listed[:0], map[string]string{}},
		{`type = "decline"`, listed[:1], map[string]string{cards[1]: "0 0 0 30.01 0 0  0 0 0 1"}},
		{`type = "refund"`, listed[2:3], map[string]string{cards[0]: "0 0 10.01 0 0 -10.01  0 0 1 0"}},
		{fmt.Sprintf("type = \"settlement\"\n card_id = %q", cards[0]), listed[3:4], map[string]string{cards[0]: "0 35.05 0 0 0 35.05  0 1 0 0"}},
	} {
		config += fmt.Sprintf("data %q \"test%d\" {\n %s\n}\n", typeName, i, c.filters)
		byCard := map[string]knownvalue.Check{}
		for card, of := range c.byCard {
			byCard[card] = knownvalue.ObjectExact(map[string]knownvalue.Check{
				"summary": knownvalue.MapExact(map[string]knownvalue.Check{"USD": sums(of)}),
			})
		}
		address := fmt.Sprintf("data.%s.test%d", typeName, i)
		checks = append(checks,
			acctest.Is(address, "transactions", knownvalue.ListExact(c.list)),
			acctest.Is(address, "truncated", knownvalue.Bool(c.filters == "max_results = 4")),
			acctest.Is(address, "by_card", knownvalue.MapExact(byCard)))
	}
	checks = append(checks, statecheck.ExpectKnownValue("data."+typeName+".test0", tfjsonpath.New("summary"),
		knownvalue.MapExact(map[string]knownvalue.Check{"USD": sums("60.1 35.05 10.01 30.01 0 25.04  2 1 1 1")})))
	steps := []resource.TestStep{{Config: config, ConfigStateChecks: checks}}
	for _, quirks := range []map[string]any{
		{"transaction_signs": "refunds"},
		{"transaction_signs": "spending", "amounts": "floats"},
		{"amounts": "strings", "transaction_signs": "refunds"},
	} {
		steps = append(steps, resource.TestStep{PreConfig: func() { s.AddQuirks(quirks) }, Config: config, ConfigStateChecks: checks})
	}
	resource.Test(t, acctest.Life(t, steps...))
}

// A day is that whole day, whatever the service takes a date for.
func TestDays(t *testing.T) {
	t.Parallel()
	s, cards, newest := spent(t)
	s.Advance("48h")
	s.Authorize(cards[0], "5", "7311").Transaction()
	config := s.Provider()
	var checks []statecheck.StateCheck
	for i, c := range []struct {
		filters string
		want    int
	}{
		{`from = "2026-03-15"` + "\n" + `to = "2026-03-15"`, len(newest)},
		{`to = "2026-03-15"`, len(newest)},
		{`from = "2026-03-15T11:59:59Z"` + "\n" + `to = "2026-03-15T18:00:00+02:00"`, len(newest)},
		{`to = "2026-03-14"`, 0},
		{`from = "2026-03-16"`, 1},
		{`to = "2026-03-15T11:59:59Z"`, 0},
		{`from = "2026-03-15T16:00:00Z"`, 1},
		{`from = "2026-03-17"`, 1},
		{`to = "2026-03-17"`, len(newest) + 1},
		{`to = "2026-03-17T00:00:00Z"`, len(newest)},
		{`from = "2026-03-17T00:00:01Z"` + "\n" + `to = "2026-03-17"`, 1},
		{`from = "2026-03-17T14:00:00+14:00"`, 1},
	} {
		config += fmt.Sprintf("data %q \"test%d\" {\n %s\n}\n", typeName, i, c.filters)
		checks = append(checks, acctest.Is(fmt.Sprintf("data.%s.test%d", typeName, i), "transactions", knownvalue.ListSizeExact(c.want)))
	}
	var steps []resource.TestStep
	for _, period := range []string{"days", "midnights", "dates_only"} {
		period := map[string]any{"transaction_period": period}
		steps = append(steps, resource.TestStep{PreConfig: func() { s.AddQuirks(period) }, Config: config, ConfigStateChecks: checks})
	}
	resource.Test(t, acctest.Life(t, steps...))
}

// Each currency has sums of its own, exact to their last decimal.
func TestSummaryByCurrency(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	var rows []string
	for i, row := range []struct{ kind, currency, amount, fee string }{
		{"settlement", "USD", "0.10", "0.01"},
		{"settlement", "USD", "0.20", "0.02"},
		{"refund", "USD", "0.05", "0"},
		{"chargeback", "USD", "7", "15.00"}, // not a documented type
		{"settlement", "EUR", "100000000.01", "0"},
		{"decline", "EUR", "3", "0.30"},
		{"settlement", "KWD", "12.345", "0.001"},
		{"settlement", "JPY", `{"value": 5}`, "1"}, // cannot be read, and leaves the others readable
	} {
		const form = `{"id":"txn_%d","card_id":"card_1","type":%q,"amount":%s,"currency":%q,"fee":%s,"merchant":{"name":"A","mcc":"7311"},` +
			`"created_at":"2026-03-01T00:00:00Z"}`
		rows = append(rows, fmt.Sprintf(form, i, row.kind, row.amount, row.currency, row.fee))
	}
	body := `{"data":[` + strings.Join(rows, ",") + `],"page":1}`
	s.Fault(map[string]any{"method": "GET", "path": "/transactions", "times": 0, "then": map[string]any{"status": 200, "body": body}})
	all := map[string]knownvalue.Check{
		"USD": sums("0 0.3 0.05 0 15.03 15.28  0 2 1 0", "chargeback"),
		"EUR": sums("0 100000000.01 0 3 0.3 100000000.31  0 1 0 1"),
		"KWD": sums("0 12.345 0 0 0.001 12.346  0 1 0 0"),
	}
	const address = "data." + typeName + ".test"
	unread := tfjsonpath.New("transactions").AtSliceIndex(len(rows) - 1).AtMapKey("amount")
	resource.Test(t, acctest.Life(t, resource.TestStep{
		Config: s.Provider() + fmt.Sprintf("data %q \"test\" {}", typeName),
		ConfigStateChecks: []statecheck.StateCheck{
			acctest.Is(address, "summary", knownvalue.MapPartial(all)),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("by_card").AtMapKey("card_1").AtMapKey("summary"), knownvalue.MapPartial(all)),
			statecheck.ExpectKnownValue(address, unread, knownvalue.Null()),
		},
	}))
}

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// history configures the provider with a service of this many transactions in pages of a
// thousand, of so many cards, in two currencies and with a type that is not documented.
// It calls asked before each page.
func history(t testing.TB, count, cards int, asked func()) *acctest.Protocol {
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
				count-i, i%cards, types[i%len(types)], i%997, i%100, []string{"USD", "EUR"}[i%2], i%3, i%200, 59-i*59/count, i%1000)
		}
		_, _ = fmt.Fprintf(out, `],"page":%d}`, page)
		_ = out.Flush()
	}))
	t.Cleanup(service.Close)
	return acctest.Configure(t, acctest.Object{"api_key": "sk_live_test", "base_url": service.URL + "/api/v1"})
}

// All of a hundred thousand transactions are summed up, and a thousand of them are listed.
func TestManyTransactions(t *testing.T) {
	t.Parallel()
	read, diags := history(t, 100_000, 50, func() {}).ReadDataSource(typeName, acctest.Object{})
	diags.Must(t)
	list, _ := read["transactions"].([]any)
	if summed := strings.Count(fmt.Sprint(read["summary"]), ":10000"); len(list) != 1000 || summed != 10 || read["truncated"] != true {
		t.Errorf("%d are listed, and the sums are %v", len(list), read["summary"])
	}
}

// What is kept for each card has an end, though the list of transactions need not. The last of
// these is one too many: every fifth has a type that is not documented.
func TestTransactionsOfTooManyCards(t *testing.T) {
	t.Parallel()
	_, diags := history(t, 41_665, 41_664, func() {}).ReadDataSource(typeName, acctest.Object{})
	sandboxtest.Says(t, "the error", diags.Errors(), "more than 50000 cards, currencies and types", "shorter period")
}
