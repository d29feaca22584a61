package provider_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// TestSurface pins what the provider has, and that all of it is described.
func TestSurface(t *testing.T) {
	t.Parallel()
	server, err := acctest.Factories()["vcard"]()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(schemas.Diagnostics) > 0 {
		t.Fatal(err, schemas.Diagnostics)
	}
	if !schemas.ServerCapabilities.GenerateResourceConfig {
		t.Error("the provider is not asked to generate configuration, and core does it")
	}
	identities, err := server.GetResourceIdentitySchemas(context.Background(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil || len(identities.Diagnostics) > 0 {
		t.Fatal(err, identities.Diagnostics)
	}
	actions := map[string]*tfprotov6.Schema{}
	for name, action := range schemas.ActionSchemas {
		actions[name] = action.Schema
	}
	for _, kind := range []struct {
		name    string
		schemas map[string]*tfprotov6.Schema
		want    []string
	}{
		{"resource", schemas.ResourceSchemas, []string{"vcard_card", "vcard_webhook"}},
		{"data source", schemas.DataSourceSchemas, []string{"vcard_bins", "vcard_card", "vcard_cards", "vcard_deposit_addresses", "vcard_transactions", "vcard_wallet_balance"}},
		{"ephemeral resource", schemas.EphemeralResourceSchemas, []string{"vcard_3ds_challenges", "vcard_card_details"}},
		{"list resource", schemas.ListResourceSchemas, []string{"vcard_card"}},
		{"action", actions, []string{"vcard_card_freeze", "vcard_card_fund", "vcard_card_unfreeze", "vcard_card_withdraw"}},
		{"provider", map[string]*tfprotov6.Schema{"vcard": schemas.Provider}, []string{"vcard"}},
	} {
		var names []string
		for name, schema := range kind.schemas {
			names = append(names, name)
			describedBlock(t, kind.name+" "+name, schema.Block)
		}
		if slices.Sort(names); !slices.Equal(names, kind.want) {
			t.Errorf("%s: there are %v, want %v", kind.name, names, kind.want)
		}
	}
	for name := range schemas.ResourceSchemas {
		identity := identities.IdentitySchemas[name]
		if identity == nil || len(identity.IdentityAttributes) != 1 || identity.IdentityAttributes[0].Name != "id" || identity.IdentityAttributes[0].Description == "" {
			t.Errorf("%s has no identity by a described id", name)
		}
	}
	function := schemas.Functions["issuance_cost"]
	if len(schemas.Functions) != 1 || function == nil || function.Summary == "" || function.Description == "" {
		t.Fatalf("the functions are %v", schemas.Functions)
	}
	for _, parameter := range function.Parameters {
		if parameter.Description == "" {
			t.Errorf("issuance_cost: parameter %s has no description", parameter.Name)
		}
	}
}

func describedBlock(t *testing.T, where string, block *tfprotov6.SchemaBlock) {
	t.Helper()
	if block.Description == "" {
		t.Errorf("%s has no description", where)
	}
	described(t, where, block.Attributes)
	for _, nested := range block.BlockTypes {
		describedBlock(t, where+"."+nested.TypeName, nested.Block)
	}
}

func described(t *testing.T, where string, attributes []*tfprotov6.SchemaAttribute) {
	t.Helper()
	for _, attribute := range attributes {
		name := where + "." + attribute.Name
		if attribute.Description == "" {
			t.Errorf("%s has no description", name)
		}
		if attribute.NestedType != nil {
			described(t, name, attribute.NestedType.Attributes)
		}
	}
}
