package card_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Topping up a fleet takes four requests a card, and the pages that show the fleet.
func TestTopUpsOfAFleet(t *testing.T) {
	t.Parallel()
	if sandboxtest.WithQuirks() {
		t.Skip("a service that counts no cards is asked for each one")
	}
	const cards, others = 40, 20 // pages, the wallet, and the account
	s := acctest.Start(t)
	s.Unlimited()
	config := oneCard(fmt.Sprintf("count = %d\n  amount = 60\n  top_up = {\n    below = 50\n    to = 60\n  }", cards))
	const unlimited = "rate_limits = {\n    requests_per_minute = 1000000\n    requests_per_hour = 1000000\n    creates_per_minute = 1000000\n  }"
	w := applied(newCLI(t, nil), s, unlimited, config)
	var requests atomic.Int64
	through(w, s.Proxy(func(http.ResponseWriter, *http.Request) bool {
		requests.Add(1)
		return false
	}), unlimited)
	var wallet usd.Amount
	for range 2 { // with the first top-up its transactions have a beginning
		for _, card := range liveCards(s) {
			s.Authorize(card.ID, "20", advertising).OK(http.StatusCreated)
		}
		s.Advance("1h")
		wallet = s.Wallet()
		requests.Store(0)
		apply(w, config)
	}
	if got := requests.Load(); got > 4*cards+others {
		t.Errorf("%d requests, want at most four for each of %d cards", got, cards)
	}
	if got, want := wallet-s.Wallet(), cards*20*usd.Dollar; got != want {
		t.Errorf("the wallet paid %s USD, want %s", got, want)
	}
}

// A fleet is imported by its labels, though cards that are terminated had them too.
// What concerns one card's money or life names it in its title, so that Terraform
// shows it for each; an explanation has the same title for all, and is shown once.
func TestImportOfAFleetByLabel(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.12.0") // as of when data is read before an import
	s := acctest.Start(t)
	s.Terminate(issue(s, map[string]any{"amount": 60, "label": "ads-search"}).ID)
	issue(s, map[string]any{"amount": 60, "label": "other"})
	ids := map[string]string{}
	for _, label := range []string{"ads-search", "ads-social"} {
		ids[label] = issue(s, map[string]any{"amount": 60, "label": label, "auto_freeze_at": 50}).ID
	}
	wallet := s.Wallet()
	fleet := func(lines string) string {
		return required + fmt.Sprintf(`
resource "vcard_card" "fleet" {
  for_each       = toset(["ads-search", "ads-social"])
  bin_id         = %q
  label          = each.key
  amount         = 60
  auto_freeze_at = 50
  %s
}
`, bin, lines)
	}
	w := acctest.NewWorkspace(t)
	through(w, s, "")
	output := unwrapped(apply(w, fleet("")+`
data "vcard_cards" "fleet" {
  label_prefix = "ads-"
}

import {
  for_each = { for card in data.vcard_cards.fleet.cards : card.label => card }
  to       = vcard_card.fleet[each.key]
  id       = each.value.id
}
`))
	prints(t, output, "2 imported, 0 added, 2 changed, 0 destroyed")
	for words, want := range map[string]int{
		"Warning: Taken over without proof: auto_freeze_at":        1,
		"Warning: amount is taken as the baseline; no money moves": 1,
		"(and 3 more similar warnings elsewhere)":                  2,
	} {
		if n := strings.Count(output, words); n != want {
			t.Errorf("%q is there %d times:\n%s", words, n, output)
		}
	}
	w.Write("main.tf", fleet(""))
	plansNothing(t, w)
	if live := liveCards(s); len(live) != 3 || s.Wallet() != wallet {
		t.Errorf("the service has the live cards %v, and the wallet %s USD", live, s.Wallet())
	}
	var titles []string
	for label, id := range ids {
		s.Authorize(id, "20", advertising).OK(http.StatusCreated) // after which the service freezes the card
		titles = append(titles, fmt.Sprintf("Warning: Card %s (%q, ending in %s) may freeze again at once", id, label, read(s, id).Last4))
	}
	w.Write("main.tf", fleet("frozen = false"))
	prints(t, w.Must("plan", "-no-color"), titles...)
}
