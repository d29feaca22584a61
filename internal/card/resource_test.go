package card_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
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
	diags.Must(f.t)
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
	diags.Must(f.t)
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

func TestGeneratedConfigurationAppliesWithoutChange(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.5.0", "1.6.0")
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	w.Env = append(w.Env, "VCARD_BASE_URL="+s.URL, "VCARD_API_KEY="+s.Key)
	// Terraform 1.16 wants the provider named while it generates configuration, and
	// every CLI refuses it once there is some.
	const named = "  provider = vcard\n"
	config := acctest.Required
	for i, body := range []map[string]any{
		{"amount": 80},
		{"amount": 50, "label": "by hand", "spending_limit": 700, "auto_freeze_at": 7, "metadata": map[string]string{"a": "b"}, "allowed_categories": []string{"travel"}},
	} {
		config += fmt.Sprintf("import {\n  to = vcard_card.c%d\n  id = %q\n"+named+"}\n", i, issue(s, body).ID)
	}
	wallet := s.Wallet()
	w.Write("main.tf", config)
	if output := w.Must("plan", "-no-color", "-generate-config-out=generated.tf"); !strings.Contains(output, "2 to import, 0 to add, 0 to change, 0 to destroy") {
		t.Errorf("the import plans more than the import:\n%s", output)
	}
	generated := w.Read("generated.tf")
	if acctest.Has("1.14.0", "") && strings.Contains(generated, "false") { // as of when the provider is asked
		t.Errorf("frozen = false undoes what somebody freezes in an emergency:\n%s", generated)
	}
	w.Write("main.tf", strings.ReplaceAll(config, named, ""))
	w.Must("apply", "-no-color", "-auto-approve")
	w.Must("plan", "-no-color", "-detailed-exitcode")
	if now := s.Wallet(); now != wallet {
		t.Errorf("the wallet went from %s to %s USD", wallet, now)
	}
}

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
		return acctest.Required + fmt.Sprintf(`
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
	output := acctest.Unwrapped(apply(w, fleet("")+`
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
