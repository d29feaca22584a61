package card_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
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

func TestWalletShortByOneCent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.says("the error", f.tryApply(object{"amount": "9999.01"}).Errors(), "The service answered 400 (insufficient_funds)")
	f.apply(object{"amount": 9999})
	f.holds("active", 999900, 0)
}

// issue issues a card as another user of the account would.
func issue(s *acctest.Service, body map[string]any) service {
	var issued service
	body["bin_id"] = bin
	s.Post("/cards", body).Into(&issued)
	return issued
}

// An import reads a card once, and knows of it what the service tells.
func TestImport(t *testing.T) {
	t.Parallel()
	f := issued(t, everything())
	f.s.Delete("/_sandbox/requests").Must()
	card, diags := f.protocol().Import("vcard_card", f.id(), nil)
	f.succeed(diags)
	read := plain(f.s.Requests())
	if strings.Count(read, "/cards") != 1 {
		t.Errorf("the import took %s", read)
	}
	want := maps.Clone(f.card.Values)
	delete(want, "money_record")
	for _, untold := range []string{"amount", "auto_freeze_at", "allowed_categories", "metadata", "top_up", "expires_at", "issuance_fee"} {
		want[untold] = nil
	}
	f.same("the import", want, card.Values)
	f.s.Freeze(f.id())
	card, diags = f.protocol().Refresh(card)
	f.succeed(diags)
	f.same("the next read", object{"status": "frozen"}, card.Values)

	f.s.Terminate(f.id())
	for id, words := range map[string]string{
		"card_nope": "The service answered 404 (not_found)",
		"wh_1":      `A card is imported by its id, which has the form card_…, got "wh_1"`,
		f.id():      "is terminated, which is final",
	} {
		_, diags := f.protocol().Import("vcard_card", id, nil)
		f.says("the import of "+id, diags.Errors(), words)
	}
}

// onlyCard returns the newest card that is not terminated.
func onlyCard(s *acctest.Service) service {
	for _, live := range liveCards(s) {
		return live
	}
	return service{}
}

func TestMissingCards(t *testing.T) {
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
	})
}
