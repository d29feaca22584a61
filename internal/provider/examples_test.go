//go:build unix

package provider_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

const examples = "../../examples"

// TestExamples applies every example with the real CLI, plans it again, which
// must find nothing to do, runs its tests, and destroys it.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, folder := range configurations(t) {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			top, below, _ := strings.Cut(folder, "/")
			e := newExample(t, readFiles(t, folder, "*.tf"), "./"+below)
			if err := os.CopyFS(e.w.Dir, os.DirFS(filepath.Join(examples, top))); err != nil {
				t.Fatal(err)
			}
			e.must("get")
			e.lives(t)
		})
	}
	for _, file := range snippets(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			config := readFiles(t, filepath.Dir(file), filepath.Base(file))
			e := newExample(t, config, ".")
			if !strings.Contains(config, "required_providers") {
				config = acctest.Required + config
			}
			e.w.Write("main.tf", vault.Replace(config))
			e.lives(t)
		})
	}
}

// vault puts what has a write-only attribute in the place of a Vault, whose provider is
// not here.
var vault = strings.NewReplacer("vault_kv_secret_v2", "vcard_webhook", `mount = "ads"`, `events = ["*"]`,
	`name  = "cards/`, `url = "https://example.com/`, "data_json_wo", "secret_wo")

// configurations are the folders that have a main.tf with a provider: modules are
// applied by those who use them, and what is mocked has a test of its own.
func configurations(t *testing.T) (folders []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(examples), ".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "main.tf" && strings.Contains(readFiles(t, filepath.Dir(path), "main.tf"), "\nprovider \"vcard\"") {
			folders = append(folders, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(folders) == 0 {
		t.Fatalf("no configurations in %s: %v", examples, err)
	}
	return folders
}

// snippets are the files that the documentation shows, each a configuration.
func snippets(t *testing.T) (files []string) {
	t.Helper()
	for _, kind := range []string{"actions", "data-sources", "ephemeral-resources", "functions", "resources"} {
		found, err := fs.Glob(os.DirFS(examples), kind+"/*/*.tf")
		if err != nil || len(found) == 0 {
			t.Fatalf("no examples of %s: %v", kind, err)
		}
		for _, file := range found {
			if !strings.HasPrefix(filepath.Base(file), "import") { // no such card; the import tests have the same blocks
				files = append(files, file)
			}
		}
	}
	return files
}

// readFiles returns the files of an example's folder, one after the other.
func readFiles(t *testing.T, folder, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(examples, folder, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, folder, err)
	}
	var all strings.Builder
	for _, file := range files {
		all.WriteString(sandboxtest.File(t, file))
	}
	return all.String()
}

// features are what older command lines lack, with the versions of Terraform and
// OpenTofu that have it.
var features = []struct {
	used            *regexp.Regexp
	terraform, tofu string
}{
	{regexp.MustCompile(`(?m)^action "|required_version = ">= 1.14"`), "1.14.0", ""},
	{regexp.MustCompile(`(?m)^ephemeral "|\bephemeral +=`), "1.11.0", "1.11.0"},
	{regexp.MustCompile(`provider::`), "1.8.0", "1.7.0"},
	{regexp.MustCompile(`(?m)^import \{`), "1.7.0", "1.12.0"}, // as of when what for_each runs over may be read from the service
	{regexp.MustCompile(`(?m)^check "`), "1.5.0", "1.6.0"},
	{regexp.MustCompile(`\boptional\(`), "1.3.0", "1.6.0"},
}

// example is a configuration in a workspace of its own.
type example struct {
	s      *acctest.Service
	w      *acctest.Workspace
	folder string // of the workspace
}

// newExample skips where the CLI lacks what the configuration uses.
func newExample(t *testing.T, config, folder string) example {
	t.Helper()
	for _, feature := range features {
		if feature.used.MatchString(config) {
			acctest.Needs(t, feature.terraform, feature.tofu)
		}
	}
	e := example{s: acctest.Start(t), w: acctest.NewWorkspace(t), folder: folder}
	if strings.Contains(config, "sandbox") || strings.Contains(config, "alias") { // a file of its folder, a process for each account
		e.w = e.w.Built()
	}
	e.w.Env = append(e.w.Env, "VCARD_BASE_URL="+e.s.URL, "VCARD_API_KEY="+e.s.Key,
		"TF_VAR_webhook_secret=example-of-a-secret", "TF_VAR_signing_secret=example-of-a-secret")
	if strings.Contains(config, `variable "card_id"`) {
		e.w.Env = append(e.w.Env, "TF_VAR_card_id="+e.s.Issue("200", `"label":"search"`))
	}
	return e
}

func (e example) has(pattern string) bool {
	found, _ := filepath.Glob(filepath.Join(e.w.Dir, e.folder, pattern))
	return len(found) > 0
}

func (e example) must(command string, args ...string) string {
	return e.w.Must(append([]string{"-chdir=" + e.folder, command, "-no-color"}, args...)...)
}

// lives is the life of an example, from its first apply to its end.
func (e example) lives(t *testing.T) {
	t.Helper()
	_, err := os.Stat(filepath.Join(e.w.Dir, "by-hand"))
	adopts := err == nil && e.folder != "./by-hand"
	if adopts {
		e.w.Must("-chdir=by-hand", "apply", "-auto-approve", "-no-color")
	}
	if e.has("*.tfquery.hcl") && e.has("../by-hand") {
		e.must("query", "-generate-config-out=cards.tf")
	}
	output := e.must("apply", "-auto-approve")
	if strings.Contains(output, "Check block assertion failed") {
		t.Errorf("the example's check fails:\n%s", output)
	}
	if adopts && !strings.Contains(output, "3 imported, 0 added") {
		t.Errorf("the cards that were there are not taken over:\n%s", output)
	}
	e.must("plan", "-detailed-exitcode")
	if e.has("tests") {
		t.Run("tests", func(t *testing.T) {
			acctest.Needs(t, "1.6.0", "1.6.0")
			output := e.must("test")
			// From 1.17 on, Terraform keeps one provider for all runs of a test file that configures it, as the guide says.
			if acctest.Has("1.17.0", "") {
				return
			}
			if strings.Contains(output, "Several new cards") || strings.Contains(output, "The plan takes") {
				t.Errorf("the runs are taken for one plan:\n%s", output)
			}
		})
	}
	e.must("destroy", "-auto-approve")
}

// TestTexts holds what people read and copy to a few rules: the registry lists pages by
// subcategory, and those without one come in a heap; a card comes before the one that it
// replaces goes; a copied example brings a version along, and shows how it is tested.
func TestTexts(t *testing.T) {
	t.Parallel()
	cards := regexp.MustCompile(`(?ms)^resource "vcard_card" "(\w+)" \{.*?^\}`)
	sources := regexp.MustCompile(`source\s*=\s*"vcard/vcard"(,?\s*version\s*=)?`)
	front := regexp.MustCompile(`(?s)^---\n.*page_title: "[^"].*subcategory: "[^"].*?\n---\n`)
	check := func(folder string) func(string, fs.DirEntry, error) error {
		return func(path string, _ fs.DirEntry, err error) error {
			if extension := filepath.Ext(path); extension != ".tf" && extension != ".md" {
				return err
			}
			text := read(t, folder, path)
			for _, card := range cards.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(card[0], "create_before_destroy = true") {
					t.Errorf("%s/%s: vcard_card.%s lacks create_before_destroy", folder, path, card[1])
				}
			}
			for _, source := range sources.FindAllStringSubmatch(text, -1) {
				if source[1] == "" {
					t.Errorf("%s/%s: required_providers lacks a version", folder, path)
				}
			}
			if folder == "docs" && path != "index.md" && !front.MatchString(text) { // which may have none
				t.Errorf("docs/%s has no title or no subcategory", path)
			}
			if isExample, _ := filepath.Match("*/main.tf", path); isExample && folder == "examples" {
				tests, _ := filepath.Glob(filepath.Join(examples, filepath.Dir(path), "*.tftest.hcl"))
				more, _ := filepath.Glob(filepath.Join(examples, filepath.Dir(path), "tests/*.tftest.hcl"))
				if len(tests)+len(more) == 0 {
					t.Errorf("%s has no .tftest.hcl", filepath.Dir(path))
				}
			}
			return err
		}
	}
	for _, folder := range []string{"examples", "docs"} {
		if err := fs.WalkDir(os.DirFS("../../"+folder), ".", check(folder)); err != nil {
			t.Fatal(err)
		}
	}
	_ = check("")("README.md", nil, nil)
}
