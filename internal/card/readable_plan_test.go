package card_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

var changedLine = regexp.MustCompile(`(?m)^\s*[~+-] ([a-z0-9_]+)\s+=`)

// changed returns the attributes that a plan shows as changing.
func changed(plan string) []string {
	var names []string
	for _, line := range changedLine.FindAllStringSubmatch(plan, -1) {
		names = append(names, line[1])
	}
	slices.Sort(names)
	return names
}

// In an update the plan shows what changes, and nothing that cannot.
func TestUpdateShowsOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	through(w, s, "")
	w.Write("main.tf", oneCard("label = \"by hand\""))
	w.Must("import", "-no-color", "vcard_card.test", issue(s, map[string]any{"amount": 100, "label": "by hand"}).ID)
	for _, step := range []struct {
		config string
		want   []string
	}{
		{"amount = 100", []string{"amount"}},
		{"amount = 120", []string{"amount", "balance", "money_record"}},
		{"amount = 110", []string{"amount", "balance", "frozen", "money_record", "status"}}, // it may have an auto_freeze_at
		{"amount = 110\n  frozen = true", []string{"frozen", "status"}},
		{"amount = 110\n  frozen = false\n  deletion_protection = true", []string{"deletion_protection", "frozen", "status"}},
		{"amount = 110\n  metadata = { a = \"b\" }", []string{"deletion_protection", "metadata"}},
		{"amount = 110\n  metadata = { a = \"b\" }\n  top_up = {\n    below = 120\n    to = 130\n  }", []string{"balance", "below", "money_record", "to", "top_up", "topped_up"}},
	} {
		w.Write("main.tf", oneCard(step.config))
		plan := w.Must("plan", "-no-color")
		if got := changed(plan); !slices.Equal(got, step.want) {
			t.Errorf("%s changes %v, want %v:\n%s", step.config, got, step.want, plan)
		}
		w.Must("apply", "-no-color", "-auto-approve")
		plansNothing(t, w)
	}
}

// The fee of a new card is a value of the plan, in its text and in its JSON, as
// is that of one that replaces another.
func TestFeeIsInThePlan(t *testing.T) {
	t.Parallel()
	for _, lifecycle := range []string{"", createFirst} {
		s := acctest.Start(t)
		w := acctest.NewWorkspace(t)
		through(w, s, "")
		for _, amount := range []string{"50", "60"} {
			w.Write("main.tf", oneCard("amount = "+amount+"\n  metadata = { load = "+amount+" }"+lifecycle))
			text := w.Must("plan", "-no-color", "-out=plan")
			if amount == "50" {
				prints(t, text, "+ issuance_fee = 1 ")
			}
			prints(t, w.Must("show", "-json", "plan"), `"issuance_fee":1,`)
			w.Must("apply", "-no-color", "plan")
		}
		printsNot(t, plansNothing(t, w), "issuance_fee")
	}
}

// Data that depends on cards is read while planning, unless Terraform changes a card.
func TestDataThatDependsOnCards(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := required + fmt.Sprintf(`
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
	w := applied(t, s, "", config)
	printsNot(t, plansNothing(t, w), "will be read during apply")
	s.Authorize(liveCards(s)[0].ID, "10", advertising).OK(201) // a balance that changes is no change of a card
	output := w.Must("apply", "-no-color", "-auto-approve")
	printsNot(t, output, "will be read during apply")
	prints(t, output, "0 added, 0 changed, 0 destroyed")
	plansNothing(t, w)
}
