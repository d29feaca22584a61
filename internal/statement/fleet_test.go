package statement_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// fleetPlan returns the JSON of a plan that raises the amount of each card in the state. The argument is the number of
// cards.
func fleetPlan(cards int) string {
	moreAttributes := `,"bin_id":"bin_ads_visa_us","network":"visa","status":"active","spending_limit":50000,"allowed_categories":["advertising"],` +
		`"auto_freeze_at":null,"created_at":"2026-11-22T05:11:59.381Z","expires_at":"2029-11-30"`
	var changes, resources, planned strings.Builder
	var listed []string
	for i := range cards {
		listed = append(listed, fmt.Sprint("card_", i+1), "ads")
		card := strings.Replace(held, `"card_1"`, fmt.Sprintf(`"card_%d"`, i+1), 1)
		address := fmt.Sprintf(`module.campaigns[\"%d\"].vcard_card.campaign[\"search-%d\"]`, i%100, i)
		before := card + moreAttributes
		after := replaceMember(card, "amount", "150") + moreAttributes
		const moreOfChange = `,"index":"search","provider_name":"registry.terraform.io/vcard/vcard","module_address":"module.campaigns"`
		withAddress := func(text string) string { return strings.Replace(text, "ADDRESS", address, 1) + "," }
		changes.WriteString(withAddress(change("ADDRESS", `"update"`, before, after, `"balance":true,"money_record":true`, moreOfChange)))
		resources.WriteString(withAddress(stateCard("ADDRESS", before, `,"schema_version":0,"sensitive_values":{"metadata":{}}`)))
		planned.WriteString(withAddress(stateCard("ADDRESS", before, "")))
	}
	withoutLastComma := func(b *strings.Builder) string { return strings.TrimSuffix(b.String(), ",") }
	all := resources.String() + list("data.vcard_cards.all", "", listed...)
	text := planWith(withoutLastComma(&changes), priorState(all), `,"configuration":{"root_module":{}}`)
	plannedValues := `"planned_values":{"root_module":{"resources":[` + withoutLastComma(&planned) + `]}}`
	return strings.Replace(text, `"planned_values":{"root_module":{}}`, plannedValues, 1)
}

// The built program can read a plan of 10,000 cards.
func TestLargeFleet(t *testing.T) {
	t.Parallel()
	output, err := largeStatement(t).Output()
	if err != nil || !strings.Contains(string(output), `"net": -500000.00`) {
		t.Fatalf("%v: %.300s", err, output)
	}
}

// largeStatement returns the command that prints the statement of a plan of 10,000 cards.
func largeStatement(t testing.TB) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(fleetPlan(10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), sandboxtest.Vcard(t), "statement", "--format", "json", "--max-net", "500000", "--no-unmanaged", file)
}
