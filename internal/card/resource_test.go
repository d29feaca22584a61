package card_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const bin = "bin_ads_visa_us"

// service is what the API says of one card.
type service struct {
	ID      string     `json:"id"`
	Status  string     `json:"status"`
	Balance usd.Amount `json:"balance"`
	Label   string     `json:"label"`
}

// issue issues a card as another user of the account would.
func issue(s *acctest.Service, body map[string]any) service {
	var issued service
	body["bin_id"] = bin
	s.Post("/cards", body).Into(&issued)
	return issued
}

// liveCards are the active and frozen cards at the service, newest first.
func liveCards(s *acctest.Service) []service {
	s.T.Helper()
	var live []service
	for number := 1; ; number++ {
		var page struct{ Data []service }
		if s.Get(fmt.Sprintf("/cards?per_page=100&page=%d", number)).Into(&page); len(page.Data) == 0 {
			return live
		}
		live = append(live, slices.DeleteFunc(page.Data, func(card service) bool { return card.Status == "terminated" })...)
	}
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
