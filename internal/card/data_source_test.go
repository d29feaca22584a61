package card_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestCardDataSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := issueFleet(f.s)
	shown := object{
		"id": ids["frozen"], "bin_id": bin, "network": "visa", "last4": read(f.s, ids["frozen"]).Last4, "status": "frozen",
		"balance": 51, "spending_limit": 50000, "label": "frozen",
	}
	cards, diags := f.protocol().ReadDataSource("vcard_cards", object{"status": "frozen"})
	diags.Must(f.t)
	if got := plain(cards["cards"]); got != plain([]any{shown}) {
		t.Errorf("%s is listed", got)
	}
	twin := issue(f.s, map[string]any{"amount": 61, "label": "newest"})
	again := issue(f.s, map[string]any{"amount": 62, "label": "terminated"})
	unlabelled := issue(f.s, map[string]any{"amount": 50})
	f.s.Terminate(unlabelled.ID)
	for name, c := range map[string]struct {
		config object
		want   object // nil when it is refused
		words  []string
	}{
		"by id":      {object{"id": ids["frozen"]}, shown, nil},
		"terminated": {object{"id": unlabelled.ID}, object{"status": "terminated", "label": nil, "balance": 0}, nil},
		"frozen":     {object{"label": "frozen"}, shown, nil},
		"a live one": {object{"label": "terminated"}, object{"id": again.ID, "balance": 62}, nil},
		"or so":      {object{"id": ids["oldest"], "label": acctest.Unknown}, object{"id": ids["oldest"]}, nil},
		"two":        {object{"label": "newest"}, nil, []string{"2 live cards are labelled", twin.ID, "61.00", ids["newest"], "54.00"}},
		"none":       {object{"label": "Frozen"}, nil, []string{"No live card is labelled"}},
		"not there":  {object{"id": "card_none"}, nil, []string{"read card card_none", "404 (not_found)", "the id is wrong", "another account"}},
	} {
		read, diags := f.protocol().ReadDataSource("vcard_card", c.config)
		if f.says(name, diags.Errors(), c.words...); (diags.Errors() != "") != (c.want == nil) {
			t.Errorf("%s: %s", name, diags.Errors())
		}
		f.same(name, c.want, read)
		if c.want != nil && !regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`).MatchString(plain(read["created_at"])) {
			t.Errorf("%s: created_at is %v", name, read["created_at"])
		}
	}
}

// A provider that is not configured yet says so, and what could not be done.
func TestUnknownProvider(t *testing.T) {
	t.Parallel()
	f := issued(t, load(50))
	p := acctest.Configure(t, object{"base_url": acctest.Unknown, "api_key": f.s.Key, "max_card_load": 100})
	kept, diags := p.Refresh(f.card)
	diags.Must(f.t)
	f.says("the warning", diags.Warnings(), "Cards are not refreshed", f.id())
	f.same("the state", f.card.Values, kept.Values)
	f.same("the identity", f.card.Identity, kept.Identity)
	for _, c := range []struct {
		of     acctest.Instance
		amount any
		warns  []string // once
	}{{f.card, 50, nil}, {f.card, 20, nil}, {newCard, 50, []string{"The wallet, BINs and labels are not checked by this plan", "-target"}}, {f.card, 90, nil}} {
		_, diags = p.Plan(c.of, complete(load(c.amount)))
		diags.Must(f.t)
		f.says(plain(c), diags.Warnings(), c.warns...)
	}
	_, diags = p.Plan(newCard, complete(load(5000)))
	f.says("the error", diags.Errors(), "amount must be at most 100.00 USD, which is max_card_load")
	id := object{"card_id": f.id()}
	for words, call := range map[string]func() (any, acctest.Diagnostics){
		"to import a card":         func() (any, acctest.Diagnostics) { return p.Import("vcard_card", f.id(), nil) },
		"to read":                  func() (any, acctest.Diagnostics) { return p.ReadDataSource("vcard_card", object{"id": f.id()}) },
		"to list cards (data)":     func() (any, acctest.Diagnostics) { return p.ReadDataSource("vcard_cards", object{}) },
		"to list cards (resource)": func() (any, acctest.Diagnostics) { return p.List("vcard_card", object{}, 100, false) },
		"details of a card":        func() (any, acctest.Diagnostics) { return p.OpenEphemeral("vcard_card_details", id) },
		"freeze a card":            func() (any, acctest.Diagnostics) { return p.InvokeAction("vcard_card_freeze", id, nil) },
		"fund a card with 1.00 USD": func() (any, acctest.Diagnostics) {
			return p.InvokeAction("vcard_card_fund", merged(id, load(1)), nil)
		},
	} {
		_, diags := call()
		words, _, _ = strings.Cut(words, " (")
		f.says("the error", diags.Errors(), "provider's configuration is not known yet", words, "-target")
	}
}

// issueFleet issues cards in all states and returns their ids by label. The
// newest has the label "newest".
func issueFleet(s *acctest.Service) map[string]string {
	ids := map[string]string{}
	add := func(label string, amount int, on string) {
		var issued service
		s.Post("/cards", map[string]any{"bin_id": on, "label": label, "amount": amount}).Into(&issued)
		ids[label] = issued.ID
	}
	add("oldest", 50, bin)
	add("frozen", 51, bin)
	s.Freeze(ids["frozen"])
	add("terminated", 52, bin)
	s.Terminate(ids["terminated"])
	add("other bin", 53, "bin_ads_mastercard_us")
	add("newest", 54, bin)
	return ids
}

// capped is s with pages of at most so many cards, whatever is asked for.
func capped(s *acctest.Service, size string) *acctest.Service {
	return s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if query := r.URL.Query(); query.Has("per_page") {
			query.Set("per_page", size)
			r.URL.RawQuery = query.Encode()
		}
		return false
	})
}

// refuse answers with an error of the service, and returns true.
func refuse(w http.ResponseWriter, status int, code, message string) bool {
	answer(w, status, fmt.Sprintf(`{"error": %q, "message": %q}`, code, message))
	return true
}

// A service that shows new cards only after some seconds loses none of the run
// that issued them, and none in the plan right after it.
func TestCardsThatAreShownLate(t *testing.T) {
	t.Parallel()
	clock := new(acctest.Clock)
	s, w := acctest.StartOn(t, clock), acctest.NewWorkspace(t).On(clock)
	s.AddQuirks(object{"cards_hidden_seconds": 4})
	through(w, s, "")
	config := oneCard("amount = 60\n  frozen = true") + `
data "vcard_card" "one" {
  id = vcard_card.test.id
}
data "vcard_cards" "all" {
  status     = "frozen"
  depends_on = [vcard_card.test]
}
output "shown" {
  value = "${data.vcard_card.one.status}, ${length(data.vcard_cards.all.ids)} listed"
}
`
	prints(t, apply(w, config), "frozen, 1 listed")
	plansNothing(t, w) // in another process, which has to wait for the card too
	serviceHolds(t, s, "frozen", 60*usd.Dollar, acctest.InitialBalance-61*usd.Dollar)
	w.Must("destroy", "-no-color", "-auto-approve")
}

// Data that depends on cards is read while planning, unless Terraform changes a card.
func TestDataThatDependsOnCards(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := acctest.Required + fmt.Sprintf(`
resource "vcard_card" "test" {
  for_each = toset(["a", "b"])
  bin_id   = %q
  amount   = 100
  label    = each.key
}

data "vcard_wallet_balance" "now" {
  depends_on = [vcard_card.test]
}

data "vcard_transactions" "spent" {
  for_each = vcard_card.test
  card_id  = each.value.id
}

output "spent" {
  value = [for t in data.vcard_transactions.spent : length(t.transactions)]
}

output "wallet" {
  value = data.vcard_wallet_balance.now.balance
}
`, bin)
	w := applied(acctest.NewWorkspace(t), s, "", config)
	printsNot(t, plansNothing(t, w), "will be read during apply")
	s.Authorize(liveCards(s)[0].ID, "10", advertising).OK(201) // a balance that changes is no change of a card
	output := w.Must("apply", "-no-color", "-auto-approve")
	printsNot(t, output, "will be read during apply")
	prints(t, output, "0 added, 0 changed, 0 destroyed")
	plansNothing(t, w)
}
