package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

const examples = "../../examples"

// TestExamples applies every example with the real CLI, plans it again, which
// must find nothing to do, runs its tests, and destroys it.
func TestExamples(t *testing.T) {
	t.Parallel()
	var all []string
	for _, pattern := range []string{"*/main.tf", "actions/*/*.tf", "data-sources/*/*.tf", "ephemeral-resources/*/*.tf", "functions/*/*.tf", "resources/*/*.tf"} {
		files, err := filepath.Glob(filepath.Join(examples, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no examples %s: %v", pattern, err)
		}
		all = append(all, files...)
	}
	for _, file := range all {
		name, _ := filepath.Rel(examples, file)
		if strings.HasPrefix(filepath.Base(file), "import") {
			continue // no such card; the import tests have the same blocks
		}
		if filepath.Dir(name) == "mocks" {
			continue // a module to be tested, which TestExampleOfMocks does
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			applyExample(t, file)
		})
	}
}

// applyExample takes a main.tf with all that is beside it, and other files alone.
func applyExample(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config := string(content)
	switch {
	case strings.Contains(config, "action \""):
		acctest.Needs(t, "1.14.0", "")
	case strings.Contains(config, "data_json_wo"):
		t.Skip("needs a Vault, whose provider is not here; the search for secrets applies the same blocks")
	case strings.Contains(config, "ephemeral \""):
		acctest.Needs(t, "1.11.0", "1.11.0")
	case strings.Contains(config, "provider::"):
		acctest.Needs(t, "1.8.0", "1.7.0")
	}
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t)
	w.Env = append(w.Env, "VCARD_BASE_URL="+s.URL, "VCARD_API_KEY="+s.Key, "TF_VAR_webhook_secret=example-of-a-secret")
	if filepath.Base(file) == "main.tf" {
		copyExample(t, w, filepath.Dir(file))
	}
	if !strings.Contains(config, "required_providers") {
		config = "terraform {\n  required_providers {\n    vcard = { source = \"vcard/vcard\" }\n  }\n}\n" + config
	}
	w.Write("main.tf", config)
	if strings.Contains(config, `variable "card_id"`) {
		var card struct {
			ID string `json:"id"`
		}
		s.Post("/cards", map[string]any{"bin_id": "bin_ads_visa_us", "amount": 200, "label": "search"}).Into(&card)
		w.Env = append(w.Env, "TF_VAR_card_id="+card.ID)
	}
	if output := w.Must("apply", "-auto-approve", "-no-color"); strings.Contains(output, "Check block assertion failed") {
		t.Errorf("the example's check fails:\n%s", output)
	}
	if code, output := w.Run("plan", "-detailed-exitcode", "-no-color"); code != 0 {
		t.Errorf("the second plan ended with %d:\n%s", code, output)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "tests")); err == nil {
		t.Run("tests", func(t *testing.T) {
			acctest.Needs(t, "1.6.0", "1.6.0")
			w.Must("test", "-no-color")
		})
	}
	w.Must("destroy", "-auto-approve", "-no-color")
}

// copyExample copies a folder with its modules and tests.
func copyExample(t *testing.T, w *acctest.Workspace, folder string) {
	t.Helper()
	if err := os.CopyFS(w.Dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	w.Must("get", "-no-color")
}
