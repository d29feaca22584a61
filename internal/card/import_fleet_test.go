package card_test

import (
	"fmt"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// A fleet is imported by its labels, though cards that are terminated had them too.
func TestImportOfAFleetByLabel(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.12.0") // as of when data is read before an import
	s := acctest.Start(t)
	for _, label := range []string{"ads-search", "ads-social", "ads-search", "other"} {
		id := issue(s, map[string]any{"amount": 60, "label": label}).ID
		if label == "ads-social" {
			s.Freeze(id)
		}
		if label == "ads-search" && len(liveCards(s)) == 1 {
			s.Terminate(id)
		}
	}
	w := acctest.NewWorkspace(t)
	through(w, s, "")
	wallet := s.Wallet()
	const fleet = `
data "vcard_cards" "fleet" {
  label_prefix = "ads-"
}

locals {
  cards = { for card in data.vcard_cards.fleet.cards : card.label => card }
}
`
	resources := fmt.Sprintf(`
resource "vcard_card" "fleet" {
  for_each = toset(["ads-search", "ads-social"])
  bin_id   = %q
  label    = each.key
}
`, bin)
	output := apply(w, required+fleet+resources+`
import {
  for_each = local.cards
  to       = vcard_card.fleet[each.key]
  id       = each.value.id
}
`)
	prints(t, output, "2 imported, 0 added, 0 changed, 0 destroyed")
	w.Write("main.tf", required+resources)
	plansNothing(t, w)
	if now := s.Wallet(); now != wallet {
		t.Errorf("the wallet went from %s to %s USD", wallet, now)
	}
	if live := liveCards(s); len(live) != 3 || live[2].Balance != 60*usd.Dollar {
		t.Errorf("the service has the live cards %v", live)
	}
}
