package statement_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

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
