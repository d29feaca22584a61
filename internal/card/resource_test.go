package card_test

import (
	"encoding/json"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const bin = "bin_ads_visa_us"

// shown is what the API says of one card.
type shown struct {
	ID, Status, Label, Last4 string
	Balance                  usd.Amount
}

// issue issues a card as another user of the account would.
func issue(s *acctest.Service, body map[string]any) (issued shown) {
	body["bin_id"] = bin
	s.Post("/cards", body).Into(&issued)
	return issued
}

func read(s *acctest.Service, id string) (now shown) {
	s.Get("/cards/" + id).Into(&now)
	return now
}

// object is what a configuration says.
type object = acctest.Object

// What is kept beside the state after each operation: nothing of a plan outlives its apply.
func TestPrivateState(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	var card acctest.Card
	keeps := func(what, want string) {
		t.Helper()
		var kept map[string][]byte
		if err := json.Unmarshal(card.Private, &kept); err != nil || string(kept["card"]) != want {
			t.Errorf("%s: %s is kept, %v; want %s", what, kept["card"], err, want)
		}
	}
	apply := func(config object) {
		t.Helper()
		change, diags := p.Plan(card, config)
		diags.Must(t)
		card, diags = p.Apply(change)
		diags.Must(t)
	}
	refresh := func() {
		t.Helper()
		var diags acctest.Diagnostics
		card, diags = p.Refresh(card)
		diags.Must(t)
	}
	const march = `{"default_limit":true,"month":24314}`
	apply(object{"bin_id": bin, "amount": 60})
	keeps("issued", `{"default_limit":true}`)
	refresh()
	keeps("refreshed", march)
	apply(object{"bin_id": bin, "amount": 70, "frozen": true})
	keeps("changed", march)
	refresh()
	keeps("refreshed again", march)
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// The stories of cards, each in a script.
func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// What a run finds of the money that others have moved, with both settings of
// idempotency_keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"honoured", "unknown"} {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			acctest.Scripts(t, "testdata/keys", "TF_VAR_keys="+keys)
		})
	}
}
