package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// What the CLI prints of the provider is exported alike. An older CLI prints less.
func TestExportIsWhatTheCLIPrints(t *testing.T) {
	t.Parallel()
	w := acctest.NewWorkspace(t).Built()
	w.Write("main.tf", acctest.Required)
	schemas := sandboxtest.Must(export(t.Context(), providerserver.NewProtocol6(provider.New("dev")())(), "vcard"))
	exported := sandboxtest.Must(json.Marshal(schemas))
	ours := schemasIn(t, exported)
	for kind, printed := range schemasIn(t, []byte(w.Must("providers", "schema", "-json"))) {
		if diff := cmp.Diff(printed, ours[kind]); diff != "" {
			t.Errorf("%s (-printed +exported):\n%s", kind, diff)
		}
	}
}

// schemasIn returns the schemas of the only provider of a document.
func schemasIn(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var providers struct {
		Schemas map[string]map[string]any `json:"provider_schemas"`
	}
	if err := json.Unmarshal(document, &providers); err != nil {
		t.Fatalf("%v in %.300s", err, document)
	}
	for _, schemas := range providers.Schemas {
		return schemas
	}
	t.Fatalf("no provider in %.300s", document)
	return nil
}
