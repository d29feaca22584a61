package card_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// One process may plan and apply several times: terraform test on 1.17 keeps one
// for all runs of a file. Whatever it plans counts, also after its first write.
func TestMaxTakenPerPlanInOneProcess(t *testing.T) {
	t.Parallel()
	const exceeded = "Plan exceeds max_taken_per_plan: "
	p := acctest.Start(t).Protocol(object{"max_taken_per_plan": 7000})
	plan := func(amount any) (acctest.Change, acctest.Diagnostics) {
		return p.Plan(acctest.Card{}, object{"bin_id": bin, "amount": amount})
	}

	if _, diags := plan(8000); !strings.Contains(diags.Errors(), exceeded) {
		t.Errorf("8,000 over 7,000 is planned: %q", diags.Errors())
	}
	fits, diags := plan(3000)
	diags.Must(t)
	_, diags = p.Apply(fits)
	diags.Must(t)

	if _, diags := plan(acctest.Unknown); diags.Errors() != "" {
		t.Errorf("an amount that is known only during apply is refused: %s", diags.Errors())
	}
	for _, amount := range []int{8000, 5000} { // alone, and with what was planned before the first write
		if _, diags := plan(amount); !strings.Contains(diags.Errors(), exceeded) {
			t.Errorf("%d after the first write is planned: %q", amount, diags.Errors())
		}
	}
	_, diags = plan(1000)
	diags.Must(t)
}

// At apply, nothing tells a replacement from a new card, so both count in full in the plan
// as well: else apply would refuse what the plan has shown.
func TestMaxTakenPerPlanOfReplacement(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	change, diags := p.Plan(acctest.Card{}, object{"bin_id": bin, "label": "old", "amount": 100})
	diags.Must(t)
	card, diags := p.Apply(change)
	diags.Must(t)
	for bound, fits := range map[any]bool{100.99: false, 101: true} {
		p := s.Protocol(object{"max_taken_per_plan": bound})
		_, diags := p.Plan(card, object{"bin_id": bin, "label": "new", "amount": 100})
		if got := diags.Errors() == ""; got != fits {
			t.Errorf("max_taken_per_plan = %v: planned %t, want %t: %s", bound, got, fits, diags.Errors())
		}
	}
}

// The page of vcard_card lists the categories that the sandbox knows.
func TestDocumentedCategories(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "resources", "card.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := acctest.Start(t)
	s.Quirks(nil)
	refused := s.Post("/cards", object{"bin_id": bin, "amount": 50, "allowed_categories": []any{"nonsense"}})
	_, list, found := strings.Cut(refused.Text("message"), "the categories are ")
	if !found {
		t.Fatalf("the sandbox lists no categories: %s", refused.Text("message"))
	}
	names := strings.Split(list, ", ")
	documented := "`" + strings.Join(names[:len(names)-1], "`, `") + "` and `" + names[len(names)-1] + "`."
	if !strings.Contains(string(page), documented) {
		t.Errorf("the page does not list %s", documented)
	}
}
