package card_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func twoCards(first, second string) string {
	return oneCard(first) + fmt.Sprintf("resource \"vcard_card\" \"second\" {\n  bin_id = %q\n  %s\n}\n", bin, second)
}

const takesTooMuch = "The plan takes at least 1002.00 USD from a wallet that holds 999.00 USD"

// richCard is a service whose card holds 9,000.00 and whose wallet holds 999.00,
// and a workspace that has this card.
func richCard(t *testing.T, settings string) (*acctest.Service, cli) {
	t.Helper()
	s := acctest.Start(t)
	return s, applied(t, s, settings, oneCard("amount = 9000"))
}

func TestWalletCheckModes(t *testing.T) {
	t.Parallel()
	for mode, c := range map[string]struct {
		code  int
		warns bool
		words []string
	}{
		"":                       {0, true, nil},
		`wallet_check = "warn"`:  {0, true, nil},
		`wallet_check = "error"`: {1, false, []string{"Error: " + takesTooMuch, `wallet_check = "warn"`}},
		`wallet_check = "off"`:   {0, false, nil},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s, w := richCard(t, "")
			through(w, s, mode)
			w.Write("main.tf", twoCards("amount = 9000", "amount = 500")+
				fmt.Sprintf("resource \"vcard_card\" \"third\" {\n  bin_id = %q\n  amount = 500\n}\n", bin))
			code, output := w.Run("plan", "-no-color", "-parallelism=1")
			if code != c.code {
				t.Errorf("the plan ended with %d", code)
			}
			prints(t, output, c.words...)
			const maybe = "Warning: The plan may not be payable: it takes at least 1002.00 USD, and the wallet holds 999.00 USD"
			surely := strings.Contains(unwrapped(output), "Warning: "+takesTooMuch) // when the card that is there is planned first
			if warned := surely || strings.Contains(unwrapped(output), maybe); warned != c.warns && c.code == 0 {
				t.Errorf("warned: %t, want %t:\n%s", warned, c.warns, output)
			}
		})
	}
}

// Terraform plans a tainted card as a new one, and never shows the provider that
// the old one returns its money.
func TestWalletCheckOfATaintedCardOnlyWarns(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := appliedByCLI(t, s, `wallet_check = "error"`, oneCard("amount = 9000"))
	w.Must("taint", "vcard_card.test")
	prints(t, w.Must("plan", "-no-color"), "Warning: The plan may not be payable: it takes at least 9001.00 USD, and the wallet holds 999.00 USD", "tainted card", "create_before_destroy")
	apply(w, oneCard("amount = 9000"))
	serviceHolds(t, s, "active", 9000*usd.Dollar, 998*usd.Dollar)
}

// What is planned after a new card may return enough, until it is planned.
func TestWalletCheckRefusesOnlyWhatCannotBePaid(t *testing.T) {
	t.Parallel()
	for second, code := range map[string]int{
		"amount = 3000": 0, // less the 9,000.00 that return from the card that is taken out
		"amount = 9999": 1, // more than there is in all
	} {
		s, w := richCard(t, `wallet_check = "error"`)
		w.Write("main.tf", required+fmt.Sprintf("resource \"vcard_card\" \"second\" {\n  bin_id = %q\n  %s\n}\n", bin, second))
		if got, output := w.Run("plan", "-no-color"); got != code {
			t.Errorf("a plan with %s ended with %d:\n%s", second, got, output)
		}
		s.Balanced()
	}
}

func TestReplacementNamesWhatCreateBeforeDestroyPaysFirst(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{"", `wallet_check = "error"`, `wallet_check = "off"`} {
		s, w := richCard(t, "")
		through(w, s, settings)
		w.Write("main.tf", oneCard("amount = 1000\n  label = \"other\""+createFirst))
		output := w.Must("plan", "-no-color")
		const text = "this plan takes 1001.00 USD before anything returns, and the wallet holds 999.00 USD"
		if settings == `wallet_check = "off"` {
			printsNot(t, output, text)
		} else {
			prints(t, output, text)
		}
		w.Write("main.tf", oneCard("amount = 998\n  label = \"other\""+createFirst))
		printsNot(t, w.Must("plan", "-no-color"), "before anything returns")
	}
}
