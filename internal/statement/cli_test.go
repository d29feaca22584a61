package statement_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// folder is a workspace whose plans are stated.
type folder struct {
	*acctest.Workspace
	s *acctest.Service
	t *testing.T
}

func newFolder(t *testing.T, s *acctest.Service) *folder {
	t.Helper()
	f := &folder{acctest.NewWorkspace(t), s, t}
	f.Write("provider.tf", acctest.Required+s.Provider())
	return f
}

// plan saves a plan and returns its JSON.
func (f *folder) plan(flags ...string) string {
	f.t.Helper()
	f.Must(append([]string{"plan", "-no-color", "-input=false", "-out=plan"}, flags...)...)
	return f.show()
}

// show is the JSON of the saved plan. Before it stands what the CLI has to say of
// the provider under test.
func (f *folder) show() string {
	f.t.Helper()
	_, text, _ := strings.Cut(f.Must("show", "-json", "plan"), "{")
	return "{" + text
}

// apply applies the saved plan and returns what the wallet gained.
func (f *folder) apply() usd.Amount {
	f.t.Helper()
	before := f.s.Wallet()
	f.Must("apply", "-no-color", "-input=false", "plan")
	return f.s.Wallet() - before
}

func (f *folder) state(name string) string {
	f.t.Helper()
	found := regexp.MustCompile(`(?m)^\s*id\s+= "(card_.*)"`).FindStringSubmatch(f.Must("state", "show", "-no-color", name))
	return found[1]
}

// refused is a fault: the service refuses a termination.
var refused = map[string]any{
	"method": "DELETE", "path": "/cards/*", "times": 1, "when": "before",
	"then": map[string]any{"status": 400, "body": map[string]string{"error": "invalid_request", "message": "Not now."}},
}

// What the rules are for, as a person would meet it: with a fleet that a screen has room for,
// and the same in another workspace, where the provider block bounds what a plan takes.
func TestGuards(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0") // import blocks with for_each
	s := acctest.Start(t)
	f := newFolder(t, s)
	const list = "data \"vcard_cards\" \"all\" {\n}\n"
	fleet := func(amount, to string) string {
		return list + fmt.Sprintf("resource \"vcard_card\" \"fleet\" {\n  count  = 30\n  bin_id = %q\n  label  = \"ads-${count.index}\"\n  amount = %s\n  top_up = {\n    below = 50\n    to    = %s\n  }\n}\n",
			sandboxtest.BIN, amount, to)
	}
	check := func(text, flags string, code int, words ...string) {
		t.Helper()
		got, _, stderr := state(t, text, strings.Fields(flags)...)
		if got != code {
			t.Errorf("%s ended with %d: %s", flags, got, stderr)
		}
		sandboxtest.Says(t, flags, stderr, words...)
	}
	f.Write("main.tf", fleet("60", "100"))
	planned := f.Must("plan", "-no-color", "-input=false", "-out=plan")
	issues := f.show()
	_, stated, _ := state(t, issues)
	if lines := strings.Count(stated, "\n"); strings.Contains(planned, "Warning") || lines > 40 {
		t.Errorf("the statement has %d lines, and the plan says:\n%s", lines, planned)
	}
	check(issues, "-no-unmanaged -max-card 60 -max-net 1830 -no-unknown -only issue", 0)
	f.apply()

	s.Authorize(f.state("vcard_card.fleet[2]"), "40", "7311").OK(201)
	check(f.plan(), "-only top_up -no-unmanaged -max-card 100", 0)

	another := newFolder(t, s)
	another.Write("main.tf", fleet("60", "100"))
	duplicated := another.plan()
	check(duplicated, "-no-unmanaged", 3, ": vcard_card.fleet[", "]: the live card card_", `has its label, "ads-`, "and is not in this state", "and for 10 reasons more")
	another.Write("provider.tf", acctest.Required+strings.Replace(s.Provider(), "{", "{\n  max_taken_per_plan = 500", 1))
	ended, output := another.Run("plan", "-no-color", "-input=false")
	_, told, _ := strings.Cut(output, "\nPlan: ")
	if lines := strings.Count(told, "\n"); ended == 0 || lines > 60 || strings.Count(told, "Warning: Live cards that this plan may issue once more") != 1 ||
		strings.Count(told, "Error: ") != 1 || !strings.Contains(told, "Error: The plan takes at least 1830.00 USD, and max_taken_per_plan is 500.00 USD") {
		t.Errorf("the plan ended with %d and %d lines:\n%s", ended, lines, told)
	}
	another.Write("provider.tf", acctest.Required+s.Provider())
	_, _, stderr := state(t, duplicated, "-no-unmanaged")
	_, imports, _ := strings.Cut(stderr, "nothing is issued for them then:\n")
	another.Write("main.tf", strings.TrimPrefix(fleet("60", "100"), list))
	check(another.plan(), "-no-unmanaged", 3, list)
	another.Write("main.tf", fleet("60", "100"))
	another.Write("imports.tf", imports)
	check(another.plan(), "-no-unmanaged -max-net 80 -only import,top_up", 0)
}

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// However many cards a state has, and however they are planned, the rule names each live
// card that is in no state, and none that is in this one.
func TestUnmanagedAtScale(t *testing.T) {
	t.Parallel()
	const cards = 300
	s := acctest.Start(t)
	s.Unlimited()
	deposit := s.Post("/_sandbox/deposits", map[string]any{"currency": "usdt", "amount": 20_000}).OK(201).Text("id")
	s.Post("/_sandbox/deposits/"+deposit+"/confirm", nil).Must()
	f := newFolder(t, s)
	f.Write("main.tf", fmt.Sprintf("data \"vcard_cards\" \"all\" {\n}\n"+
		"resource \"vcard_card\" \"fleet\" {\n  count  = %d\n  bin_id = %q\n  label  = count.index < %d ? \"ads-${count.index}\" : null\n  amount = 60\n}\n", cards+1, sandboxtest.BIN, cards))
	f.Write("terraform.tfstate", stateOf(s, cards))
	strangers := []string{s.Issue("60", `"label":"tf-20260301-abcdefghij234567klmn"`), s.Issue("60", `"label":"ads-7"`)}
	s.Issue("60", `"label":"another's"`)
	for _, flags := range []string{"-parallelism=1", "-parallelism=10", "-refresh=false", "-target=vcard_card.fleet -target=data.vcard_cards.all"} {
		namesOnly(t, flags, f.plan(strings.Fields(flags)...), strangers)
	}

	// Ten times as many, without a CLI that has to plan them.
	const many = 10 * cards
	var changes, states, listed []string
	for i := range many {
		values := fmt.Sprintf(`"id":"card_%d","label":"ads-%d","amount":60,"balance":60`, i, i)
		changes = append(changes, change(fmt.Sprintf("vcard_card.fleet[%d]", i), `"no-op"`, values, values, "", ""))
		states = append(states, stateCard(fmt.Sprintf("vcard_card.fleet[%d]", i), values, ""))
		listed = append(listed, fmt.Sprintf("card_%d", i), fmt.Sprintf("ads-%d", i))
	}
	listed = append(listed, "card_left", "tf-20260301-abcdefghij234567klmn", "card_twin", "ads-7", "card_another", "another's")
	all := priorState(strings.Join(append(states, list("data.vcard_cards.all", "", listed...)), ","))
	namesOnly(t, "many", planWith(strings.Join(changes, ","), all, `,"configuration":{"root_module":{}}`), []string{"card_left", "card_twin"})
}

// namesOnly checks for which cards the rule writes import blocks.
func namesOnly(t *testing.T, what, plan string, want []string) {
	t.Helper()
	_, _, stderr := state(t, plan, "-no-unmanaged")
	_, blocks, _ := strings.Cut(stderr, "nothing is issued for them then:\n")
	var named []string
	for _, part := range strings.Split(blocks, `id = "`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		named = append(named, id)
	}
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("%s: named are %q, want %q: %.2000s", what, named, want, stderr)
	}
}

// stateOf issues cards, and is a state that has them.
func stateOf(s *acctest.Service, cards int) string {
	instances := make([]any, cards)
	for i := range instances {
		label := fmt.Sprintf("ads-%d", i)
		instances[i] = map[string]any{"index_key": i, "schema_version": 0, "attributes": map[string]any{
			"id": s.Issue("60", fmt.Sprintf(`"label":%q`, label)), "bin_id": sandboxtest.BIN, "label": label, "amount": 60, "balance": 60,
			"status": "active", "spending_limit": 50000, "frozen": false, "deletion_protection": false, "topped_up": 0, "issuance_fee": 1, "created_at": "2026-03-01T00:00:00Z",
		}}
	}
	registry := "registry.terraform.io"
	if acctest.OpenTofu() {
		registry = "registry.opentofu.org"
	}
	text, _ := json.Marshal(map[string]any{"version": 4, "serial": 1, "lineage": "made-for-this-test", "resources": []any{map[string]any{
		"mode": "managed", "type": "vcard_card", "name": "fleet", "provider": fmt.Sprintf(`provider["%s/vcard/vcard"]`, registry), "instances": instances,
	}}})
	return string(text)
}
