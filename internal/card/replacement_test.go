package card_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// advertising is the merchant category code of what ad cards are for.
const advertising = "7311"

const createFirst = "\n  lifecycle {\n    create_before_destroy = true\n  }"

// A replacement that the wallet cannot pay for must not end with no card.
func TestReplacementThatTheWalletCannotPayFor(t *testing.T) {
	t.Parallel()
	poor := func(t *testing.T) (*acctest.Service, *acctest.Workspace) {
		t.Helper()
		s := acctest.Start(t)
		w := appliedByCLI(t, s, "", oneCard("amount = 9000\n  label = \"old\""))
		s.Authorize(onlyCard(s).ID, "8500", advertising).OK(201)
		return s, w // the wallet holds 999.00, the card 500.00
	}
	for name, replace := range map[string]func(t *testing.T, w *acctest.Workspace) string{
		"planned": func(t *testing.T, w *acctest.Workspace) string {
			t.Helper()
			return applyFails(t, w, oneCard("amount = 9000\n  label = \"new\""))
		},
		"forced": func(t *testing.T, w *acctest.Workspace) string {
			t.Helper()
			code, output := w.Run("apply", "-auto-approve", "-no-color", "-replace=vcard_card.test")
			if code == 0 {
				t.Errorf("the apply succeeded:\n%s", output)
			}
			return output
		},
		"tainted": func(t *testing.T, w *acctest.Workspace) string {
			t.Helper()
			w.Must("taint", "vcard_card.test")
			return applyFails(t, w, oneCard("amount = 9000\n  label = \"old\""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := poor(t)
			prints(t, replace(t, w), "The wallet cannot pay for the card that replaces card", "takes 9001.00 USD", "fall short of that by 7502.00 USD", "-target")
			serviceHolds(t, s, "active", 500*usd.Dollar, 999*usd.Dollar)
			w.Must("destroy", "-auto-approve", "-no-color", "-target=vcard_card.test") // the way out
			if live := liveCards(s); len(live) != 0 {
				t.Errorf("the service has the live cards %v", live)
			}
		})
	}
	t.Run("with enough", func(t *testing.T) {
		t.Parallel()
		s, w := poor(t)
		applyFails(t, w, oneCard("amount = 9000\n  label = \"new\""))
		apply(w, oneCard("amount = 1498\n  label = \"new\"")) // all that there is
		serviceHolds(t, s, "active", 1498*usd.Dollar, 0)
		plansNothing(t, w)
	})
	t.Run("unchecked", func(t *testing.T) {
		t.Parallel()
		s, w := poor(t)
		through(w, s, `wallet_check = "off"`)
		printsNot(t, applyFails(t, w, oneCard("amount = 9000\n  label = \"new\"")), "The wallet cannot pay for the card")
		if live := liveCards(s); len(live) != 0 {
			t.Errorf("the service has the live cards %v", live)
		}
	})
	// The old card goes last, from a wallet that has paid already.
	t.Run("create before destroy", func(t *testing.T) {
		t.Parallel()
		s, w := poor(t)
		apply(w, oneCard("amount = 900\n  label = \"new\""+createFirst))
		serviceHolds(t, s, "active", 900*usd.Dollar, (999-901+500)*usd.Dollar)
		plansNothing(t, w)
	})
}

// The wallet pays for one new card at a time: of those that it cannot pay for
// together, the others keep their old ones.
func TestReplacementsThatTheWalletCannotPayForTogether(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	fleet := func(label string) string {
		return required + fmt.Sprintf("resource \"vcard_card\" \"test\" {\n  count = 4\n  bin_id = %q\n  amount = 2000\n  label = \"%s-${count.index}\"\n}\n", bin, label)
	}
	w := appliedByCLI(t, s, "", fleet("old"))
	for _, card := range liveCards(s) {
		s.Authorize(card.ID, "1000", advertising).OK(201)
	}
	w.Write("main.tf", fleet("new"))
	plan := unwrapped(w.Must("plan", "-no-color"))
	if once := strings.Count(plan, "Warning: A card is replaced for 2001.00 USD"); once != 1 || !strings.Contains(plan, "and 3 more similar warnings") {
		t.Errorf("the replacements are explained %d times:\n%s", once, plan)
	}
	output := applyFails(t, w, fleet("new")) // each takes 2,001.00 and returns 1,000.00; the wallet holds 1,996.00
	if got := strings.Count(unwrapped(output), "The wallet cannot pay for the card that replaces card"); got != 3 {
		t.Errorf("%d replacements were refused:\n%s", got, output)
	}
	if live := liveCards(s); len(live) != 4 {
		t.Errorf("the service has the live cards %v", live)
	}
	if wallet := s.Wallet(); wallet != (1996-1001)*usd.Dollar {
		t.Errorf("the wallet holds %s USD", wallet)
	}
	s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 10000}).OK(201)
	id := s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 10000}).OK(201).Text("id")
	s.Post("/_sandbox/deposits/"+id+"/confirm", nil).OK(200)
	apply(w, fleet("new"))
	plansNothing(t, w)
}

// The service publishes neither its categories nor a BIN's maximum, so that only
// issuing shows that it refuses them.
func TestRefusedReplacementKeepsTheCard(t *testing.T) {
	t.Parallel()
	for changed, words := range map[string][]string{
		"allowed_categories = [\"advertizing\"]":         {"may refuse the new allowed_categories", "create_before_destroy"},
		"spending_limit = 1000000":                       {"may refuse the new spending_limit", "create_before_destroy"},
		"metadata = { a = \"b\" }\n  label = \"\u00e4\"": {"create_before_destroy"},
	} {
		t.Run(changed, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			s.AddQuirks(object{"card_values": "as_asked"}) // else the service clamps the limit
			w := appliedByCLI(t, s, "", oneCard("amount = 100"+createFirst))
			w.Write("main.tf", oneCard("amount = 100\n  "+changed+createFirst))
			output := w.Must("plan", "-no-color")
			prints(t, output, words...)
			if len(words) == 1 {
				printsNot(t, output, "The service may refuse")
				return
			}
			w.Run("apply", "-no-color", "-auto-approve")
			serviceHolds(t, s, "active", 100*usd.Dollar, (10000-101)*usd.Dollar)
		})
	}
}

// A label that follows the key of for_each replaces the card that moved keeps.
func TestRenamedKey(t *testing.T) {
	t.Parallel()
	for _, protect := range []bool{false, true} {
		t.Run(fmt.Sprintf("protected %t", protect), func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			fleet := func(key, lifecycle string) string {
				return required + fmt.Sprintf(`
resource "vcard_card" "test" {
  for_each            = { %s = 100 }
  bin_id              = %q
  amount              = each.value
  label               = "campaign-${each.key}"
  deletion_protection = %t
  %s
}
`, key, bin, protect, lifecycle)
			}
			moved := "moved {\n  from = vcard_card.test[\"search\"]\n  to = vcard_card.test[\"brand\"]\n}\n"
			w := appliedByCLI(t, s, "", fleet("search", ""))
			w.Write("main.tf", fleet("brand", "")+moved)
			code, output := w.Run("plan", "-no-color")
			if protect != (code != 0) {
				t.Errorf("the plan ended with %d", code)
			}
			prints(t, output, `label ("campaign-search" to "campaign-brand")`, "lifecycle { ignore_changes = [label] }")
			w.Write("main.tf", fleet("brand", "lifecycle {\n    ignore_changes = [label]\n  }")+moved)
			prints(t, w.Must("apply", "-no-color", "-auto-approve"), "has moved to", "0 added, 0 changed, 0 destroyed")
			serviceHolds(t, s, "active", 100*usd.Dollar, (10000-101)*usd.Dollar)
		})
	}
}

func TestReplacementNamesWhatIsNotCarriedOver(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 100\n  label = \"ads\"\n  spending_limit = 500\n  frozen = true"))
	apply(w, oneCard("amount = 100"))
	w.Write("main.tf", oneCard("amount = 100\n  metadata = { a = \"b\" }"))
	prints(t, w.Must("plan", "-no-color"), "Not in the configuration, so the new card does not have it:",
		"spending_limit (500.00 USD; the new card gets the BIN's maximum)", `label ("ads"; the new card gets a generated one)`, "frozen (the new card is active)")

	never := applied(t, s, "", oneCard("amount = 100"))
	never.Write("main.tf", oneCard("amount = 100\n  metadata = { a = \"b\" }"))
	printsNot(t, never.Must("plan", "-no-color"), "Not in the configuration")

	id := issue(s, map[string]any{"amount": 100, "allowed_categories": []string{"travel"}}).ID
	imported := newCLI(t, nil)
	through(imported, s, "")
	imported.Write("main.tf", oneCard("label = \"x\""))
	imported.Must("import", "-no-color", "vcard_card.test", id)
	imported.Write("main.tf", oneCard("amount = 100\n  label = \"y\""))
	prints(t, imported.Must("plan", "-no-color"), "spending_limit (", "the service does not report (allowed_categories, auto_freeze_at, metadata)")
}

// A wallet that cannot be read is no reason to terminate a card.
func TestReplacementWhileTheWalletCannotBeRead(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := appliedByCLI(t, s, "", oneCard("amount = 100\n  label = \"old\""))
	blind := s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodGet, "/wallet/balance") {
			return false
		}
		answer(w, http.StatusBadRequest, `{"error": "invalid_request", "message": "no wallet today"}`)
		return true
	})
	through(w, blind, "")
	prints(t, applyFails(t, w, oneCard("amount = 100\n  label = \"new\"")),
		"Could not see whether the wallet can pay for the card that replaces card", "no wallet today", `wallet_check = "off"`)
	serviceHolds(t, s, "active", 100*usd.Dollar, (10000-101)*usd.Dollar)
	through(w, blind, `wallet_check = "off"`)
	apply(w, oneCard("amount = 100\n  label = \"new\""))
	serviceHolds(t, s, "active", 100*usd.Dollar, (10000-102)*usd.Dollar)
}

// At first Terraform plans a forced replacement as an update, which withdraws.
func TestForcedReplacementWithASmallerLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, spent string }{
		"more than is left":     {"amount = 200", "amount = 50", "60"},
		"into the top-up range": {"amount = 100\n  top_up = {\n    below = 15\n    to = 80\n  }", "amount = 55\n  top_up = {\n    below = 15\n    to = 80\n  }", "44"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := appliedByCLI(t, s, "", oneCard(c.before))
			s.Authorize(onlyCard(s).ID, c.spent, advertising).OK(201)
			w.Write("main.tf", oneCard(c.after))
			code, output := w.Run("plan", "-no-color", "-replace=vcard_card.test")
			if code == 0 {
				t.Errorf("the plan succeeded:\n%s", output)
			}
			prints(t, output, "use terraform taint on this resource and apply, in place of -replace")
			w.Must("taint", "vcard_card.test")
			w.Must("apply", "-no-color", "-auto-approve")
			plansNothing(t, w)
			if live := liveCards(s); len(live) != 1 || live[0].Balance < 50*usd.Dollar {
				t.Errorf("the service has the live cards %v", live)
			}
		})
	}
}

func TestPartlyUnknownCollectionMayTurnOutTheSame(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.4.0", "1.6.0")
	s := acctest.Start(t)
	config := func(input string) string {
		return oneCard("amount = 100\n  allowed_categories = [\"travel\", terraform_data.category.output]\n  metadata = { team = terraform_data.category.output }") +
			fmt.Sprintf("resource \"terraform_data\" \"category\" {\n  input = %q\n}\n", input)
	}
	w := appliedByCLI(t, s, "", config("software"))
	w.Write("main.tf", config("advertising"))
	prints(t, w.Must("plan", "-no-color"), "allowed_categories, metadata is known only after apply and may turn out the same; the card is replaced even then")
}
