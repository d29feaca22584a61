package provider_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// TestDocumentationIsFresh compares docs/ with the descriptions of the schema
// and with the examples, without the tool that generates it.
func TestDocumentationIsFresh(t *testing.T) {
	t.Parallel()
	server, err := acctest.Factories()["vcard"]()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	actions := map[string]*tfprotov6.Schema{}
	for name, action := range schemas.ActionSchemas {
		actions[name] = action.Schema
	}
	for folder, kind := range map[string]struct {
		example string
		schemas map[string]*tfprotov6.Schema
	}{
		"resources":           {"resource.tf", schemas.ResourceSchemas},
		"data-sources":        {"data-source.tf", schemas.DataSourceSchemas},
		"ephemeral-resources": {"ephemeral-resource.tf", schemas.EphemeralResourceSchemas},
		"list-resources":      {"list-resource.tfquery.hcl", schemas.ListResourceSchemas},
		"actions":             {"action.tf", actions},
	} {
		for name, schema := range kind.schemas {
			page := read(t, "docs", folder, strings.TrimPrefix(name, "vcard_")+".md")
			holds(t, name, page, schema.Block.Description)
			holdsAttributes(t, name, page, schema.Block.Attributes)
			holds(t, name, page, strings.TrimSpace(read(t, "examples", folder, name, kind.example)))
		}
	}
	holdsAttributes(t, "provider", read(t, "docs", "index.md"), schemas.Provider.Block.Attributes)
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

func holds(t *testing.T, where, page, text string) {
	t.Helper()
	if !strings.Contains(page, text) {
		t.Errorf("docs/ is stale for %s: run make generate. It lacks: %s", where, text)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{"../.."}, path...)...))
	if err != nil {
		t.Fatalf("%v: run make generate", err)
	}
	return string(content)
}

// The registry lists pages by subcategory; those without one come in a heap.
func TestPagesHaveASubcategory(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(os.DirFS("../../docs"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == "index.md" { // which may have none
			return err
		}
		front, _, _ := strings.Cut(strings.TrimPrefix(read(t, "docs", path), "---\n"), "\n---\n")
		for _, field := range []string{"page_title: \"", "subcategory: \""} {
			if _, value, _ := strings.Cut(front, field); value == "" || value[0] == '"' {
				t.Errorf("docs/%s has no %s", path, strings.TrimSuffix(field, ": \""))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
