package acctest_test

import (
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

func TestProtocolLifeOfAResource(t *testing.T) {
	t.Parallel()
	service := acctest.Start(t)
	var bins struct{ Data []struct{ ID string } }
	service.Get("/bins").Into(&bins)
	p := service.Protocol(nil)
	config := acctest.Object{"bin_id": bins.Data[0].ID, "amount": acctest.Unknown, "metadata": acctest.Object{"team": "ads"}}

	created, diags := p.Plan(acctest.Instance{Type: "vcard_card"}, config)
	mustSucceed(t, diags)
	if created.Planned["id"] != acctest.Unknown || created.Planned["amount"] != acctest.Unknown {
		t.Errorf("a creation plans id %v and amount %v, want both unknown", created.Planned["id"], created.Planned["amount"])
	}
	card, diags := p.Apply(created, acctest.Object{"amount": "60.50"})
	mustSucceed(t, diags)
	id, _ := card.Values["id"].(string)
	if !strings.HasPrefix(id, "card_") || card.Identity["id"] != id || card.Values["balance"] != acctest.Number("60.5") {
		t.Fatalf("created %v with identity %v", card.Values, card.Identity)
	}

	card, diags = p.Refresh(card)
	mustSucceed(t, diags)
	config["amount"] = 60.5
	same, diags := p.Plan(card, config)
	mustSucceed(t, diags)
	for name, value := range card.Values {
		if name != "metadata" && same.Planned[name] != value {
			t.Errorf("a plan without a change plans %s from %v to %v", name, value, same.Planned[name])
		}
	}

	config["bin_id"] = bins.Data[1].ID
	replaced, diags := p.Plan(card, config)
	mustSucceed(t, diags)
	if len(replaced.Replaces) != 1 || replaced.Replaces[0] != "bin_id" || diags.Warnings() == "" {
		t.Errorf("another BIN replaces for %v and warns %q", replaced.Replaces, diags.Warnings())
	}

	imported, diags := p.Import("vcard_card", "", card.Identity)
	mustSucceed(t, diags)
	if imported.Values["id"] != id || imported.Values["amount"] != nil {
		t.Errorf("imported %v", imported.Values)
	}

	destroyed, diags := p.Plan(card, nil)
	mustSucceed(t, diags)
	gone, diags := p.Apply(destroyed, nil)
	mustSucceed(t, diags)
	if gone.Values != nil || !strings.Contains(p.Log(), "service call") {
		t.Errorf("after its destruction the card is %v, and the log has %d bytes", gone.Values, len(p.Log()))
	}
}

func TestProtocolRefusals(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	_, diags := p.Plan(acctest.Instance{Type: "vcard_card"}, acctest.Object{"bin_id": "nope", "amount": "50.001"})
	if text := diags.Errors(); !strings.Contains(text, "amount") || !strings.Contains(text, "two decimals") {
		t.Errorf("a third decimal is refused with %q", text)
	}
	if _, diags := p.Import("vcard_card", "card_none", nil); !strings.Contains(diags.Errors(), "card_none") {
		t.Errorf("importing what is not there says %q", diags.Errors())
	}
}

func mustSucceed(t *testing.T, diags acctest.Diagnostics) {
	t.Helper()
	if text := diags.Errors(); text != "" {
		t.Fatal(text)
	}
}
