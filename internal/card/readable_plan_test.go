package card_test

import (
	"fmt"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

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
	w := applied(acctest.NewWorkspace(t), s, "", config)
	printsNot(t, plansNothing(t, w), "will be read during apply")
	s.Authorize(liveCards(s)[0].ID, "10", advertising).OK(201) // a balance that changes is no change of a card
	output := w.Must("apply", "-no-color", "-auto-approve")
	printsNot(t, output, "will be read during apply")
	prints(t, output, "0 added, 0 changed, 0 destroyed")
	plansNothing(t, w)
}
