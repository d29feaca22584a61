package card_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

const required = "terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\n"

func TestGeneratedConfigurationAppliesWithoutChange(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.5.0", "1.6.0")
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	w.Env = append(w.Env, "VCARD_BASE_URL="+s.URL, "VCARD_API_KEY="+s.Key)
	// Terraform 1.16 wants the provider named while it generates configuration, and
	// every CLI refuses it once there is some.
	const named = "  provider = vcard\n"
	config := required
	for i, body := range []map[string]any{
		{"amount": 80},
		{"amount": 50, "label": "by hand", "spending_limit": 700, "auto_freeze_at": 7, "metadata": map[string]string{"a": "b"}, "allowed_categories": []string{"travel"}},
	} {
		config += fmt.Sprintf("import {\n  to = vcard_card.c%d\n  id = %q\n"+named+"}\n", i, issue(s, body).ID)
	}
	wallet := s.Wallet()
	w.Write("main.tf", config)
	if output := w.Must("plan", "-no-color", "-generate-config-out=generated.tf"); !strings.Contains(output, "2 to import, 0 to add, 0 to change, 0 to destroy") {
		t.Errorf("the import plans more than the import:\n%s", output)
	}
	generated := w.Read("generated.tf")
	if acctest.Has("1.14.0", "") && strings.Contains(generated, "false") { // as of when the provider is asked
		t.Errorf("frozen = false undoes what somebody freezes in an emergency:\n%s", generated)
	}
	w.Write("main.tf", strings.ReplaceAll(config, named, ""))
	w.Must("apply", "-no-color", "-auto-approve")
	w.Must("plan", "-no-color", "-detailed-exitcode")
	if now := s.Wallet(); now != wallet {
		t.Errorf("the wallet went from %s to %s USD", wallet, now)
	}
}
