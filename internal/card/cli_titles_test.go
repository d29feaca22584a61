package card_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// What concerns one card's money or life names it in its title, so that Terraform
// shows it for each; an explanation has the same title for all, and is shown once.
func TestTitlesOfWarningsOfManyCards(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0") // import blocks with for_each
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	pair := func(lines string) string {
		return required + s.Provider() + fmt.Sprintf("resource \"vcard_card\" \"c\" {\n  for_each = toset([\"a\", \"b\"])\n  bin_id = %q\n  label = each.key\n%s\n}\n", bin, lines)
	}
	var ids string
	var titles []string
	for _, label := range []string{"a", "b"} {
		card := issue(s, map[string]any{"amount": 60, "label": label, "auto_freeze_at": 50})
		ids += fmt.Sprintf("    %q = %q\n", label, card.ID)
		titles = append(titles, fmt.Sprintf("Warning: Card %s (%q, ending in %s) may freeze again at once", card.ID, label, read(s, card.ID).Last4))
	}
	w.Write("main.tf", "import {\n  for_each = {\n"+ids+"  }\n  to = vcard_card.c[each.key]\n  id = each.value\n}\n"+pair("  amount = 60\n  auto_freeze_at = 50"))
	output := plainText(w.Must("plan", "-no-color"))
	for _, explanation := range []string{"Warning: Taken over without proof: auto_freeze_at", "Warning: amount is taken as the baseline; no money moves"} {
		if n := strings.Count(output, explanation); n != 1 {
			t.Errorf("%q is there %d times:\n%s", explanation, n, output)
		}
	}
	if n := strings.Count(output, "(and one more similar warning elsewhere)"); n != 2 {
		t.Errorf("%d explanations stand for both cards:\n%s", n, output)
	}
	w.Must("apply", "-auto-approve", "-no-color")
	for _, card := range listed(s) {
		s.Post("/_sandbox/authorizations", map[string]any{"card_id": card, "amount": 20, "merchant": map[string]string{"name": "Ads", "mcc": "7311"}}).Must()
	}
	w.Write("main.tf", pair("  amount = 60\n  auto_freeze_at = 50\n  frozen = false"))
	sayAll(t, "what concerns one card", plainText(w.Must("plan", "-no-color")), titles...)
}

func listed(s *acctest.Service) []string {
	var page struct{ Data []struct{ ID string } }
	s.Get("/cards").Into(&page)
	var ids []string
	for _, card := range page.Data {
		ids = append(ids, card.ID)
	}
	return ids
}

// plainText is what the CLI prints, without its frame and its line breaks.
func plainText(output string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)), " ")
}
