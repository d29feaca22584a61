package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestIssueCard(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	card := s.Post("/api/v1/cards", `{"bin_id":"bin_ads_mastercard_eu","amount":1e2,"label":"Käufe","spending_limit":500.5,
		"allowed_categories":["software","advertising","software"],"auto_freeze_at":10,
		"metadata":{"team":"ads","n":7,"on":true}}`).OK(http.StatusCreated)
	fields(t, card.Body, "id", "bin_id", "network", "last4", "status", "balance", "spending_limit", "label",
		"allowed_categories", "auto_freeze_at", "metadata", "created_at", "expires_at")
	for field, want := range map[string]string{
		"bin_id": "bin_ads_mastercard_eu", "network": "mastercard", "status": "active", "balance": "100.00",
		"spending_limit": "500.50", "label": "Käufe", "auto_freeze_at": "10.00",
		"created_at": "2026-03-15T12:00:00.000Z", "expires_at": "2029-03-31",
	} {
		if got := card.Text(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if got := fmt.Sprint(card.Body["allowed_categories"]); got != "[software advertising]" {
		t.Errorf("allowed_categories is %s", got)
	}
	if got := fmt.Sprint(card.Body["metadata"]); got != "map[n:7 on:true team:ads]" {
		t.Errorf("metadata is %s", got)
	}
	if !strings.HasPrefix(card.Text("id"), "card_") || len(card.Text("last4")) != 4 {
		t.Errorf("id or last4 of the wrong form: %s", card.Raw)
	}
	if got := s.Wallet().String(); got != "9899.00" {
		t.Errorf("the wallet holds %s after a load of 100 and a fee of 1", got)
	}
	if got := s.accountBalance("fees"); got != "1.00" {
		t.Errorf("fees are %s", got)
	}
	s.Balanced()
}

func TestIssueCardDefaults(t *testing.T) {
	t.Parallel()
	s := start(t)
	card := s.Post("/api/v1/cards", `{"bin_id":"bin_general_visa_eu","amount":50,"label":null,"auto_freeze_at":null}`).OK(201)
	if got := card.Text("spending_limit"); got != "5000.00" {
		t.Errorf("spending_limit is %s, want the BIN's maximum", got)
	}
	for _, part := range []string{`"label":""`, `"allowed_categories":[]`, `"auto_freeze_at":null`, `"metadata":{}`} {
		if !strings.Contains(card.Raw, part) {
			t.Errorf("%s is missing in %s", part, card.Raw)
		}
	}
}

func TestIssueCardRefuses(t *testing.T) {
	t.Parallel()
	keys := make([]string, 21)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":"v"`, i)
	}
	const bin = `"bin_id":"` + sandboxtest.BIN + `",`
	for name, c := range map[string]struct{ body, code, text string }{
		"no body":              {``, "invalid_request", "bin_id is required"},
		"no BIN":               {`{"amount":50}`, "invalid_request", "bin_id is required"},
		"unknown BIN":          {`{"bin_id":"bin_x","amount":50}`, "bin_not_found", "bin_x"},
		"BIN of another type":  {`{"bin_id":7,"amount":50}`, "invalid_request", "bin_id must be a string"},
		"no amount":            {`{"bin_id":"` + sandboxtest.BIN + `"}`, "invalid_request", "amount is required"},
		"amount null":          {`{` + bin + `"amount":null}`, "invalid_request", "amount is required"},
		"below the minimum":    {`{` + bin + `"amount":49.99}`, "invalid_request", "at least 50.00"},
		"negative":             {`{` + bin + `"amount":-50}`, "invalid_request", "at least 50.00"},
		"minus zero":           {`{` + bin + `"amount":-0}`, "invalid_request", "at least 50.00"},
		"three decimals":       {`{` + bin + `"amount":50.001}`, "invalid_request", "amount must have at most two decimals"},
		"a tiny exponent":      {`{` + bin + `"amount":1e-400}`, "invalid_request", "amount"},
		"amount as a string":   {`{` + bin + `"amount":"50"}`, "invalid_request", "amount must be a number"},
		"amount as an object":  {`{` + bin + `"amount":{"a":1}}`, "invalid_request", "amount must be a number"},
		"NaN":                  {`{` + bin + `"amount":NaN}`, "invalid_request", "not valid JSON"},
		"1e400":                {`{` + bin + `"amount":1e400}`, "invalid_request", "amount is out of range"},
		"1e999999999":          {`{` + bin + `"amount":1e999999999}`, "invalid_request", "amount is out of range"},
		"label of 65":          {`{` + bin + `"amount":50,"label":"` + strings.Repeat("ü", 65) + `"}`, "invalid_request", "label has 65 characters"},
		"limit above maximum":  {`{` + bin + `"amount":50,"spending_limit":50000.01}`, "invalid_request", "spending_limit"},
		"limit of zero":        {`{` + bin + `"amount":50,"spending_limit":0}`, "invalid_request", "spending_limit"},
		"unknown category":     {`{` + bin + `"amount":50,"allowed_categories":["gold"]}`, "invalid_request", "allowed_categories"},
		"category null":        {`{` + bin + `"amount":50,"allowed_categories":[null]}`, "invalid_request", "array of strings"},
		"threshold below zero": {`{` + bin + `"amount":50,"auto_freeze_at":-1}`, "invalid_request", "auto_freeze_at"},
		"21 metadata keys":     {`{` + bin + `"amount":50,"metadata":{` + strings.Join(keys, ",") + `}}`, "invalid_request", "metadata has 21 keys"},
		"nested metadata":      {`{` + bin + `"amount":50,"metadata":{"a":{"b":1}}}`, "invalid_request", "metadata.a"},
		"long metadata":        {`{` + bin + `"amount":50,"metadata":{"a":"` + strings.Repeat("é", 513) + `"}}`, "invalid_request", "metadata.a has 513 characters"},
		"long metadata name":   {`{` + bin + `"amount":50,"metadata":{"` + strings.Repeat("a", 513) + `":1}}`, "invalid_request", "has 513 characters"},
		"metadata array":       {`{` + bin + `"amount":50,"metadata":[]}`, "invalid_request", "metadata must be an object"},
		"unknown field":        {`{` + bin + `"amount":50,"colour":"red"}`, "invalid_request", `"colour"`},
		"field in upper case":  {`{` + bin + `"AMOUNT":50,"amount":50}`, "invalid_request", `"AMOUNT"`},
		"duplicate field":      {`{` + bin + `"amount":50,"amount":60}`, "invalid_request", `"amount" is there twice`},
		"duplicate deep down":  {`{` + bin + `"amount":50,"metadata":{"a":"1","\u0061":"2"}}`, "invalid_request", "twice"},
		"an array":             {`[]`, "invalid_request", "JSON object"},
		"null":                 {`null`, "invalid_request", "JSON object"},
		"two values":           {`{` + bin + `"amount":50}{}`, "invalid_request", "not valid JSON"},
		"invalid UTF-8":        {`{` + bin + `"amount":50,"label":"` + "\xff" + `"}`, "invalid_request", "UTF-8"},
		"2 MiB":                {`{` + bin + `"amount":50,"label":"` + strings.Repeat("x", 2<<20) + `"}`, "invalid_request", "1 MiB"},
		"a cent short":         {`{` + bin + `"amount":100}`, "insufficient_funds", "100.99"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, wallet(101*usd.Dollar-1))
			s.Post("/api/v1/cards", c.body, "Content-Type", "application/json").Refused(400, c.code, c.text)
			if got, cards := s.Wallet().String(), s.Get("/api/v1/cards").Text("total"); got != "100.99" || cards != "0" {
				t.Errorf("a refused call left %s USD and %s cards", got, cards)
			}
		})
	}
}

func TestIssueCardWithTheWholeWallet(t *testing.T) {
	t.Parallel()
	s := start(t, wallet(101*usd.Dollar))
	s.Issue("100")
	if got := s.Wallet().String(); got != "0.00" {
		t.Errorf("the wallet holds %s", got)
	}
	s.Balanced()
}

func TestCardRepresentations(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	id := s.Issue("50", `"label":"one"`)
	item := []string{"id", "bin_id", "network", "last4", "status", "balance", "spending_limit", "label"}
	summary := s.Get("/api/v1/cards/" + id).OK(200)
	fields(t, summary.Body, append(item, "created_at")...)
	fields(t, s.Get("/api/v1/cards").OK(200).Data()[0], item...)

	details := s.Get("/api/v1/cards/" + id + "/details").OK(200)
	fields(t, details.Body, "id", "pan", "cvv", "exp_month", "exp_year")
	pan := details.Text("pan")
	if len(pan) != 16 || pan[0] != '0' || !luhn(pan) || pan[12:] != summary.Text("last4") {
		t.Errorf("the number is not 16 digits from 0, Luhn-valid, ending in %s", summary.Text("last4"))
	}
	if len(details.Text("cvv")) != 3 {
		t.Error("the code does not have three digits")
	}
	if got := details.Text("exp_month") + "/" + details.Text("exp_year"); got != "3/2029" {
		t.Errorf("expires %s, want 3/2029", got)
	}
	if again := s.Get("/api/v1/cards/" + id + "/details"); again.Raw != details.Raw {
		t.Error("details changed")
	}
}

func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return sum%10 == 0
}

func TestFreezeAndUnfreeze(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("50")
	for _, step := range []struct{ call, status string }{
		{"freeze", "frozen"}, {"freeze", "frozen"}, {"unfreeze", "active"}, {"unfreeze", "active"},
	} {
		card := s.Post("/api/v1/cards/"+id+"/"+step.call, "").OK(200)
		fields(t, card.Body, "id", "status", "balance")
		if card.Text("status") != step.status || card.Text("balance") != "50.00" {
			t.Errorf("%s answered %s", step.call, card.Raw)
		}
		if got := s.Get("/api/v1/cards/" + id).Text("status"); got != step.status {
			t.Errorf("the card is %s after %s", got, step.call)
		}
	}
	s.Post("/api/v1/cards/"+id+"/freeze", `{}`).OK(200)
	s.Post("/api/v1/cards/"+id+"/freeze", `{"hard":true}`).Refused(400, "invalid_request", `"hard"`)
}

func TestFundAndWithdraw(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("100")
	for _, step := range []struct{ call, body, card, wallet string }{
		{"fund", `{"amount":25.5}`, "125.50", "9873.50"},
		{"withdraw", `{"amount":0.01}`, "125.49", "9873.51"},
		{"withdraw", `{"amount":25.49}`, "100.00", "9899.00"},
		{"withdraw", ``, "0.00", "9999.00"},
		{"fund", `{"amount":9999}`, "9999.00", "0.00"},
		{"withdraw", `{}`, "0.00", "9999.00"},
	} {
		moved := s.Post("/api/v1/cards/"+id+"/"+step.call, step.body).OK(200)
		fields(t, moved.Body, "card_id", "card_balance", "wallet_balance")
		if moved.Text("card_id") != id || moved.Text("card_balance") != step.card || moved.Text("wallet_balance") != step.wallet {
			t.Errorf("%s %s answered %s, want card %s, wallet %s", step.call, step.body, moved.Raw, step.card, step.wallet)
		}
		s.Balanced()
	}
}

func TestFundAndWithdrawRefuse(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("100")
	for name, c := range map[string]struct{ call, body, code, text string }{
		"fund without a body":     {"fund", ``, "invalid_request", "amount is required"},
		"fund nothing":            {"fund", `{"amount":0}`, "invalid_request", "above 0"},
		"fund less than nothing":  {"fund", `{"amount":-5}`, "invalid_request", "above 0"},
		"fund a third decimal":    {"fund", `{"amount":0.001}`, "invalid_request", "two decimals"},
		"fund a cent too much":    {"fund", `{"amount":9899.01}`, "insufficient_funds", "9899.00"},
		"fund beyond all sums":    {"fund", `{"amount":99999999999999999999}`, "invalid_request", "range"},
		"withdraw nothing":        {"withdraw", `{"amount":0}`, "invalid_request", "above 0"},
		"withdraw null":           {"withdraw", `{"amount":null}`, "invalid_request", "amount is required"},
		"withdraw a cent more":    {"withdraw", `{"amount":100.01}`, "insufficient_card_balance", "100.00"},
		"withdraw unknown fields": {"withdraw", `{"all":true}`, "invalid_request", `"all"`},
	} {
		s.Post("/api/v1/cards/"+id+"/"+c.call, c.body).Refused(400, c.code, c.text)
		if card, wallet := s.Get("/api/v1/cards/"+id).Text("balance"), s.Wallet().String(); card != "100.00" || wallet != "9899.00" {
			t.Errorf("%s: moved money: card %s, wallet %s", name, card, wallet)
		}
	}
	s.Post("/api/v1/cards/"+id+"/withdraw", ``).OK(200)
	s.Post("/api/v1/cards/"+id+"/withdraw", ``).Refused(400, "insufficient_card_balance", "0.00")
	s.Balanced()
}

func TestFrozenCardStillMovesMoney(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("100")
	s.Post("/api/v1/cards/"+id+"/freeze", "").OK(200)
	s.Post("/api/v1/cards/"+id+"/fund", `{"amount":10}`).OK(200)
	s.Post("/api/v1/cards/"+id+"/withdraw", `{"amount":20}`).OK(200)
	s.Get("/api/v1/cards/" + id + "/details").OK(200)
	if got := s.Get("/api/v1/cards/" + id); got.Text("status") != "frozen" || got.Text("balance") != "90.00" {
		t.Errorf("the card is %s", got.Raw)
	}
}

func TestAutoFreezeOnWithdrawal(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Issue("100", `"auto_freeze_at":60`)
	for _, step := range []struct{ call, body, status string }{
		{"withdraw", `{"amount":40}`, "active"},   // at the threshold
		{"withdraw", `{"amount":0.01}`, "frozen"}, // strictly below
		{"unfreeze", ``, "active"},
		{"fund", `{"amount":0.005e0}`, "active"}, // refused, nothing happens
		{"fund", `{"amount":0.001e1}`, "active"}, // an increase never freezes
		{"withdraw", `{"amount":10}`, "frozen"},
	} {
		s.Post("/api/v1/cards/"+id+"/"+step.call, step.body)
		if got := s.Get("/api/v1/cards/" + id).Text("status"); got != step.status {
			t.Errorf("after %s %s the card is %s, want %s", step.call, step.body, got, step.status)
		}
	}
	s.Balanced()
}

func TestTerminate(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"active", "frozen"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			id := s.Issue("100")
			if from == "frozen" {
				s.Post("/api/v1/cards/"+id+"/freeze", "").OK(200)
			}
			ended := s.Call(http.MethodDelete, "/api/v1/cards/"+id, "").OK(200)
			fields(t, ended.Body, "id", "status", "returned_to_wallet")
			if ended.Text("status") != "terminated" || ended.Text("returned_to_wallet") != "100.00" {
				t.Errorf("answered %s", ended.Raw)
			}
			if got := s.Wallet().String(); got != "9999.00" {
				t.Errorf("the wallet holds %s", got)
			}
			s.Call(http.MethodDelete, "/api/v1/cards/"+id, "").Refused(400, "card_terminated", id)
			s.Get("/api/v1/cards/"+id+"/details").Refused(400, "card_terminated", id)
			for call, body := range map[string]string{"freeze": "", "unfreeze": "", "fund": `{"amount":1}`, "withdraw": ""} {
				s.Post("/api/v1/cards/"+id+"/"+call, body).Refused(400, "card_terminated", id)
			}
			if got := s.Get("/api/v1/cards/" + id).OK(200); got.Text("status") != "terminated" || got.Text("balance") != "0.00" {
				t.Errorf("the summary is %s", got.Raw)
			}
			s.Balanced()
		})
	}
}

func TestListCards(t *testing.T) {
	t.Parallel()
	s := start(t, stopped) // all created at one instant: the order must be stable
	var ids []string
	for range 30 {
		ids = append(ids, s.Issue("50"))
	}
	other := s.Post("/api/v1/cards", `{"bin_id":"bin_general_visa_us","amount":50}`).OK(201).Text("id")
	s.Post("/api/v1/cards/"+ids[3]+"/freeze", "").OK(200)
	s.Call(http.MethodDelete, "/api/v1/cards/"+ids[7], "").OK(200)

	first := s.Get("/api/v1/cards").OK(200)
	fields(t, first.Body, "data", "page", "per_page", "total")
	if got := fmt.Sprintf("%s %s %s %d", first.Text("page"), first.Text("per_page"), first.Text("total"), len(first.Data())); got != "1 25 31 25" {
		t.Errorf("page, per_page, total and length are %s", got)
	}
	if first.Data()[0]["id"] != other || first.Data()[1]["id"] != ids[29] {
		t.Error("not the newest first")
	}
	if last := s.Get("/api/v1/cards?page=2").Data(); len(last) != 6 || last[5]["id"] != ids[0] {
		t.Errorf("the last page holds %d cards and ends wrong", len(last))
	}
	for query, want := range map[string]string{
		"status=frozen":                                "1 1",
		"status=terminated":                            "1 1",
		"status=active":                                "29 25",
		"bin_id=bin_general_visa_us":                   "1 1",
		"bin_id=" + sandboxtest.BIN + "&status=active": "28 25",
		"bin_id=bin_x":                                 "0 0",
		"per_page=100":                                 "31 31",
		"per_page=7&page=5":                            "31 3",
		"page=6&per_page=7":                            "31 0",
		"page=9223372036854775807&per_page=100":        "31 0",
		"unknown=1":                                    "31 25",
	} {
		if page := s.Get("/api/v1/cards?" + query).OK(200); fmt.Sprintf("%s %d", page.Text("total"), len(page.Data())) != want {
			t.Errorf("%s: total and length are %s %d, want %s", query, page.Text("total"), len(page.Data()), want)
		}
	}
}

func TestListCardsRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	for query, text := range map[string]string{
		"page=0": "page", "page=-1": "page", "page=x": "page", "page=1.5": "page", "page=": "page",
		"page=9223372036854775808": "page", "per_page=0": "per_page", "per_page=101": "1 to 100",
		"status=gone": "status", "status=": "status", "page=1&page=2": "page", "status=%zz": "query", "a;b": "query",
	} {
		s.Get("/api/v1/cards?"+query).Refused(400, "invalid_request", text)
	}
}
