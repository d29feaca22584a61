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
	for name, test := range map[string]struct {
		call   string
		body   string // with %s for the field and its value
		field  string
		values []string
	}{
		"a card's id":              {"cards", `{"data":[{%s,"status":"active","balance":1,"bin_id":"b","spending_limit":1}],"total":1}`, "id", ids},
		"a card's BIN":             {"read", `{"id":"card_1","status":"active","balance":1,"spending_limit":1,%s}`, "bin_id", hostile},
		"a card's status":          {"read", `{"id":"card_1","bin_id":"b","balance":1,"spending_limit":1,%s}`, "status", words},
		"a network in capitals":    {"read", `{"id":"card_1","status":"active","bin_id":"b","balance":1,"spending_limit":1,%s}`, "NETWORK", hostile},
		"a card's digits":          {"read", `{"id":"card_1","status":"active","bin_id":"b","balance":1,"spending_limit":1,%s}`, "last4", words},
		"a BIN's id":               {"bins", `{"data":[{%s}]}`, "id", ids},
		"a transaction's id":       {"transactions", `{"data":[{%s,"type":"refund","amount":1}]}`, "id", ids},
		"a transaction's card":     {"transactions", `{"data":[{"id":"txn_1","type":"refund","amount":1,%s}]}`, "card_id", hostile},
		"a transaction's currency": {"transactions", `{"data":[{"id":"txn_1","type":"refund","amount":1,%s}]}`, "currency", hostile},
		"a challenge's id":         {"challenges", `{"data":[{%s,"card_id":"card_1","status":"pending","otp":"1"}]}`, "id", ids},
		"an endpoint's id":         {"register", `{"secret":"s",%s}`, "id", ids},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range test.values {
				quoted, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				body := fmt.Sprintf(test.body, fmt.Sprintf("%q:%s", test.field, quoted))
				err = try(t.Context(), newClient(t, respond(200, body), onlyOneTry), test.call)
				if _, ok := errors.AsType[*api.ShapeError](err); !ok || len(value) > 2 && strings.Contains(err.Error(), value) {
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
