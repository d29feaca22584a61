package card_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const bin = "bin_ads_visa_us"

// shown is what the API says of one card.
type shown struct {
	ID, Status, Label, Last4 string
	Balance                  usd.Amount
}

// issue issues a card as another user of the account would.
func issue(s *acctest.Service, body map[string]any) (issued shown) {
	body["bin_id"] = bin
	s.Post("/cards", body).Into(&issued)
	return issued
}

func read(s *acctest.Service, id string) (now shown) {
	s.Get("/cards/" + id).Into(&now)
	return now
}

// object is what a configuration says.
type object = acctest.Object

// What is kept beside the state after each operation: nothing of a plan outlives its apply.
func TestPrivateState(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	var card acctest.Card
	keeps := func(what, want string) {
		t.Helper()
		var kept map[string][]byte
		if err := json.Unmarshal(card.Private, &kept); err != nil || string(kept["card"]) != want {
			t.Errorf("%s: %s is kept, %v; want %s", what, kept["card"], err, want)
		}
	}
	apply := func(config object) {
		t.Helper()
		change, diags := p.Plan(card, config)
		diags.Must(t)
		card, diags = p.Apply(change)
		diags.Must(t)
	}
	refresh := func() {
		t.Helper()
		var diags acctest.Diagnostics
		card, diags = p.Refresh(card)
		diags.Must(t)
	}
	const march = `{"default_limit":true,"month":24314}`
	apply(object{"bin_id": bin, "amount": 60})
	keeps("issued", `{"default_limit":true}`)
	refresh()
	keeps("refreshed", march)
	apply(object{"bin_id": bin, "amount": 70, "frozen": true})
	keeps("changed", march)
	refresh()
	keeps("refreshed again", march)
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// The stories of cards, each in a script.
func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// What a run finds of the money that others have moved, with both settings of
// idempotency_keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"honoured", "unknown"} {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			acctest.Scripts(t, "testdata/keys", "TF_VAR_keys="+keys)
		})
	}
}

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
