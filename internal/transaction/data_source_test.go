package transaction_test

import (
	"bufio"
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

func TestTitles(t *testing.T) {
	t.Parallel()
	acctest.CheckTitles(t, []string{
		titlePeriod,
		"Too many totals to compute",
		"Unreadable transactions",
	})
}

const titlePeriod = "from is later than to"

// event is a transaction as the service shows it.
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

// listed expects these transactions, in this order.
func listed(events ...event) knownvalue.Check {
	list := []knownvalue.Check{}
	for _, e := range events {
		list = append(list, knownvalue.ObjectExact(map[string]knownvalue.Check{
			"id":       knownvalue.StringExact(e.ID),
			"card_id":  knownvalue.StringExact(e.CardID),
			"type":     knownvalue.StringExact(e.Type),
			"amount":   acctest.Exactly(e.Amount.String()),
			"fee":      acctest.Exactly(e.Fee.String()),
			"currency": knownvalue.StringExact(e.Currency),
			"merchant": knownvalue.ObjectExact(map[string]knownvalue.Check{
				"name": knownvalue.StringExact(e.Merchant.Name),
				"mcc":  knownvalue.StringExact(e.Merchant.MCC),
			}),
			"created_at": knownvalue.StringExact(e.CreatedAt),
		}))
	}
	return knownvalue.ListExact(list)
}

// sums are those of one currency. An amount that is left out is 0.
type sums struct {
	authorized, settled, refunded, declined, fees, netSpend     string
	authorizations, settlements, refunds, declines, chargebacks int64
}

func (s sums) check() knownvalue.Check {
	amount := func(text string) knownvalue.Check { return acctest.Exactly(cmp.Or(text, "0")) }
	counts := map[string]knownvalue.Check{
		"authorization": knownvalue.Int64Exact(s.authorizations),
		"settlement":    knownvalue.Int64Exact(s.settlements),
		"refund":        knownvalue.Int64Exact(s.refunds),
		"decline":       knownvalue.Int64Exact(s.declines),
	}
	if s.chargebacks > 0 { // a type that is not documented
		counts["chargeback"] = knownvalue.Int64Exact(s.chargebacks)
	}
	return knownvalue.ObjectExact(map[string]knownvalue.Check{
		"counts":     knownvalue.MapExact(counts),
		"authorized": amount(s.authorized),
		"settled":    amount(s.settled),
		"refunded":   amount(s.refunded),
		"declined":   amount(s.declined),
		"fees":       amount(s.fees),
		"net_spend":  amount(s.netSpend),
	})
}

// byCard expects sums in USD for each of these cards, and no others.
func byCard(cards map[string]sums) knownvalue.Check {
	all := map[string]knownvalue.Check{}
	for card, s := range cards {
		all[card] = knownvalue.ObjectExact(map[string]knownvalue.Check{
			"summary": knownvalue.MapExact(map[string]knownvalue.Check{"USD": s.check()}),
		})
	}
	return knownvalue.MapExact(all)
}

// spent is a service with three cards. The first has a purchase that was settled and partly refunded, the second an
// authorization and a decline. The transactions are the newest first.
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
func TestAccTransactionsDataSource(t *testing.T) {
	t.Parallel()
	s, cards, newest := spent(t)
	first := sums{authorized: "40.1", settled: "35.05", refunded: "10.01", netSpend: "25.04", authorizations: 1, settlements: 1, refunds: 1}
	second := sums{authorized: "20", declined: "30.01", authorizations: 1, declines: 1}
	total := sums{
		authorized: "60.1", settled: "35.05", refunded: "10.01", declined: "30.01", netSpend: "25.04",
		authorizations: 2, settlements: 1, refunds: 1, declines: 1,
	}
	config := s.ProviderConfig() + fmt.Sprintf(`
		data "vcard_transactions" "all" {}
		data "vcard_transactions" "four" {
			max_results = 4
		}
		data "vcard_transactions" "five" {
			max_results = 5
		}
		data "vcard_transactions" "second_card" {
			card_id = %[2]q
		}
		data "vcard_transactions" "unused_card" {
			card_id = %[3]q
		}
		data "vcard_transactions" "no_card" {
			card_id = "card_none"
		}
		data "vcard_transactions" "declines" {
			type = "decline"
		}
		data "vcard_transactions" "refunds" {
			type = "refund"
		}
		data "vcard_transactions" "settlements_of_first" {
			type    = "settlement"
			card_id = %[1]q
		}`, cards[0], cards[1], cards[2])
	checks := []statecheck.StateCheck{
		statecheck.ExpectKnownValue("data.vcard_transactions.all", tfjsonpath.New("transactions"), listed(newest...)),
		statecheck.ExpectKnownValue("data.vcard_transactions.all", tfjsonpath.New("truncated"), knownvalue.Bool(false)),
		statecheck.ExpectKnownValue("data.vcard_transactions.all", tfjsonpath.New("by_card"), byCard(map[string]sums{cards[0]: first, cards[1]: second})),
		statecheck.ExpectKnownValue("data.vcard_transactions.all", tfjsonpath.New("summary"), knownvalue.MapExact(map[string]knownvalue.Check{"USD": total.check()})),

		// max_results shortens the list, and not the sums
		statecheck.ExpectKnownValue("data.vcard_transactions.four", tfjsonpath.New("transactions"), listed(newest[:4]...)),
		statecheck.ExpectKnownValue("data.vcard_transactions.four", tfjsonpath.New("truncated"), knownvalue.Bool(true)),
		statecheck.ExpectKnownValue("data.vcard_transactions.four", tfjsonpath.New("by_card"), byCard(map[string]sums{cards[0]: first, cards[1]: second})),
		statecheck.ExpectKnownValue("data.vcard_transactions.five", tfjsonpath.New("transactions"), listed(newest...)),
		statecheck.ExpectKnownValue("data.vcard_transactions.five", tfjsonpath.New("truncated"), knownvalue.Bool(false)),
		statecheck.ExpectKnownValue("data.vcard_transactions.five", tfjsonpath.New("by_card"), byCard(map[string]sums{cards[0]: first, cards[1]: second})),

		statecheck.ExpectKnownValue("data.vcard_transactions.second_card", tfjsonpath.New("transactions"), listed(newest[:2]...)),
		statecheck.ExpectKnownValue("data.vcard_transactions.second_card", tfjsonpath.New("truncated"), knownvalue.Bool(false)),
		statecheck.ExpectKnownValue("data.vcard_transactions.second_card", tfjsonpath.New("by_card"), byCard(map[string]sums{cards[1]: second})),
		statecheck.ExpectKnownValue("data.vcard_transactions.unused_card", tfjsonpath.New("transactions"), listed()),
		statecheck.ExpectKnownValue("data.vcard_transactions.unused_card", tfjsonpath.New("by_card"), byCard(nil)),
		statecheck.ExpectKnownValue("data.vcard_transactions.no_card", tfjsonpath.New("transactions"), listed()),
		statecheck.ExpectKnownValue("data.vcard_transactions.no_card", tfjsonpath.New("by_card"), byCard(nil)),

		statecheck.ExpectKnownValue("data.vcard_transactions.declines", tfjsonpath.New("transactions"), listed(newest[0])),
		statecheck.ExpectKnownValue("data.vcard_transactions.declines", tfjsonpath.New("by_card"), byCard(map[string]sums{
			cards[1]: {declined: "30.01", declines: 1},
		})),
		statecheck.ExpectKnownValue("data.vcard_transactions.refunds", tfjsonpath.New("transactions"), listed(newest[2])),
		statecheck.ExpectKnownValue("data.vcard_transactions.refunds", tfjsonpath.New("by_card"), byCard(map[string]sums{
			cards[0]: {refunded: "10.01", netSpend: "-10.01", refunds: 1},
		})),
		statecheck.ExpectKnownValue("data.vcard_transactions.settlements_of_first", tfjsonpath.New("transactions"), listed(newest[3])),
		statecheck.ExpectKnownValue("data.vcard_transactions.settlements_of_first", tfjsonpath.New("by_card"), byCard(map[string]sums{
			cards[0]: {settled: "35.05", netSpend: "35.05", settlements: 1},
		})),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config:            config,
				ConfigStateChecks: checks,
			},
			{
				PreConfig:         func() { s.AddQuirks(map[string]any{"transaction_signs": "refunds"}) },
				Config:            config,
				ConfigStateChecks: checks,
			},
			{
				PreConfig:         func() { s.AddQuirks(map[string]any{"transaction_signs": "spending", "amounts": "floats"}) },
				Config:            config,
				ConfigStateChecks: checks,
			},
			{
				PreConfig:         func() { s.AddQuirks(map[string]any{"transaction_signs": "refunds", "amounts": "strings"}) },
				Config:            config,
				ConfigStateChecks: checks,
			},
		},
	})
}

// A day is that whole day in UTC, whatever the service takes a date for.
func TestAccTransactionsDataSource_period(t *testing.T) {
	t.Parallel()
	s, cards, newest := spent(t) // 5 transactions on 15 March, at noon
	s.Advance("48h")
	s.Authorize(cards[0], "5", "7311").Transaction() // and one on 17 March, at noon
	const before, after = 5, 1
	if len(newest) != before {
		t.Fatalf("there are %d transactions, want %d", len(newest), before)
	}
	config := s.ProviderConfig() + `
		data "vcard_transactions" "first_day" {
			from = "2026-03-15"
			to   = "2026-03-15"
		}
		data "vcard_transactions" "up_to_first_day" {
			to = "2026-03-15"
		}
		data "vcard_transactions" "up_to_day_before" {
			to = "2026-03-14"
		}
		data "vcard_transactions" "from_day_after" {
			from = "2026-03-16"
		}
		data "vcard_transactions" "from_last_day" {
			from = "2026-03-17"
		}
		data "vcard_transactions" "up_to_last_day" {
			to = "2026-03-17"
		}
		data "vcard_transactions" "with_offset" {
			from = "2026-03-15T11:59:59Z"
			to   = "2026-03-15T18:00:00+02:00"
		}
		data "vcard_transactions" "up_to_second_before" {
			to = "2026-03-15T11:59:59Z"
		}
		data "vcard_transactions" "from_afternoon" {
			from = "2026-03-15T16:00:00Z"
		}
		data "vcard_transactions" "up_to_midnight" {
			to = "2026-03-17T00:00:00Z"
		}
		data "vcard_transactions" "time_to_day" {
			from = "2026-03-17T00:00:01Z"
			to   = "2026-03-17"
		}
		data "vcard_transactions" "from_midnight_with_offset" {
			from = "2026-03-17T14:00:00+14:00"
		}`
	checks := []statecheck.StateCheck{
		statecheck.ExpectKnownValue("data.vcard_transactions.first_day", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(before)),
		statecheck.ExpectKnownValue("data.vcard_transactions.up_to_first_day", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(before)),
		statecheck.ExpectKnownValue("data.vcard_transactions.up_to_day_before", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(0)),
		statecheck.ExpectKnownValue("data.vcard_transactions.from_day_after", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(after)),
		statecheck.ExpectKnownValue("data.vcard_transactions.from_last_day", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(after)),
		statecheck.ExpectKnownValue("data.vcard_transactions.up_to_last_day", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(before+after)),
		statecheck.ExpectKnownValue("data.vcard_transactions.with_offset", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(before)),
		statecheck.ExpectKnownValue("data.vcard_transactions.up_to_second_before", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(0)),
		statecheck.ExpectKnownValue("data.vcard_transactions.from_afternoon", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(after)),
		statecheck.ExpectKnownValue("data.vcard_transactions.up_to_midnight", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(before)),
		statecheck.ExpectKnownValue("data.vcard_transactions.time_to_day", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(after)),
		statecheck.ExpectKnownValue("data.vcard_transactions.from_midnight_with_offset", tfjsonpath.New("transactions"), knownvalue.ListSizeExact(after)),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				PreConfig:         func() { s.AddQuirks(map[string]any{"transaction_period": "days"}) },
				Config:            config,
				ConfigStateChecks: checks,
			},
			{
				PreConfig:         func() { s.AddQuirks(map[string]any{"transaction_period": "midnights"}) },
				Config:            config,
				ConfigStateChecks: checks,
			},
			{
				PreConfig:         func() { s.AddQuirks(map[string]any{"transaction_period": "dates_only"}) },
				Config:            config,
				ConfigStateChecks: checks,
			},
		},
	})
}

// Each currency has sums of its own, exact to their last decimal. A transaction that cannot be read is in no sum.
func TestAccTransactionsDataSource_currencies(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.Fault(map[string]any{"method": "GET", "path": "/transactions", "times": 0, "then": map[string]any{"status": 200, "body": `{"page": 1, "data": [
		{"id": "txn_0", "card_id": "card_1", "type": "settlement", "amount": 0.10, "currency": "USD", "fee": 0.01},
		{"id": "txn_1", "card_id": "card_1", "type": "settlement", "amount": 0.20, "currency": "USD", "fee": 0.02},
		{"id": "txn_2", "card_id": "card_1", "type": "refund", "amount": 0.05, "currency": "USD", "fee": 0},
		{"id": "txn_3", "card_id": "card_1", "type": "chargeback", "amount": 7, "currency": "USD", "fee": 15.00},
		{"id": "txn_4", "card_id": "card_1", "type": "settlement", "amount": 100000000.01, "currency": "EUR", "fee": 0},
		{"id": "txn_5", "card_id": "card_1", "type": "decline", "amount": 3, "currency": "EUR", "fee": 0.30},
		{"id": "txn_6", "card_id": "card_1", "type": "settlement", "amount": 12.345, "currency": "KWD", "fee": 0.001},
		{"id": "txn_7", "card_id": "card_1", "type": "settlement", "amount": {"value": 5}, "currency": "JPY", "fee": 1}
	]}`}})
	byCurrency := knownvalue.MapPartial(map[string]knownvalue.Check{
		"USD": sums{settled: "0.3", refunded: "0.05", fees: "15.03", netSpend: "15.28", settlements: 2, refunds: 1, chargebacks: 1}.check(),
		"EUR": sums{settled: "100000000.01", declined: "3", fees: "0.3", netSpend: "100000000.31", settlements: 1, declines: 1}.check(),
		"KWD": sums{settled: "12.345", fees: "0.001", netSpend: "12.346", settlements: 1}.check(),
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config: s.ProviderConfig() + `
				data "vcard_transactions" "test" {}`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("data.vcard_transactions.test", tfjsonpath.New("summary"), byCurrency),
				statecheck.ExpectKnownValue("data.vcard_transactions.test", tfjsonpath.New("by_card").AtMapKey("card_1").AtMapKey("summary"), byCurrency),
				statecheck.ExpectKnownValue("data.vcard_transactions.test", tfjsonpath.New("transactions").AtSliceIndex(7).AtMapKey("amount"), knownvalue.Null()),
			},
		}},
	})
}

// A mistake is reported before the service is asked.
func TestAccTransactionsDataSource_mistakes(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy: func(*terraform.State) error {
			if requests := s.Requests(); len(requests) > 0 {
				return fmt.Errorf("the service was asked: %v", requests)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" {
						from = "2026-03-02"
						to   = "2026-03-01"
					}`,
				ExpectError: acctest.Error(titlePeriod, `"2026-03-02"`, `"2026-03-01"`),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" { from = "yesterday" }`,
				ExpectError: acctest.Error("Invalid date or time", "from", `"yesterday"`),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" { to = "2026-02-30" }`,
				ExpectError: acctest.Error("Date or time out of range", "to", `"2026-02-30"`),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" { from = "2026-02-03T10:00:00" }`,
				ExpectError: acctest.Error("Time has no zone", `"2026-02-03T10:00:00"`),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" { type = "chargeback" }`,
				ExpectError: acctest.Error("Invalid Attribute Value Match", `"settlement"`, `"chargeback"`),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" { card_id = "txn_1" }`,
				ExpectError: acctest.Error("Invalid card id", `"txn_1"`),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" { max_results = 0 }`,
				ExpectError: acctest.Error("Number out of range", "between 1 and 10000", "got 0."),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" { max_results = 10001 }`,
				ExpectError: acctest.Error("Number out of range", "between 1 and 10000", "got 10001."),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_transactions" "test" { max_results = 10 / 3 }`,
				ExpectError: acctest.Error("Not a whole number", "between 1 and 10000", "got 3.333333333."),
			},
		},
	})
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
	read, diags := history(t, 100_000, 50, func() {}).ReadDataSource("vcard_transactions", acctest.Object{})
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
	_, diags := history(t, 41_665, 41_664, func() {}).ReadDataSource("vcard_transactions", acctest.Object{})
	sandboxtest.ContainsAll(t, "the error", diags.Errors(), "at most 50000 per data source", "shorter period")
}
