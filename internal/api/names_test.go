package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// What a stranger writes into an id or a word of a response reaches no advice that
// somebody may paste.
func TestNamesOfTheServiceAreChecked(t *testing.T) {
	t.Parallel()
	hostile := []string{"card_1; rm -rf ~", "card_$(id)", "card_`id`", "card_${file(\"x\")}", "card_%{if true}", "card_1\"\n}", "card_1\n", "card_1|sh", "card_\u202e1", strings.Repeat("x", 300), "id_" + testKey, "whsec_1"}
	words := append([]string{planted, "0000-1234 1234-1234"}, hostile...)
	ids := append([]string{"", ".", "..", "card 1", "../card_1", "kärte"}, hostile...)
	get := func(c *api.Client) error { _, err := c.GetCard(t.Context(), "card_1"); return err }
	list := func(c *api.Client) error { return lastError(c.Cards(t.Context(), api.CardFilter{})) }
	for name, test := range map[string]struct {
		body   string // with %s for the field and its value
		field  string
		values []string
		call   func(*api.Client) error
	}{
		"a card's id":              {`{"data":[{%s,"status":"active","balance":1,"bin_id":"b","spending_limit":1}],"total":1}`, "id", ids, list},
		"a card's id, twice":       {`{"data":[{"id":"card_1",%s,"status":"active","balance":1,"bin_id":"b","spending_limit":1}],"total":1}`, "ID", ids, list},
		"a card's BIN":             {`{"id":"card_1","status":"active","balance":1,"spending_limit":1,%s}`, "bin_id", hostile, get},
		"a card's status":          {`{"id":"card_1","bin_id":"b","balance":1,"spending_limit":1,%s}`, "status", words, get},
		"a status in odd letters":  {`{"id":"card_1","status":"active","bin_id":"b","balance":1,"spending_limit":1,%s}`, "ſtatus", hostile, get},
		"a card's digits":          {`{"id":"card_1","status":"active","bin_id":"b","balance":1,"spending_limit":1,%s}`, "last4", words, get},
		"a BIN's id":               {`{"data":[{%s}]}`, "id", ids, func(c *api.Client) error { return readBins(t, c) }},
		"a transaction's id":       {`{"data":[{%s,"type":"refund","amount":1}]}`, "id", ids, func(c *api.Client) error { return lastError(c.Transactions(t.Context(), api.TransactionFilter{})) }},
		"a transaction's card":     {`{"data":[{"id":"txn_1","type":"refund","amount":1,%s}]}`, "card_id", hostile, func(c *api.Client) error { return lastError(c.Transactions(t.Context(), api.TransactionFilter{})) }},
		"a transaction's currency": {`{"data":[{"id":"txn_1","type":"refund","amount":1,%s}]}`, "currency", hostile, func(c *api.Client) error { return lastError(c.Transactions(t.Context(), api.TransactionFilter{})) }},
		"a challenge's id":         {`{"data":[{%s,"card_id":"card_1","status":"pending","otp":"1"}]}`, "id", ids, func(c *api.Client) error { _, err := c.Challenges(t.Context(), ""); return err }},
		"an endpoint's id": {`{"secret":"s",%s}`, "id", ids, func(c *api.Client) error {
			_, err := c.RegisterWebhook(t.Context(), api.WebhookRequest{URL: "https://hooks.example.com"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range test.values {
				quoted, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				body := fmt.Sprintf(test.body, fmt.Sprintf("%q:%s", test.field, quoted))
				err = test.call(newClient(t, respond(200, body), func(c *api.Config) { c.MaxRetries = 0 }))
				if _, ok := errors.AsType[*api.ShapeError](err); !ok || value != "" && len(value) > 2 && strings.Contains(err.Error(), value) {
					t.Errorf("%q: %v", value, err)
				}
			}
		})
	}
}

// Some services count, or make ids of the time: a number of any length is an id.
func TestNumbersAreIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"7", "4111111111111111", "1765432109876543210"} {
		body := strings.NewReplacer("card_1", id, "bin_1", id).Replace(cardBody)
		if card, err := newClient(t, respond(200, body)).GetCard(t.Context(), id); err != nil || card.ID != id || card.BinID != id {
			t.Errorf("%s is read as %+v, %v", id, card, err)
		}
	}
}
