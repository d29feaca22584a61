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

// fleetPlan is a plan that changes this many cards of a state with as many.
func fleetPlan(cards int) string {
	more := `,"bin_id":"bin_ads_visa_us","network":"visa","status":"active","spending_limit":50000,"allowed_categories":["advertising"],` +
		`"auto_freeze_at":null,"created_at":"2026-11-22T05:11:59.381Z","expires_at":"2029-11-30"`
	var changes, resources, planned strings.Builder
	var listed []string
	for i := range cards {
		listed = append(listed, fmt.Sprint("card_", i+1), "ads")
		own := strings.Replace(held, `"card_1"`, fmt.Sprintf(`"card_%d"`, i+1), 1)
		address := fmt.Sprintf(`module.campaigns[\"%d\"].vcard_card.campaign[\"search-%d\"]`, i%100, i)
		changes.WriteString(strings.Replace(change("ADDRESS", `"update"`, own+more, replaceMember(own, "amount", "150")+more, `"balance":true,"money_record":true`, `,"index":"search","provider_name":"registry.terraform.io/vcard/vcard","module_address":"module.campaigns"`), "ADDRESS", address, 1) + ",")
		resources.WriteString(strings.Replace(stateCard("ADDRESS", own+more, `,"schema_version":0,"sensitive_values":{"metadata":{}}`), "ADDRESS", address, 1) + ",")
		planned.WriteString(strings.Replace(stateCard("ADDRESS", own+more, ""), "ADDRESS", address, 1) + ",")
	}
	whole := func(b *strings.Builder) string { return strings.TrimSuffix(b.String(), ",") }
	all := resources.String() + list("data.vcard_cards.all", "", listed...)
	text := planWith(whole(&changes), priorState(all), `,"configuration":{"root_module":{}}`)
	return strings.Replace(text, `"planned_values":{"root_module":{}}`, `"planned_values":{"root_module":{"resources":[`+whole(&planned)+`]}}`, 1)
}

// A plan of 10,000 cards is summed up by the built program.
func TestLargeFleet(t *testing.T) {
	t.Parallel()
	output, err := largeStatement(t).Output()
	if err != nil || !strings.Contains(string(output), `"net": -500000.00`) {
		t.Fatalf("%v: %.300s", err, output)
	}
}

// largeStatement is the command that prints the statement of a plan of 10,000 cards.
func largeStatement(t testing.TB) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(fleetPlan(10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), sandboxtest.Vcard(t), "statement", "--format", "json", "--max-net", "500000", "--no-unmanaged", file)
}
