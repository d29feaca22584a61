package card_test

import (
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

// onlyCard returns the newest card that is not terminated.
func onlyCard(s *acctest.Service) service {
	for _, live := range liveCards(s) {
		return live
	}
	return service{}
}

func TestMissingAndDoubleCards(t *testing.T) {
	t.Parallel()
	tell(t, map[string]story{
		// It may be another account's, so a 404 does not prove that it is gone.
		"whose owner was never recorded stays": {nil, `
			on GET /wallet/deposit-address 400 invalid_request not today
			apply amount = 60
			clear
			on * /cards/card_* 404 not_found no such card
			stops
			says card {card} | 404 | Nothing was changed
			clear
			on DELETE /cards/card_* 404 not_found no such card
			run-stops destroy -auto-approve
			says card {card} | 404 | Nothing was changed
			clear
			nothing`},
		// The first read after an import records the owner.
		"that was imported is removed": {nil, `
			issue card {"amount": 60}
			import amount = 60
			terminate {card}
			passes 1h
			on GET /cards/card_* 404 not_found no such card
			plan
			says {card} | removed from the state | 1 to add, 0 to change, 0 to destroy`},
		"at two addresses": {nil, `
			apply for_each = toset(["a"]); amount = 60
			write for_each = toset(["a", "b"]); amount = 60
			run import vcard_card.test["b"] {card}
			says-not Two resources
			plan
			told-times 1 Warning: Two resources manage card {card}
			says terraform state rm
			run plan -refresh-only
			says Two resources manage card {card}
			write for_each = toset(["a"]); amount = 60
			plan
			says Two resources manage card {card} | 1 to destroy`},
	})
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }
