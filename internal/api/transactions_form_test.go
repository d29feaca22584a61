package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// picky lists no transactions, and refuses what its fields name with a 400.
type picky struct {
	perPage, times, everything bool
	status                     int
	asked                      []url.Values
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	p.asked = append(p.asked, query)
	if p.everything || p.perPage && query.Has("per_page") || p.times && len(query.Get("from")+query.Get("to")) > 20 {
		write(w, p.status, map[string]string{"error": "invalid_request", "message": fmt.Sprintf("refusal %d", len(p.asked))})
		return
	}
	write(w, 200, map[string]any{"data": []any{}, "page": 1})
}

// A parameter that is refused is left out, and not sent again.
func TestTransactionsAreAskedForAsTheServiceWants(t *testing.T) {
	t.Parallel()
	march := api.TransactionFilter{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 4, 1, 0, 0, 0, -1, time.UTC)}
	const times, dates = "from=2026-02-28T23:59:59Z&page=1&%sto=2026-04-01T00:00:01Z", "from=2026-02-28&page=1&%sto=2026-04-01"
	for name, test := range map[string]struct {
		service picky
		filter  api.TransactionFilter
		last    string // what it comes to
		calls   int    // until then
	}{
		"anything goes":               {picky{}, march, fmt.Sprintf(times, "per_page=100&"), 1},
		"no per_page":                 {picky{perPage: true, status: 400}, march, fmt.Sprintf(times, ""), 2},
		"no per_page, without period": {picky{perPage: true, status: 400}, api.TransactionFilter{}, "page=1", 2},
		"no times":                    {picky{times: true, status: 400}, march, fmt.Sprintf(dates, "per_page=100&"), 3},
		"neither, by 422":             {picky{perPage: true, times: true, status: 422}, march, fmt.Sprintf(dates, ""), 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, &test.service)
			for range 2 {
				for _, err := range client.Transactions(t.Context(), test.filter) {
					t.Error(err)
				}
			}
			last, _ := url.QueryUnescape(test.service.asked[len(test.service.asked)-1].Encode())
			if last != test.last || len(test.service.asked) != test.calls+1 {
				t.Errorf("after %d calls %s is asked for, want %s after %d", len(test.service.asked), last, test.last, test.calls+1)
			}
		})
	}
	t.Run("no per_page, in two pages", func(t *testing.T) {
		t.Parallel()
		service := newFakeService()
		card := service.add(api.CardListItem{})
		for range 30 {
			service.spend(card, api.TransactionSettlement, usd.Dollar, 0)
		}
		read := 0
		for _, err := range newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("per_page") {
				respond(400, `{"error":"invalid_request","message":"no"}`)(w, r)
				return
			}
			service.ServeHTTP(w, r)
		})).Transactions(t.Context(), api.TransactionFilter{CardID: card.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			read++
		}
		if read != 30 {
			t.Errorf("%d transactions", read)
		}
	})
	t.Run("what is wrong itself", func(t *testing.T) {
		t.Parallel()
		service := &picky{everything: true, status: 400}
		for _, err := range newClient(t, service).Transactions(t.Context(), api.TransactionFilter{CardID: "card_x"}) {
			if err == nil || !strings.Contains(err.Error(), "refusal 1") {
				t.Errorf("%v, want the first refusal", err)
			}
		}
		if len(service.asked) != 2 {
			t.Errorf("asked %d times", len(service.asked))
		}
	})
}

// The period is applied to what a service shows too much.
func TestPeriodIsApplied(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, at := range []string{"2026-04-01T00:00:00Z", "2026-03-31T23:59:59.999", "2026-03-31T23:59:59.5Z", "yesterday", "2026-03-01T00:00:00Z", "2026-03-01 00:00:00", "2026-03-01T01:00:00+02:00", "2026-02-28T23:59:59.999Z"} {
		rows = append(rows, fmt.Sprintf(`{"id":%q,"card_id":"card_1","type":"settlement","amount":1,"created_at":%q}`, strings.ReplaceAll(at, " ", "_"), at))
	}
	client := newClient(t, respond(200, `{"data":[`+strings.Join(rows, ",")+`],"page":1}`))
	filter := api.TransactionFilter{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 4, 1, 0, 0, 0, -1, time.UTC)}
	var got []string
	for transaction, err := range client.Transactions(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, transaction.ID)
	}
	if want := []string{"2026-03-31T23:59:59.999", "2026-03-31T23:59:59.5Z", "yesterday", "2026-03-01T00:00:00Z", "2026-03-01_00:00:00"}; !slices.Equal(got, want) {
		t.Errorf("selected %q, want %q", got, want)
	}
}

func TestTransactionAmounts(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"type":"refund","amount":-157.20,"fee":0`:                                "157.20 USD, fee 0.00",
		`"type":"settlement","amount":"-20.5","currency":"USD","fee":-0.3`:        "20.50 USD, fee 0.30",
		`"type":"settlement","amount":60.300000000000004,"currency":"USD"`:        "60.30 USD, fee 0.00",
		`"type":"SETTLEMENT","amount":3,"currency":"usd"`:                         "3.00 USD, fee 0.00",
		`"type":"settlement","amount":1,"currency":"USD","fee":0.003`:             "1.00 USD, fee 0.003",
		`"type":"settlement","amount":1.234,"currency":"KWD","fee":null`:          "1.234 KWD, fee 0.00",
		`"type":"settlement","amount":0.0000000001,"currency":"BTC","fee":"1e-9"`: "0.0000000001 BTC, fee 0.000000001",
		`"type":"settlement","amount":1,"merchant":"Ads","created_at":7`:          "1.00 USD, fee 0.00",
		`"type":"settlement","amount":"1,50"`:                                     `0.00 USD, fee 0.00: transaction txn_1 cannot be read: the response does not have the documented shape: amount is "1,50": not a decimal number`,
		`"type":"settlement","amount":{"value":1}`:                                "0.00 USD, fee 0.00: transaction txn_1 cannot be read: the response does not have the documented shape: amount is \"{\\\"value\\\":1}\": not a decimal number",
		`"type":"settlement","fee":1`:                                             "0.00 USD, fee 0.00: transaction txn_1 cannot be read: the response does not have the documented shape: amount missing",
		`"type":7,"amount":1`:                                                     "0.00 USD, fee 0.00: transaction txn_1 cannot be read: the response does not have the documented shape: type is a JSON number",
	} {
		var got []string
		body := `{"data":[{"id":"txn_1","card_id":"card_1",` + fields + `},{"id":"txn_2","type":"refund","amount":1}],"page":1}`
		for transaction, err := range newClient(t, respond(200, body)).Transactions(t.Context(), api.TransactionFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%s %s, fee %s", transaction.Amount, transaction.Currency, transaction.Fee)
			if transaction.Problem != "" {
				text += ": " + transaction.Problem
			}
			if transaction.Type != api.TransactionSettlement && transaction.Type != api.TransactionRefund && transaction.Problem == "" {
				t.Errorf("%s is a %s", fields, transaction.Type)
			}
			got = append(got, text)
		}
		if want := []string{want, "1.00 USD, fee 0.00"}; !slices.Equal(got, want) {
			t.Errorf("%s is read as\n%q, want\n%q", fields, got, want)
		}
	}
}

// What cannot be read and goes the other way is named, and never stops money.
func TestOddTransactionsNeverStopMoney(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		odd        map[string]any
		unreadable bool
	}{
		"a fee below a cent":      {odd: map[string]any{"type": "authorization", "amount": 5, "currency": "USD", "fee": 0.003}},
		"another currency":        {odd: map[string]any{"type": "settlement", "amount": "1.234", "currency": "KWD"}, unreadable: true},
		"no amount":               {odd: map[string]any{"type": "authorization"}, unreadable: true},
		"an amount of two fields": {odd: map[string]any{"type": "authorization", "amount": map[string]any{"value": 5}}, unreadable: true},
		"signed":                  {odd: map[string]any{"type": "authorization", "amount": -5, "fee": -1, "currency": "USD"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newFakeService()
			card := service.add(api.CardListItem{BinID: "bin_1", Balance: 95 * usd.Dollar})
			test.odd["id"], test.odd["card_id"], test.odd["created_at"] = "txn_odd", card.ID, service.clock.Now().Format(time.RFC3339)
			service.history = append(service.history, test.odd)
			record := reconcile.IssuedRecord(100*usd.Dollar, service.clock.Now().Add(-time.Hour))
			moved, err := service.client(t).Move(t.Context(), move(card.ID, 20*usd.Dollar, &record))
			if err != nil || moved.CardBalance != 115*usd.Dollar || len(service.keys()) != 1 {
				t.Errorf("%+v, %v after %d requests", moved, err, len(service.keys()))
			}
			if isNamed := moved.Ignored != "" && moved.LeftOver == -5*usd.Dollar; isNamed != test.unreadable || service.clock.total() > 30*time.Second {
				t.Errorf("%+v after %s", moved, service.clock.total())
			}
		})
	}
}

// What the wallet holds says nothing about a movement.
func TestWalletBalanceOfAnyForm(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		`9948.001234`: "9948.001234", `"9948.5"`: "9948.50", `9948.100000000000003`: "9948.100000000000003",
		`null`: "<nil>", `"n/a"`: "<nil>", `{"usdt":1}`: "<nil>", ``: "<nil>",
	} {
		service := newFakeService()
		card := service.add(api.CardListItem{BinID: "bin_1", Balance: 50 * usd.Dollar})
		if form != "" {
			form = `,"wallet_balance":` + form
		}
		client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				service.give(card, 10*usd.Dollar)
				_, _ = fmt.Fprintf(w, `{"card_id":%q,"card_balance":60%s}`, card.ID, form)
				return
			}
			service.ServeHTTP(w, r)
		}), on(service.clock))
		moved, err := client.Move(t.Context(), move(card.ID, 10*usd.Dollar, nil))
		if err != nil || moved.Recovered || moved.CardBalance != 60*usd.Dollar || fmt.Sprint(moved.WalletBalance) != want || service.clock.total() != 0 {
			t.Errorf("%s: %+v, %v after %s", form, moved, err, service.clock.total())
		}
	}
}
