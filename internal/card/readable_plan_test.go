package card_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// In an update the plan shows what changes, and nothing that cannot.
func TestUpdateShowsOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	f := imported(t, map[string]any{"amount": 100, "label": "by hand"})
	for _, step := range []struct {
		config object
		want   []string
	}{
		{object{"amount": 100}, []string{"amount"}},
		{object{"amount": 120}, []string{"amount", "balance", "money_record"}},
		{object{"amount": 110}, []string{"amount", "balance", "frozen", "money_record", "status"}}, // it may have an auto_freeze_at
		{object{"amount": 110, "frozen": true}, []string{"frozen", "status"}},
		{object{"amount": 110, "frozen": false, "deletion_protection": true}, []string{"deletion_protection", "frozen", "status"}},
		{object{"amount": 110, "metadata": object{"a": "b"}}, []string{"deletion_protection", "metadata"}},
		{object{"amount": 110, "metadata": object{"a": "b"}, "top_up": object{"below": 120, "to": 130}}, []string{"balance", "money_record", "top_up", "topped_up"}},
	} {
		change, diags := f.plan(step.config)
		f.succeed(diags)
		got := slices.DeleteFunc(sortedKeys(change.Planned), func(name string) bool {
			return plain(change.Planned[name]) == plain(f.card.Values[name])
		})
		if !slices.Equal(got, step.want) {
			t.Errorf("%v changes %v, want %v", step.config, got, step.want)
		}
		f.apply(step.config)
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
	w := appliedByCLI(t, s, "", config)
	printsNot(t, plansNothing(t, w), "will be read during apply")
	s.Authorize(liveCards(s)[0].ID, "10", advertising).OK(201) // a balance that changes is no change of a card
	output := w.Must("apply", "-no-color", "-auto-approve")
	printsNot(t, output, "will be read during apply")
	prints(t, output, "0 added, 0 changed, 0 destroyed")
	plansNothing(t, w)
}
