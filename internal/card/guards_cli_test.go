package card_test

import (
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// An amount that was typed in cents, wherever one card is given money.
func TestCentsForDollars(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	through(w, s, "max_card_load = 500")
	const meant = "at most 500.00 USD, which is max_card_load in the provider configuration, got 25000.00. If 25000.00 was meant in cents, write 250.00: amounts are in USD."
	apply(w, oneCard("amount = 250\n  frozen = true\n  top_up = {\n    below = 50\n    to    = 500\n  }"))
	for at, card := range map[string]string{
		"amount":    "amount = 25000",
		"top_up.to": "amount = 250\n  top_up = {\n    below = 50\n    to    = 25000\n  }",
	} {
		w.Write("main.tf", oneCard(card))
		code, output := w.Run("plan", "-no-color")
		if prints(t, output, "Error: More than one card may be given", at+" must be "+meant); code != 1 {
			t.Errorf("%s: ended with %d", at, code)
		}
	}
	w.Write("main.tf", oneCard("amount = 500.01"))
	_, output := w.Run("plan", "-no-color")
	prints(t, output, "got 500.01.", "write 5.00", "raise max_card_load")

	acctest.Needs(t, "1.4.0", "1.6.0") // terraform_data
	w.Write("main.tf", strings.Replace(oneCard("amount = tonumber(terraform_data.load.output)"), "resource", "resource \"terraform_data\" \"load\" {\n  input = \"25000\"\n}\nresource", 1))
	w.Must("plan", "-no-color", "-out=saved") // when nobody knows
	if code, output := w.Run("apply", "-no-color", "saved"); code != 1 || !strings.Contains(unwrapped(output), "amount must be "+meant) {
		t.Errorf("what is known during apply ended with %d:\n%s", code, output)
	}
	if now := onlyCard(s); now.Balance != 250*usd.Dollar {
		t.Errorf("the card holds %s USD", now.Balance)
	}
}
