package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// A response of another shape is said to be one after one try, with its field
// and, where it may hold a secret, without its value.
func TestWrongShapesAreNamed(t *testing.T) {
	t.Parallel()
	card := func(c *api.Client) error { _, err := c.GetCard(t.Context(), "card_1"); return err }
	cards := func(c *api.Client) error {
		_, err := c.ListCards(t.Context(), api.CardFilter{}, api.Page{})
		return err
	}
	bins := func(c *api.Client) error { _, err := c.Bins(t.Context()); return err }
	details := func(c *api.Client) error { _, err := c.CardDetails(t.Context(), "card_1"); return err }
	challenges := func(c *api.Client) error { _, err := c.Challenges(t.Context(), "pending"); return err }
	addresses := func(c *api.Client) error { _, err := c.DepositAddresses(t.Context(), ""); return err }
	wallet := func(c *api.Client) error { _, err := c.WalletBalance(t.Context()); return err }
	transactions := func(c *api.Client) error {
		for _, err := range c.Transactions(t.Context(), api.TransactionFilter{}) {
			return err
		}
		return nil
	}
	const entry = `{"id":"card_1","bin_id":"bin_1","status":"active","balance":1,"spending_limit":5}`
	fields := make([]string, 1000)
	for i := range fields {
		fields[i] = fmt.Sprintf(`,"f%d":0`, i)
	}
	for name, test := range map[string]struct {
		call func(*api.Client) error
		body string
		want string
	}{
		"an amount":               {card, strings.Replace(cardBody, "50.00", "50.005", 1), `balance is 50.005: an amount in USD has at most two decimals`},
		"a text":                  {card, strings.Replace(cardBody, `"active"`, `7`, 1), "status is a JSON number"},
		"missing fields":          {card, `{"id":"card_1","status":"active","spending_limit":5}`, "balance, bin_id missing"},
		"an entry":                {cards, `{"data":[` + entry + `,` + strings.Replace(entry, `"active"`, `true`, 1) + `]}`, "data[1].status is a JSON bool"},
		"an entry without fields": {cards, `{"data":[` + entry + `,{"card":` + entry + `}]}`, "data[1] lacks id, status, balance, bin_id, spending_limit"},
		"too many fields":         {card, `{"id":"card_1"` + strings.Join(fields, "") + `}`, "the object has more than 1000 fields"},
		"no list":                 {cards, `{"data":{"card_1":` + entry + `}}`, "data is a JSON object"},
		"a flag":                  {bins, `{"data":[{"id":"bin_1","3ds":"yes"}]}`, "data[0].3ds is a JSON string"},
		"a wallet":                {wallet, `{"balance":"much","currency":"USDT"}`, `balance is "much": not a decimal number`},
		"an address":              {addresses, `{"data":[{"currency":"btc"}]}`, "data[0].address missing"},
		"secret details":          {details, `{"id":"card_1","pan":"0000123412341234","cvv":957123,"exp_month":1,"exp_year":2029}`, "the documented shape: cvv"},
		"a secret code":           {challenges, `{"data":[{"id":"3ds_1","card_id":"card_1","status":"pending","otp":271828}]}`, "the documented shape: data[0].otp"},
		"no code":                 {challenges, `{"data":[{"id":"3ds_1","card_id":"card_1","status":"pending","otp":null}]}`, "the documented shape: data[0].otp"},
		"no transaction id":       {transactions, `{"data":[{"type":"refund","amount":1}]}`, "data[0] lacks id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &script{steps: []http.HandlerFunc{respond(200, test.body)}}
			err := test.call(newClient(t, service))
			if shape, ok := errors.AsType[*api.ShapeError](err); !ok || !strings.HasSuffix(err.Error(), test.want) || len(service.requests()) != 1 {
				t.Errorf("%v (%v) after %d requests, want %s", err, shape, len(service.requests()), test.want)
			}
			for _, secret := range []string{"957123", "271828", "0000123412341234"} {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows %s", secret)
				}
			}
		})
	}
}

// What cannot be the service's is tried again.
func TestBodiesOfOthersAreNoWrongShapes(t *testing.T) {
	t.Parallel()
	for body, words := range map[string]string{`{}`: "", `{"message":"maintenance"}`: "", `null`: "", `"ok"`: "", `<html>`: "", `{"id":"card_1","sta`: "is not complete JSON"} {
		service := &script{steps: []http.HandlerFunc{respond(200, body)}}
		_, err := newClient(t, service, func(c *api.Config) { c.MaxRetries = 2 }).WalletBalance(t.Context())
		if _, ok := errors.AsType[*api.ShapeError](err); ok || err == nil || !strings.Contains(err.Error(), words) || len(service.requests()) != 3 {
			t.Errorf("%s: %v after %d requests", body, err, len(service.requests()))
		}
	}
}

func TestChallengesThatAreSettled(t *testing.T) {
	t.Parallel()
	body := `{"data":[{"id":"3ds_1","status":"authenticated","otp":null,"amount":null},
		{"id":"3ds_2","card_id":"card_1","status":"Pending","otp":"1","amount":9.305,"expires_at":"2026-03-01T12:00:00"}]}`
	client := newClient(t, respond(200, body))
	pending, err := client.Challenges(t.Context(), "pending")
	if err != nil || len(pending) != 1 || pending[0].OTP != "1" || pending[0].ExpiresAt != "2026-03-01T12:00:00Z" || pending[0].Amount.String() != "9.305" {
		t.Errorf("%v, %v", pending, err)
	}
	if none, err := client.Challenges(t.Context(), "failed"); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	if _, err := client.Challenges(t.Context(), "authenticated"); err == nil || !strings.HasSuffix(err.Error(), "data[0].card_id") {
		t.Errorf("%v", err)
	}
}

func TestYearOfTwoDigits(t *testing.T) {
	t.Parallel()
	for year, want := range map[string]int{"29": 2029, "2029": 2029, "0": 2000} {
		details, err := newClient(t, respond(200, `{"id":"card_1","pan":"0","cvv":"1","exp_month":1,"exp_year":`+year+`}`)).CardDetails(t.Context(), "card_1")
		if err != nil || details.ExpYear != want {
			t.Errorf("%s is read as %d, %v", year, details.ExpYear, err)
		}
	}
}
