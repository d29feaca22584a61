package card_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// What many cards have in common is told in so few lines that a person reads them.
func TestLinesThatThirtyCardsPrint(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.Unlimited()
	w := acctest.NewWorkspace(t).Built() // by the real clock, which cards wait for company by
	provider := acctest.Required + strings.Replace(s.Provider(), "}\n", " rate_limits = { creates_per_minute = 1000 }\n}\n", 1)
	fleet := func(more string) string {
		return provider + named("ads", "count = 30\n amount = 60\n label = \"ads-${count.index}\"\n lifecycle {\n  create_before_destroy = true\n }\n "+more)
	}
	from := func(output string, words ...string) (lines int) {
		_, output, _ = strings.Cut(output, "releases.\n") // of development overrides
		found := regexp.MustCompile(`(?s)\n(Warning|Error): .*?(\n(Apply complete|Terraform used|OpenTofu used|Plan: |vcard_card\.)|\z)`).FindAllString(output, -1)
		for _, told := range found {
			lines += strings.Count(strings.TrimRight(told, "\n"), "\n")
		}
		for _, word := range words {
			if !strings.Contains(acctest.Unwrapped(output), word) {
				t.Errorf("%q is missing", word)
			}
		}
		return lines
	}
	check := func(what string, lines, most int, output string) {
		if lines == 0 || lines > most {
			t.Errorf("%s: %d lines, want at most %d:\n%s", what, lines, most, output)
		}
	}
	w.Write("main.tf", fleet(""))
	w.Must("apply", "-no-color", "-auto-approve")

	w.Write("main.tf", fleet(`metadata = { team = "us" }`))
	planned := w.Must("plan", "-no-color", "-out=plan")
	applied := w.Must("apply", "-no-color", "plan")
	check("a replacement", from(planned, "A card is replaced", "ignore_changes = [metadata] to its lifecycle block")+from(applied, "may issue once more"), 40, planned+applied)

	protected := strings.Replace(fleet(`metadata = { team = "us" }`), "label =", "deletion_protection = true\n label =", 1)
	w.Write("main.tf", protected)
	w.Must("apply", "-no-color", "-auto-approve")
	w.Write("cards/main.tf", acctest.Required+named("ads", "count = 30\n amount = 60\n label = \"ads-${count.index}\"\n deletion_protection = true"))
	w.Write("main.tf", provider+"module \"cards\" {\n source = \"./cards\"\n}\n")
	w.Must("get", "-no-color")
	for _, parallelism := range []string{"1", "10"} {
		_, output := w.Run("plan", "-no-color", "-parallelism="+parallelism)
		check("a move into a module, parallelism "+parallelism, from(output, "Renamed or moved? Write `moved`"), 80, output)
	}

	other := s.As(s.Post("/_sandbox/accounts", map[string]any{"state": "ready"}).Must().Text("api_key"))
	w.Write("main.tf", strings.Replace(protected, fmt.Sprintf("%q", s.Key), fmt.Sprintf("%q", other.Key), 1))
	_, output := w.Run("plan", "-no-color")
	check("another account's key", from(output, "The service does not know card"), 40, output)
}
