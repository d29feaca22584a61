package provider_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// TestSurface pins what the provider has, and that docs/ has every description and
// every example, without the tool that generates it.
func TestSurface(t *testing.T) {
	t.Parallel()
	server := sandboxtest.Must(acctest.Factories(t)["vcard"]())
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(schemas.Diagnostics) > 0 {
		t.Fatal(err, schemas.Diagnostics)
	}
	if !schemas.ServerCapabilities.GenerateResourceConfig {
		t.Error("the provider is not asked to generate configuration, and core does it")
	}
	actions := map[string]*tfprotov6.Schema{}
	for name, action := range schemas.ActionSchemas {
		actions[name] = action.Schema
	}
	for _, kind := range []struct {
		folder, example string
		schemas         map[string]*tfprotov6.Schema
		want            string
	}{
		{"resources", "resource.tf", schemas.ResourceSchemas, "card webhook"},
		{"data-sources", "data-source.tf", schemas.DataSourceSchemas, "bins card cards deposit_addresses transactions wallet_balance"},
		{"ephemeral-resources", "ephemeral-resource.tf", schemas.EphemeralResourceSchemas, "3ds_challenges card_details"},
		{"list-resources", "list-resource.tfquery.hcl", schemas.ListResourceSchemas, "card"},
		{"actions", "action.tf", actions, "card_freeze card_fund card_unfreeze card_withdraw"},
	} {
		names := strings.Join(slices.Sorted(maps.Keys(kind.schemas)), " ")
		if got := strings.ReplaceAll(names, "vcard_", ""); got != kind.want {
			t.Errorf("%s: there are %s, want %s", kind.folder, got, kind.want)
		}
		for name, schema := range kind.schemas {
			page := read(t, "docs", kind.folder, strings.TrimPrefix(name, "vcard_")+".md")
			holds(t, name, page, schema.Block.Description)
			holdsAttributes(t, name, page, schema.Block.Attributes)
			holds(t, name, page, strings.TrimSpace(read(t, "examples", kind.folder, name, kind.example)))
			if len(schema.Block.BlockTypes) > 0 {
				t.Errorf("%s has blocks, whose descriptions nobody looks at", name)
			}
		}
	}
	holdsAttributes(t, "provider", read(t, "docs", "index.md"), schemas.Provider.Block.Attributes)

	identities, err := server.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil || len(identities.Diagnostics) > 0 {
		t.Fatal(err, identities.Diagnostics)
	}
	for name := range schemas.ResourceSchemas {
		identity := identities.IdentitySchemas[name].IdentityAttributes
		if len(identity) != 1 || identity[0].Name != "id" || identity[0].Description == "" {
			t.Errorf("%s has no identity by a described id", name)
		}
	}
	function := schemas.Functions["issuance_cost"]
	if len(schemas.Functions) != 1 || function == nil {
		t.Fatalf("the functions are %v", schemas.Functions)
	}
	page := read(t, "docs", "functions", "issuance_cost.md")
	holds(t, "the summary of issuance_cost", page, function.Summary)
	holds(t, "issuance_cost", page, function.Description)
	for _, parameter := range function.Parameters {
		holds(t, "issuance_cost."+parameter.Name, page, parameter.Description)
	}
}

func holdsAttributes(t *testing.T, where, page string, attributes []*tfprotov6.SchemaAttribute) {
	t.Helper()
	for _, attribute := range attributes {
		holds(t, where+"."+attribute.Name, page, attribute.Description)
		if attribute.NestedType != nil {
			holdsAttributes(t, where+"."+attribute.Name, page, attribute.NestedType.Attributes)
		}
	}
}

// holds checks that there is a text, and that a page has it.
func holds(t *testing.T, where, page, text string) {
	t.Helper()
	if text == "" || !strings.Contains(page, text) {
		t.Errorf("docs/ is stale for %s: run make generate. It lacks: %q", where, text)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	return sandboxtest.File(t, append([]string{"../.."}, path...)...) // make generate makes what is missing
}

// guideTitles are the messages in the tables of the guide: the provider's, or Terraform's.
func guideTitles(t *testing.T) (ours, terraforms map[string]bool) {
	t.Helper()
	ours, terraforms = map[string]bool{}, map[string]bool{}
	titles, isTable := ours, false
	for line := range strings.SplitSeq(read(t, "templates", "guides", "troubleshooting.md.tmpl"), "\n") {
		first, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		switch {
		case line == "## In Terraform's own words":
			titles = terraforms
		case strings.HasPrefix(line, "## "):
			titles = ours
		case first == "message":
			isTable = true
		case !strings.HasPrefix(line, "|"):
			isTable = false
		case isTable && isRow:
			for title := range strings.SplitSeq(first, "<br>") {
				titles[title] = true
			}
		}
	}
	return ours, terraforms
}

// The guide to messages has every title that the code gives to a diagnostic, and no
// title that the code does not know.
func TestGuideHasEveryTitle(t *testing.T) {
	t.Parallel()
	quoted, terraforms := guideTitles(t)
	tried := read(t, "internal", "provider", "testdata", "script", "words_of_terraform.txtar")
	for title := range terraforms {
		for word := range strings.SplitSeq(title, ": ") {
			if strings.HasPrefix(title, "Incorrect attribute value type: ") && !strings.Contains(tried, word) {
				t.Errorf("no script has Terraform say %q", word)
			}
		}
	}
	source := acctest.NewSource()
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"sandbox", "statement", "tools"}, entry.Name()): // which have no diagnostics
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return source.Parse(filepath.Join("..", path))
	})
	if err != nil || len(source.Titles) == 0 {
		t.Fatalf("%d titles: %v", len(source.Titles), err)
	}
	for title, where := range source.Titles {
		if !quoted[title] {
			t.Errorf("%s: the guide lacks %q", where, title)
		}
	}
	for title := range quoted {
		for part := range strings.SplitSeq(title, "…") {
			if !strings.Contains(source.Literals.String(), strings.ToLower(strings.Trim(part, ": "))) {
				t.Errorf("no diagnostic is titled %q: the code lacks %q", title, part)
			}
		}
	}
}
